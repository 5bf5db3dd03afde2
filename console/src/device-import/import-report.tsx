/** The report of a check or of an import: the numbers, and each wrong row. */
import { Alert, Anchor, Badge, Button, Code, Group, ScrollArea, Stack, Table, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { inUtf8, isJsonLines } from '../api/device-import.ts'
import type { ImportReport, RefusedRow } from '../api/device-import.ts'
import { refusedRowsOf } from '../api/refused-rows.ts'
import { sentenceFor } from '../api/sentence.ts'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { Panel } from '../shell/panel.tsx'
import { saveAs } from '../shell/save-as.ts'
import { counted } from './counted.ts'

interface ImportReportPanelProps {
  readonly report: ImportReport
  readonly file: File
  readonly onWrite: () => void
}

/** The panel. `onWrite` is offered while nothing is written and at least one row is right. */
export function ImportReportPanel({ report, file, onWrite }: ImportReportPanelProps): ReactElement {
  const { dryRun, stopped, unknownColumns } = report
  const created = Number(report.createdCount)
  const updated = Number(report.updatedCount)
  const refused = Number(report.refusedCount)
  return (
    <Panel
      flush
      title={dryRun ? `What is in ${file.name}` : writtenText(created, updated)}
      lead={
        <Group gap="xs" mt={4} component="span" role="status">
          {dryRun ? (
            <Badge variant="light" tt="none" size="lg">
              {counted(created, 'new device', 'new devices')}
            </Badge>
          ) : null}
          <Known report={report} />
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
        {unknownColumns.length === 0 ? null : (
          <Alert color="orange" variant="light" icon={<Icon name="alert" />} mx={EDGE} mb="md">
            {unknownColumns.length === 1 ? 'This column is' : 'These columns are'} not known, and{' '}
            {dryRun ? 'will not be' : 'was not'} imported: {unknownColumns.join(', ')}. Name a column tag:… or
            variable:… to keep it with each device.
          </Alert>
        )}
        <Group px={EDGE} pb="md" gap="md">
          {dryRun ? (
            <Button disabled={created + updated === 0} onClick={onWrite}>
              {toWriteText(created, updated)}
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
        {report.errors.length === 0 ? null : (
          <>
            <Group px={EDGE} pb="md">
              <DownloadRefused file={file} rows={report.errors} />
            </Group>
            <RefusedRows rows={report.errors} />
          </>
        )}
      </Stack>
    </Panel>
  )
}

/** The numbers of devices that exist. */
function Known({ report }: { readonly report: ImportReport }): ReactElement {
  const { dryRun } = report
  const updated = Number(report.updatedCount)
  const unchanged = Number(report.unchangedCount)
  return (
    <>
      {dryRun && updated > 0 ? (
        <Badge variant="light" tt="none" size="lg">
          {counted(updated, 'changed device', 'changed devices')}
        </Badge>
      ) : null}
      {unchanged > 0 ? (
        <Badge variant="light" color="gray" tt="none" size="lg">
          {counted(unchanged, 'device is', 'devices are')} as in the table
        </Badge>
      ) : null}
    </>
  )
}

/** The padding at the left and right, the same as that of the panel's head. */
const EDGE = { base: 'md', sm: 'lg' }

function writtenText(created: number, updated: number): string {
  const text = `${counted(created, 'device was', 'devices were')} created`
  return updated === 0 ? text : `${text}, and ${counted(updated, 'device was', 'devices were')} changed`
}

function toWriteText(created: number, updated: number): string {
  if (created + updated === 0) return 'Nothing to write'
  if (updated === 0) return `Create ${counted(created, 'device', 'devices')}`
  const change = counted(updated, 'device', 'devices')
  return created === 0 ? `Change ${change}` : `Create ${created.toLocaleString('en')} and change ${change}`
}

function nextStep({ dryRun, createdCount, updatedCount, refusedCount, errors }: ImportReport): string {
  const refused = Number(refusedCount)
  if (refused === 0) return dryRun ? 'Nothing is written yet.' : 'They are ready for events and commands.'
  const listed = refused > errors.length ? ` The first ${errors.length.toLocaleString('en')} are listed.` : ''
  if (!dryRun) return `The rows below were left out.${listed}`
  if (createdCount === '0' && updatedCount === '0') return `Fix the rows below and choose the file again.${listed}`
  return `Fix the rows below and choose the file again, or continue without them.${listed}`
}

/** The fault of a row, in words for the person who has the table. */
function sentenceForRow({ reason, message, sameAsLine }: RefusedRow): string {
  switch (reason) {
    case 'dev_eui_repeated':
      return `Line ${sameAsLine} of this table has the same DevEUI.`
    case 'device_exists_elsewhere':
      return 'A device of another organization has this DevEUI. It can only be imported once it is deleted there.'
    case 'device_exists':
      // The message names the device and its place.
      return sentenceFor('', message)
    default:
      return sentenceFor(reason, message)
  }
}

interface DownloadRefusedProps {
  readonly file: File
  readonly rows: readonly RefusedRow[]
}

function DownloadRefused({ file, rows }: DownloadRefusedProps): ReactElement {
  const download = useMutation({
    mutationFn: async () => {
      const table = await refusedRowsOf(await inUtf8(file), !isJsonLines(file), rows, sentenceForRow)
      const dot = file.name.lastIndexOf('.')
      const name = dot < 1 ? `${file.name}-wrong.csv` : `${file.name.slice(0, dot)}-wrong${file.name.slice(dot)}`
      saveAs(name, new Blob([table], { type: 'text/csv' }))
    },
  })
  return (
    <>
      <Button variant="default" leftSection={<Icon name="download" />} onClick={() => download.mutate()}>
        Download {rows.length === 1 ? 'this row' : `these ${rows.length.toLocaleString('en')} rows`}
      </Button>
      <Text size="sm" c="dimmed">
        A table of the wrong rows only, with a column that says what is wrong. Fix it and import it.
      </Text>
      <Failure error={download.error} />
    </>
  )
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
          {rows.map((row) => (
            <Table.Tr key={row.line}>
              <Table.Td className="numbers">{row.line}</Table.Td>
              <Table.Td visibleFrom="sm">{row.devEUI === '' ? '–' : <Code>{row.devEUI}</Code>}</Table.Td>
              <Table.Td>
                {row.devEUI === '' ? null : (
                  <Code hiddenFrom="sm" display="block" w="fit-content" mb={4}>
                    {row.devEUI}
                  </Code>
                )}
                {sentenceForRow(row)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  )
}
