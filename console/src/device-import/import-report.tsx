/** What a table would do, or has done: how much, and each row that is wrong. */
import { Alert, Anchor, Badge, Button, Code, Group, ScrollArea, Stack, Table, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import type { ImportReport, RefusedRow } from '../api/device-import.ts'
import { sentenceFor } from '../api/sentence.ts'
import { Icon } from '../shell/icons.tsx'
import { Panel } from '../shell/panel.tsx'
import { counted } from './counted.ts'

interface ImportReportPanelProps {
  readonly report: ImportReport
  readonly fileName: string
  readonly onWrite: () => void
}

/** The panel; `onWrite` is offered while nothing is written and something can be. */
export function ImportReportPanel({ report, fileName, onWrite }: ImportReportPanelProps): ReactElement {
  const { dryRun, stopped } = report
  const created = Number(report.createdCount)
  const refused = Number(report.refusedCount)
  return (
    <Panel
      flush
      title={dryRun ? `What is in ${fileName}` : `${counted(created, 'device was', 'devices were')} created`}
      lead={
        <Group gap="xs" mt={4} component="span" role="status">
          {dryRun ? (
            <Badge variant="light" tt="none" size="lg">
              {counted(created, 'new device', 'new devices')}
            </Badge>
          ) : null}
          <Badge variant="light" color={refused === 0 ? 'gray' : 'orange'} tt="none" size="lg">
            {refused === 0 ? 'no row is wrong' : counted(refused, 'row is wrong', 'rows are wrong')}
          </Badge>
        </Group>
      }
      aside={
        dryRun ? (
          <Button disabled={created === 0} onClick={onWrite}>
            {created === 0 ? 'Nothing to create' : `Create ${counted(created, 'device', 'devices')}`}
          </Button>
        ) : (
          <Anchor component={Link} href="/devices">
            To the devices
          </Anchor>
        )
      }
    >
      <Stack gap={0}>
        {stopped === '' ? null : (
          <Alert color="orange" variant="light" icon={<Icon name="alert" />} mx="lg" my="sm">
            It stopped before the end of the table: {sentenceFor('', stopped)}
          </Alert>
        )}
        {report.errors.length === 0 ? (
          <Text px="lg" pb="lg" size="sm" c="dimmed">
            {dryRun ? 'Nothing is written yet.' : 'They are ready for events and commands.'}
          </Text>
        ) : (
          <RefusedRows rows={report.errors} refused={refused} isTrial={dryRun} />
        )}
      </Stack>
    </Panel>
  )
}

interface RefusedRowsProps {
  readonly rows: readonly RefusedRow[]
  readonly refused: number
  readonly isTrial: boolean
}

function RefusedRows({ rows, refused, isTrial }: RefusedRowsProps): ReactElement {
  return (
    <>
      <Text px="lg" pb="sm" size="sm" c="dimmed">
        {isTrial
          ? 'These rows will be left out. Mend them and choose the file again, or go on without them.'
          : 'These rows were left out.'}
        {refused > rows.length ? ` The first ${rows.length.toLocaleString('en')} are listed.` : ''}
      </Text>
      <ScrollArea.Autosize
        mah={420}
        type="auto"
        viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'Rows that are wrong' }}
      >
        <Table
          verticalSpacing="xs"
          horizontalSpacing="lg"
          stickyHeader
          styles={{ thead: { background: 'var(--fieldgate-surface)' } }}
        >
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Line</Table.Th>
              <Table.Th>DevEUI</Table.Th>
              <Table.Th>What is wrong</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(({ line, devEUI, message, reason }) => (
              <Table.Tr key={line}>
                <Table.Td className="numbers">{line}</Table.Td>
                <Table.Td>{devEUI === '' ? '–' : <Code>{devEUI}</Code>}</Table.Td>
                <Table.Td>{sentenceFor(reason, message)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea.Autosize>
    </>
  )
}
