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
    >
      <Stack gap={0}>
        {stopped === '' ? null : (
          <Alert color="orange" variant="light" icon={<Icon name="alert" />} mx={EDGE} my="sm">
            It stopped before the end of the table: {sentenceFor('', stopped)}
          </Alert>
        )}
        <Group px={EDGE} pb="md" gap="md">
          {dryRun ? (
            <Button disabled={created === 0} onClick={onWrite}>
              {created === 0 ? 'Nothing to create' : `Create ${counted(created, 'device', 'devices')}`}
            </Button>
          ) : (
            <Anchor component={Link} href="/devices">
              To the devices
            </Anchor>
          )}
          <Text size="sm" c="dimmed">
            {nextStep(report)}
          </Text>
        </Group>
        {report.errors.length === 0 ? null : <RefusedRows rows={report.errors} />}
      </Stack>
    </Panel>
  )
}

/** Padding at the left and right, as the panel's head has it. */
const EDGE = { base: 'md', sm: 'lg' }

function nextStep({ dryRun, createdCount, refusedCount, errors }: ImportReport): string {
  const refused = Number(refusedCount)
  if (refused === 0) return dryRun ? 'Nothing is written yet.' : 'They are ready for events and commands.'
  const listed = refused > errors.length ? ` The first ${errors.length.toLocaleString('en')} are listed.` : ''
  if (!dryRun) return `The rows below were left out.${listed}`
  if (createdCount === '0') return `Mend the rows below and choose the file again.${listed}`
  return `The rows below will be left out. Mend them and choose the file again, or go on without them.${listed}`
}

function RefusedRows({ rows }: { readonly rows: readonly RefusedRow[] }): ReactElement {
  return (
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
            <Table.Th visibleFrom="sm">DevEUI</Table.Th>
            <Table.Th>What is wrong</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ line, devEUI, message, reason }) => (
            <Table.Tr key={line}>
              <Table.Td className="numbers">{line}</Table.Td>
              <Table.Td visibleFrom="sm">{devEUI === '' ? '–' : <Code>{devEUI}</Code>}</Table.Td>
              <Table.Td>
                {devEUI === '' ? null : (
                  <Code hiddenFrom="sm" display="block" w="fit-content" mb={4}>
                    {devEUI}
                  </Code>
                )}
                {sentenceFor(reason, message)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  )
}
