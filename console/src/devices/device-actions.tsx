import { Button, Group } from '@mantine/core'
import type { ReactElement } from 'react'
import { useLocation } from 'wouter'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { DEVICES_PATH } from '../api/directory.ts'
import type { DeviceDetail } from '../api/directory.ts'
import { useDialog } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { DeviceDialog } from './device-dialog.tsx'

/** The buttons of device admins: change and delete. */
export function DeviceActions({ device }: { readonly device: DeviceDetail['device'] }): ReactElement {
  const editing = useDialog<DeviceDetail['device'] | undefined>()
  const removing = useDialog<Removal>()
  const [, navigate] = useLocation()
  return (
    <Group gap="xs">
      <Button variant="default" leftSection={<Icon name="pencil" />} onClick={() => editing.open(device)}>
        Edit
      </Button>
      <Button
        variant="default"
        leftSection={<Icon name="trash" />}
        onClick={() => removing.open({ path: `/api/devices/${device.devEUI}`, name: device.name })}
      >
        Delete
      </Button>
      <DeviceDialog state={editing} />
      <RemoveDialog state={removing} verb="Delete" changes={[DEVICES_PATH]} onRemoved={() => navigate('/devices')}>
        Its waiting commands are dropped, and its events are refused from then on. Stored events stay until their
        retention ends.
      </RemoveDialog>
    </Group>
  )
}
