/**
 * Imports many devices: the table is checked first, and written when the person has seen its
 * faults.
 */
import { Anchor, Button, FileButton, Group, Progress, Select, Stack, Switch, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { DragEvent, ReactElement } from 'react'
import { Link } from 'wouter'
import { importDevices } from '../api/device-import.ts'
import type { ImportReport } from '../api/device-import.ts'
import { DEVICES_PATH, useApplications } from '../api/directory.ts'
import { Blank } from '../shell/blank.tsx'
import { CodeBlock } from '../shell/code-block.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { Panel } from '../shell/panel.tsx'
import classes from './import-page.module.css'
import { ImportReportPanel } from './import-report.tsx'

const EXAMPLE = `devEUI,name,description,tag:floor,variable:offset
00005eef10a00001,meter-1,Boiler room,0,0.5
00005eef10a00002,meter-2,Attic,3,0`

/** The service takes no larger file. */
const MAXIMUM_BYTES = 64 * 1024 * 1024

/** The page. */
export function ImportPage(): ReactElement {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  const [chosen, setChosen] = useState<string | null>(null)
  const [isUpdate, setUpdate] = useState(false)
  const applicationId = chosen ?? applications.data?.result[0]?.id
  const { file, look, write, part, begin, cancel } = useImport(applicationId ?? '', isUpdate)
  const isBusy = look.isPending || write.isPending
  const report = write.data ?? look.data
  if (applications.data?.result.length === 0) return <NoApplication />
  return (
    <Page
      title="Import devices"
      lead="Import a table of devices. Nothing is written before you have seen the faults of the table."
    >
      <Panel title="Table">
        <Stack>
          <Failure error={applications.error} onRetry={() => void applications.refetch()} />
          <Select
            label="Application"
            description="Used for rows without an applicationID."
            w={{ base: '100%', xs: 320 }}
            data={applications.data?.result.map(({ id, name }) => ({ value: id, label: name })) ?? []}
            value={applicationId ?? null}
            onChange={(id) => {
              setChosen(id)
              cancel()
            }}
            disabled={isBusy}
            allowDeselect={false}
            searchable
          />
          <UpdateSwitch
            isOn={isUpdate}
            isDisabled={isBusy}
            onChange={(isOn) => {
              setUpdate(isOn)
              cancel()
            }}
          />
          <FileField onFile={begin} isDisabled={isBusy || applicationId === undefined} />
          {isBusy ? (
            <Transfer
              fileName={file?.name ?? ''}
              part={part}
              isWriting={write.isPending}
              isUpdate={isUpdate}
              onCancel={cancel}
            />
          ) : null}
          <Failure error={look.error ?? write.error} />
        </Stack>
      </Panel>
      {report === undefined || file === undefined || isBusy ? null : (
        <ImportReportPanel report={report} file={file} onWrite={() => write.mutate(file)} />
      )}
      <Panel
        title="How the table looks"
        lead="CSV whose first line names the columns, separated by commas, semicolons or tabs, or JSON lines (.ndjson). Only devEUI is needed."
      >
        <CodeBlock title="devices.csv" text={EXAMPLE} />
        <Text size="sm" c="dimmed" mt="sm">
          Other columns: applicationID, profile (the name of a device profile), deviceProfileName, isDisabled, and any
          number of tag:… and variable:… columns. A DevEUI may be written with “-”, “:”, “.” or blanks. At most 500,000
          rows and 64 MiB.
        </Text>
      </Panel>
    </Page>
  )
}

interface UpdateSwitchProps {
  readonly isOn: boolean
  readonly isDisabled: boolean
  readonly onChange: (isOn: boolean) => void
}

function UpdateSwitch({ isOn, isDisabled, onChange }: UpdateSwitchProps): ReactElement {
  return (
    <Switch
      label="Change devices that exist"
      description="A row changes what its columns name. Empty cells, and tags without a column, stay as they are."
      checked={isOn}
      onChange={(event) => onChange(event.currentTarget.checked)}
      disabled={isDisabled}
    />
  )
}

function useImport(applicationId: string, isUpdate: boolean) {
  const queryClient = useQueryClient()
  const [file, setFile] = useState<File>()
  const [part, setPart] = useState(0)
  const running = useRef<AbortController>(undefined)
  const run = (table: File, isTrial: boolean, looked?: ImportReport) => {
    if (table.size > MAXIMUM_BYTES) throw new Error('The file has more than 64 MiB. Split it into several.')
    running.current = new AbortController()
    setPart(0)
    const { signal } = running.current
    return importDevices({ applicationId, isUpdate, file: table, isTrial, looked, signal, onProgress: setPart })
  }
  const look = useMutation({ mutationFn: async (table: File) => run(table, true) })
  const write = useMutation({
    mutationFn: async (table: File) => run(table, false, look.data),
    onSettled: () => queryClient.invalidateQueries({ queryKey: [DEVICES_PATH] }),
  })
  const cancel = (): void => {
    running.current?.abort()
    setFile(undefined)
    look.reset()
    write.reset()
  }
  const begin = (table: File): void => {
    cancel()
    setFile(table)
    look.mutate(table)
  }
  useEffect(() => () => running.current?.abort(), [])
  return { file, look, write, part, begin, cancel }
}

interface FileFieldProps {
  readonly onFile: (file: File) => void
  readonly isDisabled: boolean
}

function FileField({ onFile, isDisabled }: FileFieldProps): ReactElement {
  const [isOver, setOver] = useState(false)
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    setOver(false)
    const dropped = event.dataTransfer.files[0]
    if (dropped !== undefined && !isDisabled) onFile(dropped)
  }
  return (
    <div
      className={classes['drop']}
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Text c="dimmed" visibleFrom="sm">
        Drop a file here, or
      </Text>
      <FileButton
        onChange={(table) => {
          if (table !== null) onFile(table)
        }}
        accept=".csv,.tsv,.txt,.ndjson,.jsonl,text/csv"
      >
        {(props) => (
          <Button {...props} leftSection={<Icon name="upload" />} disabled={isDisabled}>
            Choose a file
          </Button>
        )}
      </FileButton>
    </div>
  )
}

