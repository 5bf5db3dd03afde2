/** Tells that the library has a newer revision of a device profile, and takes it. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ReactElement } from 'react'
import { LIBRARY_UPDATE, takeLibraryUpdate, useLibraryUpdate } from '../api/device-library.ts'
import { DEVICE_PROFILE, DEVICE_PROFILES_PATH } from '../api/device-profiles.ts'
import { Failure } from '../shell/failure.tsx'
import { ForceButton } from './force-button.tsx'

interface UpdateAlertProps {
  readonly profileId: string
  /** The draft has changes, which the update would take away. */
  readonly isChanged: boolean
}

/** The alert. */
export function UpdateAlert({ profileId, isChanged }: UpdateAlertProps): ReactElement | null {
  const queryClient = useQueryClient()
  const update = useLibraryUpdate(profileId)
  const taking = useMutation({
    mutationFn: (force: boolean) => takeLibraryUpdate(profileId, force),
    onSuccess: async () => {
      const keys = [[DEVICE_PROFILE, profileId], [DEVICE_PROFILES_PATH], [LIBRARY_UPDATE, profileId]]
      await Promise.all(keys.map((queryKey) => queryClient.invalidateQueries({ queryKey })))
    },
  })
  if (update.error !== null) return <Failure error={update.error} onRetry={() => void update.refetch()} />
  if (update.data?.isThere !== true) return null
  const { members, breaks } = update.data
  return (
    <Alert color="blue" title="The library has an update">
      <Stack gap="xs">
        <Text size="sm">
          {members.length === 0 ? 'It changes nothing here.' : `It changes: ${members.join(', ')}.`}
        </Text>
        {breaks.length === 0 ? (
          <Text size="sm">It breaks none of the test vectors.</Text>
        ) : (
          <Text size="sm">It breaks the test vectors {breaks.map(({ name }) => name).join(', ')}.</Text>
        )}
        <Failure error={taking.error} />
        <ForceButton label="Update all the same" error={taking.error} onForce={() => taking.mutate(true)} />
        <Group justify="flex-end">
          <Button
            size="compact-sm"
            loading={taking.isPending}
            disabled={isChanged}
            onClick={() => taking.mutate(false)}
          >
            Update
          </Button>
        </Group>
      </Stack>
    </Alert>
  )
}
