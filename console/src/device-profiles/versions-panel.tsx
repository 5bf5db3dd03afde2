import { Button, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ReactElement } from 'react'
import { DEVICE_PROFILE, restoreVersion, useProfileVersions } from '../api/device-profiles.ts'
import type { ProfileVersion } from '../api/device-profiles.ts'
import { useActorNames } from '../audit-log/actor-names.ts'
import { Failure } from '../shell/failure.tsx'
import { Panel } from '../shell/panel.tsx'
import { When } from '../shell/when.tsx'
import { ForceButton } from './force-button.tsx'
import { CODEC_NAMES } from './profile-draft.ts'

interface VersionsPanelProps {
  readonly profileId: string
  /** The newest version, which cannot be restored. */
  readonly newest: number
  /** Restoring would lose what is typed. */
  readonly isChanged: boolean
}

/** The kept versions of the codec, each with a way back to it. */
export function VersionsPanel({ profileId, newest, isChanged }: VersionsPanelProps): ReactElement {
  const versions = useProfileVersions(profileId)
  const names = useActorNames()
  const queryClient = useQueryClient()
  const restoring = useMutation({
    mutationFn: ({ version, force }: { readonly version: number; readonly force: boolean }) =>
      restoreVersion(profileId, version, force),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: [DEVICE_PROFILE, profileId] }),
  })
  const { variables } = restoring
  return (
    <Panel title="Versions of the codec" lead="Each change of the codec is kept. The last 20 stay.">
      <Stack>
        <Failure error={versions.error} onRetry={() => void versions.refetch()} />
        {versions.isLoading ? <Skeleton h={60} /> : null}
        {versions.data?.result.map((item) => (
          <Group key={item.version} justify="space-between" wrap="nowrap">
            <div>
              <Text size="sm" fw={500}>
                Version {item.version}: {CODEC_NAMES[item.payloadCodec]}, {item.characters} characters
              </Text>
              <Text size="sm" c="dimmed">
                <When at={item.createdAt} /> by {authorOf(item, names)}
              </Text>
            </div>
            {item.version === newest ? null : (
              <Button
                variant="default"
                size="compact-sm"
                flex="none"
                aria-label={`Restore version ${item.version}`}
                disabled={isChanged || restoring.isPending}
                onClick={() => restoring.mutate({ version: item.version, force: false })}
              >
                Restore
              </Button>
            )}
          </Group>
        ))}
        {isChanged ? (
          <Text size="sm" c="dimmed">
            Save or undo the changes before you restore a version.
          </Text>
        ) : null}
        <Failure error={restoring.error} />
        {variables === undefined ? null : (
          <ForceButton
            label="Restore all the same"
            error={restoring.error}
            onForce={() => restoring.mutate({ ...variables, force: true })}
          />
        )}
      </Stack>
    </Panel>
  )
}

function authorOf({ userID, apiKeyID }: ProfileVersion, names: ReadonlyMap<string, string>): string {
  if (userID !== '') return names.get(userID) ?? `user ${userID}`
  return apiKeyID === '' ? 'the service' : `API key ${apiKeyID}`
}