interface TransferProps {
  readonly fileName: string
  readonly part: number
  readonly isWriting: boolean
  readonly isUpdate: boolean
  readonly onCancel: () => void
}

function Transfer({ fileName, part, isWriting, isUpdate, onCancel }: TransferProps): ReactElement {
  const percent = Math.round(part * 100)
  const doing = isWriting ? (isUpdate ? 'Writing the devices of' : 'Creating the devices of') : 'Checking'
  // While a table is checked, the network takes all of it long before the service has read it.
  const atTheEnd = isWriting ? 'the last rows' : 'all of it is sent, its rows are being read'
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Text size="sm" role="status">
          {doing} {fileName}: {percent < 100 ? `${percent} %` : atTheEnd}
        </Text>
        <Button variant="subtle" size="compact-sm" onClick={onCancel}>
          Cancel
        </Button>
      </Group>
      <Progress value={percent} animated aria-label={`${doing} ${fileName}`} />
      {isWriting ? (
        <Text size="sm" c="dimmed">
          If you cancel, the devices written so far stay. Importing the table again adds the rest.
        </Text>
      ) : null}
    </Stack>
  )
}

function NoApplication(): ReactElement {
  const { isOrganizationAdmin } = useOrganization()
  return (
    <Page title="Import devices">
      <Panel>
        <Blank
          icon="grid"
          title="No application yet"
          text={`Devices belong to applications. ${isOrganizationAdmin ? 'Create the first one, then come back.' : 'An admin of the organization creates the first one.'}`}
          action={
            isOrganizationAdmin ? (
              <Anchor component={Link} href="/applications">
                To the applications
              </Anchor>
            ) : undefined
          }
        />
      </Panel>
    </Page>
  )
}
