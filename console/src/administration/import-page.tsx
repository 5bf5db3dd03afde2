/** Many devices at once: looked at first, and written only when what is wrong is known. */
import { Alert, Button, Code, FileButton, Group, ScrollArea, Select, Stack, Table, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactElement, useState } from 'react'
import { importDevices, type ImportReport } from '../api/device-import.ts'
import { useApplications } from '../api/directory.ts'
import { CodeBlock } from '../shell/code-block.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { Panel } from '../shell/panel.tsx'

const EXAMPLE = `devEUI,name,description,tag:floor
0101010101010101,Meter 1,First floor,1
0101010101010102,Meter 2,Second floor,2`

/** The page. */
export function ImportPage(): ReactElement {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  const queryClient = useQueryClient()
  const [chosen, setChosen] = useState<string | null>(null)
  const [file, setFile] = useState<File | null>(null)
  const applicationId = chosen ?? applications.data?.result[0]?.id ?? null
  const look = useMutation({ mutationFn: (table: File) => importDevices(applicationId ?? '', table, true) })
  const write = useMutation({
    mutationFn: (table: File) => importDevices(applicationId ?? '', table, false),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['devices'] }),
  })
  const choose = (table: File | null): void => {
    setFile(table)
    write.reset()
    if (table !== null) look.mutate(table)
  }
  const report = write.data ?? look.data
  return (
    <Page
      title="Import devices"
      lead="From a table (CSV) or JSON lines. Nothing is written before you have seen what is wrong."
    >
      <Panel title="Table" lead="The first line names the columns; only devEUI is needed.">
        <Stack>
          <CodeBlock title="For example" text={EXAMPLE} />
          <Group align="flex-end">
            <Select
              label="Application"
              description="For rows that name none."
              data={applications.data?.result.map(({ id, name }) => ({ value: id, label: name })) ?? []}
              value={applicationId}
              onChange={setChosen}
              allowDeselect={false}
              searchable
            />
            <FileButton onChange={choose} accept=".csv,.ndjson,.jsonl,text/csv">
              {(props) => (
                <Button {...props} loading={look.isPending} disabled={applicationId === null}>
                  Choose a file
                </Button>
              )}
            </FileButton>
          </Group>
          <Failure error={look.error ?? write.error ?? applications.error} />
        </Stack>
      </Panel>
      {report === undefined || file === null ? null : (
        <Report report={report} fileName={file.name} isWriting={write.isPending} onWrite={() => write.mutate(file)} />
      )}
    </Page>
  )
}

interface ReportProps {
  readonly report: ImportReport
  readonly fileName: string
  readonly isWriting: boolean
  readonly onWrite: () => void
}

function Report({ report, fileName, isWriting, onWrite }: ReportProps): ReactElement {
  const { dryRun, createdCount, refusedCount, stopped, errors } = report
  const created = Number(createdCount)
  const refused = `${counted(Number(refusedCount), 'row')} refused`
  return (
    <Panel
      flush
      title={dryRun ? `What ${fileName} would do` : 'Done'}
      lead={
        dryRun
          ? `${counted(created, 'device')} can be created, ${refused}.`
          : `${counted(created, 'device')} created, ${refused}.`
      }
      aside={
        dryRun ? (
          <Button loading={isWriting} disabled={created === 0} onClick={onWrite}>
            Create {counted(created, 'device')}
          </Button>
        ) : undefined
      }
    >
      {stopped === '' ? null : (
        <Alert color="orange" icon={<Icon name="alert" />} m="lg">
          It stopped early: {stopped}
        </Alert>
      )}
      {errors.length === 0 ? (
        <Text p="lg" c="dimmed">
          No row is wrong.
        </Text>
      ) : (
        <ScrollArea.Autosize mah={420} type="auto">
          <Table verticalSpacing="xs" horizontalSpacing="lg">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Line</Table.Th>
                <Table.Th>DevEUI</Table.Th>
                <Table.Th>What is wrong</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {errors.map(({ line, devEUI, message }) => (
                <Table.Tr key={line}>
                  <Table.Td className="numbers">{line}</Table.Td>
                  <Table.Td>
                    <Code>{devEUI === '' ? '–' : devEUI}</Code>
                  </Table.Td>
                  <Table.Td>{message}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </ScrollArea.Autosize>
      )}
    </Panel>
  )
}

function counted(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`
}
