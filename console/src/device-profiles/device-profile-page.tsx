/** One device profile. */
import { Alert, Anchor, Breadcrumbs, Button, Skeleton, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { Link, useLocation, useParams } from 'wouter'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { DEVICE_PROFILES_PATH, deviceProfilePath, useDeviceProfile } from '../api/device-profiles.ts'
import type { DeviceProfileDetail } from '../api/device-profiles.ts'
import { useDialog } from '../shell/dialog.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { ProfileEditor } from './profile-editor.tsx'

/** The page. */
export function DeviceProfilePage(): ReactElement {
  const { id } = useParams<{ id: string }>()
  const { organization } = useOrganization()
  const detail = useDeviceProfile(id)
  const profile = detail.data?.deviceProfile
  const isElsewhere = profile !== undefined && profile.organizationID !== organization.id
  return (
    <Page
      title={profile?.name ?? 'Device profile'}
      lead={
        <Breadcrumbs>
          <Anchor component={Link} href="/device-profiles" size="sm">
            Device profiles
          </Anchor>
          <Text size="sm">{detail.data === undefined ? '' : countText(detail.data.deviceCount)}</Text>
        </Breadcrumbs>
      }
      aside={detail.data === undefined || isElsewhere ? undefined : <DeleteButton detail={detail.data} />}
    >
      <Failure error={detail.error} onRetry={() => void detail.refetch()} />
      {detail.isLoading ? <Skeleton h={420} /> : null}
      {isElsewhere ? (
        <Alert color="orange" title="This device profile belongs to another organization">
          Switch the organization at the top to see it.
        </Alert>
      ) : profile === undefined ? null : (
        <ProfileEditor key={`${id} ${profile.updatedAt}`} saved={profile} />
      )}
    </Page>
  )
}

function DeleteButton({ detail }: { readonly detail: DeviceProfileDetail }): ReactElement {
  const removing = useDialog<Removal>()
  const [, navigate] = useLocation()
  const { deviceProfile, deviceCount } = detail
  const { id, name } = deviceProfile
  const isUsed = deviceCount > 0
  const path = `${deviceProfilePath(id)}${isUsed ? '?detach=true' : ''}`
  return (
    <>
      <Button variant="default" leftSection={<Icon name="trash" />} onClick={() => removing.open({ path, name })}>
        Delete
      </Button>
      <RemoveDialog
        state={removing}
        verb="Delete"
        submitLabel={isUsed ? 'Detach and delete' : 'Delete'}
        changes={[DEVICE_PROFILES_PATH, 'device']}
        onRemoved={() => navigate('/device-profiles')}
      >
        {isUsed
          ? `${countText(deviceCount)}. Without it, the codec of their application decodes their payloads.`
          : 'No device has this profile.'}{' '}
        The versions of its codec are deleted with it. This can’t be undone.
      </RemoveDialog>
    </>
  )
}

function countText(count: number): string {
  if (count === 0) return 'No device has this profile'
  return count === 1 ? 'One device has this profile' : `${count} devices have this profile`
}
