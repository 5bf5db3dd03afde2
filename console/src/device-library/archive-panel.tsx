/** Imports a collection in a zip archive: the operator sees first what it would change. */
import { Alert, Button, FileButton, Group, List, Loader, Stack, Switch, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { ReactElement } from 'react'
import { DEVICE_LIBRARY_PATH, importArchive, LIBRARY_PROFILES_PATH } from '../api/device-library.ts'
import type { LibraryReport } from '../api/device-library.ts'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { Panel } from '../shell/panel.tsx'

/** The service takes no larger archive. */
const MAXIMUM_BYTES = 64 * 1024 * 1024
/** Profiles and files that are named; the command line names all. */
const SHOWN = 50

/** The panel. */
export function ArchivePanel(): ReactElement {
  const [wishes, setWishes] = useState({ isUpdate: true, isForced: false })
  const { file, look, write, part, begin } = useArchive(wishes)
  const isBusy = look.isPending || write.isPending
  const report = write.data ?? look.data
  const wish = (name: keyof typeof wishes, isOn: boolean): void => {
    setWishes((before) => ({ ...before, [name]: isOn }))
    look.reset()
    write.reset()
  }
  return (
    <Panel
      title="Import a collection"
      lead="A zip archive of device profiles: a device repository, ChirpStack’s device profiles, or Actility’s catalogue. At most 64 MiB."
    >
      <Stack>
        <Switch
          label="Change profiles that the library has"
          description="Without it, only new profiles are added."
          checked={wishes.isUpdate}
          onChange={(event) => wish('isUpdate', event.currentTarget.checked)}
          disabled={isBusy}
        />
        <Switch
          label="Also profiles whose own examples do not hold"
          description="Examples in public collections are often wrong themselves."
          checked={wishes.isForced}
          onChange={(event) => wish('isForced', event.currentTarget.checked)}
          disabled={isBusy}
        />
        <Group>
          <FileButton
            onChange={(chosen) => (chosen === null ? undefined : begin(chosen))}
            accept=".zip,application/zip"
          >
            {(props) => (
              <Button {...props} variant="default" leftSection={<Icon name="upload" />} disabled={isBusy}>
                Choose a file
              </Button>
            )}
          </FileButton>
          {isBusy ? (
            <Group gap="xs">
              <Loader size="xs" aria-hidden />
              <Text size="sm" role="status">
                {part < 1 ? `${Math.round(part * 100)} % is sent` : 'The examples are run'}
              </Text>
            </Group>
          ) : null}
        </Group>
        <Failure error={look.error ?? write.error} />
        {report === undefined || isBusy ? null : <Report report={report} fileName={file?.name ?? ''} />}
        {look.data === undefined || write.data !== undefined || file === undefined || isBusy ? null : (
          <Group justify="flex-end">
            <Button onClick={() => write.mutate(file)} disabled={look.data.createdCount + look.data.changedCount === 0}>
              Import
            </Button>
          </Group>
        )}
      </Stack>
    </Panel>
  )
}

function useArchive(wishes: { readonly isUpdate: boolean; readonly isForced: boolean }) {
  const queryClient = useQueryClient()
  const [file, setFile] = useState<File>()
  const [part, setPart] = useState(0)
  const running = useRef<AbortController>(undefined)
  const run = async (archive: File, isTrial: boolean): Promise<LibraryReport> => {
    if (archive.size > MAXIMUM_BYTES) {
      throw new Error('The archive has more than 64 MiB. Import it by fieldgate codecs import.')
    }
    running.current = new AbortController()
    setPart(0)
    const { signal } = running.current
    return importArchive({ ...wishes, file: archive, isTrial, signal, onProgress: setPart })
  }
  const look = useMutation({ mutationFn: (archive: File) => run(archive, true) })
  const write = useMutation({
    mutationFn: (archive: File) => run(archive, false),
    onSettled: async () => {
      const keys = [[DEVICE_LIBRARY_PATH], [LIBRARY_PROFILES_PATH]]
      await Promise.all(keys.map((queryKey) => queryClient.invalidateQueries({ queryKey })))
    },
  })
  const begin = (archive: File): void => {
    setFile(archive)
    write.reset()
    look.mutate(archive)
  }
  useEffect(() => () => running.current?.abort(), [])
  return { file, look, write, part, begin }
}

interface ReportProps {
  readonly report: LibraryReport
  readonly fileName: string
}

function Report({ report, fileName }: ReportProps): ReactElement {
  const { dryRun, layout, profiles, problems } = report
  const told = profiles.filter(({ outcome }) => outcome !== 'created')
  return (
    <Alert
      color={report.refusedCount > 0 ? 'orange' : 'blue'}
      title={dryRun ? `${fileName} would be imported so` : `${fileName} was imported`}
    >
      <Stack gap="xs">
        <Text size="sm" role="status">
          {layout}: {countsOf(report).join(', ')}.
        </Text>
        {told.length === 0 ? null : (
          <List size="sm">
            {told.slice(0, SHOWN).map((profile) => (
              <List.Item key={JSON.stringify(profile)}>
                {profile.vendor} {profile.model} {profile.firmwareVersion}: {profile.outcome}
                {detailOf(profile)}
              </List.Item>
            ))}
          </List>
        )}
        {told.length > SHOWN ? <Text size="sm">And {told.length - SHOWN} more.</Text> : null}
        {problems.length === 0 ? null : (
          <Text size="sm">
            {problems.length} files could not be used, for example {problems[0]?.path}, which {problems[0]?.reason}.
          </Text>
        )}
      </Stack>
    </Alert>
  )
}

function countsOf(report: LibraryReport): readonly string[] {
  const counts = [
    [report.createdCount, 'new'],
    [report.changedCount, 'changed'],
    [report.unchangedCount, 'unchanged'],
    [report.keptCount, 'left as they are'],
    [report.refusedCount, 'refused'],
  ] as const
  const told = counts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`)
  return told.length === 0 ? ['nothing'] : told
}

function detailOf({ members = [], message }: LibraryReport['profiles'][number]): string {
  if (message !== undefined)
    return `, because ${message.length > 300 ? `${message.slice(0, 300).toWellFormed()}…` : message}`
  return members.length === 0 ? '' : ` (${members.join(', ')})`
}
