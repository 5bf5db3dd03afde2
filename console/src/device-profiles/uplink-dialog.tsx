import { Text } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import type { DeviceDetail } from '../api/directory.ts'
import { newestEvents } from '../api/event-history.ts'
import { request } from '../api/request.ts'
import { readEvent } from '../broker/live-event.ts'
import { DeviceSelect } from '../connect/device-select.tsx'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { uplinkVector } from './uplink-vector.ts'

interface UplinkDialogProps {
  readonly state: DialogView<void>
  readonly onVector: (vector: object) => void
}

/** The number of a device's newest stored events that are searched for an uplink. */
const SEARCHED = 50

/** Takes the newest stored uplink of a device, with its object, as a test vector. */
export function UplinkDialog({ state, onVector }: UplinkDialogProps): ReactElement {
  return (
    <Dialog title="A real uplink as a test vector" state={state}>
      <UplinkForm onVector={onVector} onClose={state.close} />
    </Dialog>
  )
}

interface UplinkFormProps extends Pick<UplinkDialogProps, 'onVector'> {
  readonly onClose: () => void
}

function UplinkForm({ onVector, onClose }: UplinkFormProps): ReactElement {
  const [devEui, setDevEui] = useState<string | null>(null)
  const take = async (): Promise<void> => {
    if (devEui === null) return
    const { device } = await request<DeviceDetail>('GET', `/api/devices/${devEui}`)
    const events = await newestEvents({ devEui }, SEARCHED)
    const vector = uplinkVector(events.map(readEvent), device.variables)
    if (vector === undefined) throw new Error(NONE)
    onVector(vector)
  }
  return (
    <DialogForm submitLabel="Take" isComplete={devEui !== null} changes={[]} onSubmit={take} onClose={onClose}>
      <Text size="sm">
        The newest stored uplink of the device becomes a vector. Its object is what the codec must give from then on.
      </Text>
      <DeviceSelect applicationId={null} value={devEui} onChange={setDevEui} />
    </DialogForm>
  )
}

const NONE = `None of the ${SEARCHED} newest stored events of the device is an uplink with bytes and an object.`
