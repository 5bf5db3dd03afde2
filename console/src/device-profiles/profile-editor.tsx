/** A device profile in fields, beside its test vectors and versions. */
import { Badge, Button, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { DEVICE_PROFILE, DEVICE_PROFILES_PATH, saveDeviceProfile, testDeviceProfile } from '../api/device-profiles.ts'
import type { DeviceProfileDetail, ProfileSource } from '../api/device-profiles.ts'
import { ApiFailure } from '../api/request.ts'
import { CodecFields, faultOf } from '../codecs/codec-fields.tsx'
import type { Fault } from '../codecs/test-bench.tsx'
import { Failure } from '../shell/failure.tsx'
import { Panel } from '../shell/panel.tsx'
import { useUnsavedChanges } from '../shell/unsaved-changes.tsx'
import { ForceButton } from './force-button.tsx'
import { draftOf, fieldsOf } from './profile-draft.ts'
import type { DraftResult, ProfileDraft } from './profile-draft.ts'
import { ProfileFields } from './profile-fields.tsx'
import { UpdateAlert } from './update-alert.tsx'
import { VectorsPanel } from './vectors-panel.tsx'
import { VersionsPanel } from './versions-panel.tsx'

interface ProfileEditorProps {
  readonly saved: DeviceProfileDetail['deviceProfile']
}

/** The editor. */
export function ProfileEditor({ saved }: ProfileEditorProps): ReactElement {
  const [first] = useState(() => draftOf(saved))
  const [draft, setDraft] = useState(first)
  const [fault, setFault] = useState<Fault>()
  const [shown, setShown] = useState<Fault['script']>('decoder')
  const { saving, testing } = useProfileRequests(saved.id)
  const read = fieldsOf(draft)
  const isChanged = draft !== first && JSON.stringify(draft) !== JSON.stringify(first)
  useUnsavedChanges(isChanged)
  const change = (part: Partial<ProfileDraft>): void => {
    setDraft((before) => ({ ...before, ...part }))
    setFault(undefined)
    // An earlier refusal says nothing about the draft as it is now.
    saving.reset()
    testing.reset()
  }
  const save = (force: boolean): void => {
    if (!read.ok) return
    const { fields } = read
    const onError = (error: unknown): void => {
      const found = faultOf(error)
      setFault(found)
      if (found !== undefined) setShown(found.script)
      if (error instanceof ApiFailure && error.reason === 'codec_test_failed') testing.mutate(fields)
    }
    saving.mutate({ fields, force }, { onError })
  }
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <Panel title="Profile" aside={isChanged ? <NotSaved /> : undefined}>
        <Stack>
          {saved.source === null ? null : <Source source={saved.source} />}
          {saved.hasLibraryUpdate ? <UpdateAlert profileId={saved.id} isChanged={isChanged} /> : null}
          <ProfileFields draft={draft} onChange={change} portFault={faultIn(read, 'ports')} />
          <CodecFields codec={draft} fault={fault} shown={shown} onShow={setShown} onChange={change} />
          <Failure error={saving.error} />
          <ForceButton label="Save all the same" error={saving.error} onForce={() => save(true)} />
          <Group justify="flex-end">
            <Button variant="default" disabled={!isChanged || saving.isPending} onClick={() => change(first)}>
              Undo all
            </Button>
            <Button
              loading={saving.isPending}
              disabled={!isChanged || !read.ok || draft.name.trim() === ''}
              onClick={() => save(false)}
            >
              Save
            </Button>
          </Group>
        </Stack>
      </Panel>
      <Stack>
        <VectorsPanel
          text={draft.vectors}
          fault={faultIn(read, 'vectors')}
          onChange={(vectors) => change({ vectors })}
          onRun={() => (read.ok ? testing.mutate(read.fields) : undefined)}
          isRunning={testing.isPending}
          error={testing.error}
          outcomes={testing.data}
        />
        <VersionsPanel profileId={saved.id} newest={saved.codecVersion} isChanged={isChanged} />
      </Stack>
    </SimpleGrid>
  )
}

function faultIn(read: DraftResult, part: 'vectors' | 'ports'): string | undefined {
  return read.ok || read.of !== part ? undefined : read.message
}

/** The collection that the profile comes from. */
function Source({ source: { name, licence, url, version } }: { readonly source: ProfileSource }): ReactElement {
  const parts = [name, version, licence].filter((part) => part !== '')
  return (
    <Text size="sm" c="dimmed" className="breakable">
      From {parts.join(' · ')}
      {url === '' ? '' : ` (${url})`}
    </Text>
  )
}

function NotSaved(): ReactElement {
  return (
    <Badge variant="light" color="orange" tt="none" size="lg" flex="none">
      not saved
    </Badge>
  )
}

type Fields = Parameters<typeof saveDeviceProfile>[1]

/** The requests of the editor: to save a draft, and to run its test vectors. */
function useProfileRequests(id: string) {
  const queryClient = useQueryClient()
  const saving = useMutation({
    mutationFn: ({ fields, force }: { readonly fields: Fields; readonly force: boolean }) =>
      saveDeviceProfile(id, fields, force),
    onSuccess: async () => {
      notifications.show({ message: 'Saved. It decodes from the next event on.' })
      const keys = [[DEVICE_PROFILE, id], [DEVICE_PROFILES_PATH]]
      await Promise.all(keys.map((queryKey) => queryClient.invalidateQueries({ queryKey })))
    },
  })
  const testing = useMutation({ mutationFn: (fields: Fields) => testDeviceProfile(id, fields) })
  return { saving, testing }
}
