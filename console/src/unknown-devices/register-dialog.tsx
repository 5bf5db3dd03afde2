import { Text } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { DEVICES_PATH } from '../api/directory.ts'
import { registerUnknownDevices, UNKNOWN_DEVICES_PATH } from '../api/unknown-devices.ts'
import type { RegisteredDevices, UnknownDevice, UnknownDeviceFilter } from '../api/unknown-devices.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { counted } from './counted.ts'
import { emptyDraft, NewDeviceFields, useChosenApplication, valuesOf } from './new-device-fields.tsx'

/** One device, or all that a filter means. */
export type Meant =
  | { readonly device: UnknownDevice }
  | { readonly filter: UnknownDeviceFilter; readonly count: number }

interface RegisterDialogProps {
  readonly state: DialogView<Meant>
  /** True: the devices of the network servers of the whole deployment. */
  readonly isOfDeployment: boolean
  readonly onRegistered: (result: RegisteredDevices) => void
}

/** Registers unknown devices. */
export function RegisterDialog({ state, ...rest }: RegisterDialogProps): ReactElement {
  const { subject, close } = state
  return (
    <Dialog title={subject === undefined ? '' : titleOf(subject)} state={state}>
      {subject === undefined ? null : <RegisterForm meant={subject} onClose={close} {...rest} />}
    </Dialog>
  )
}

function titleOf(meant: Meant): string {
  return 'device' in meant ? `Register ${meant.device.devEUI}` : `Register ${counted(meant.count)}`
}

interface RegisterFormProps extends Omit<RegisterDialogProps, 'state'> {
  readonly meant: Meant
  readonly onClose: () => void
}

function RegisterForm({ meant, isOfDeployment, onRegistered, onClose }: RegisterFormProps): ReactElement {
  const [typed, setTyped] = useState(() =>
    emptyDraft('device' in meant ? meant.device.deviceName || meant.device.devEUI : undefined),
  )
  const draft = useChosenApplication(typed)
  const register = async (): Promise<void> => {
    const values = valuesOf(draft, draft.applicationId ?? '', isOfDeployment)
    const which = 'device' in meant ? { devEUIs: [meant.device.devEUI] } : { filter: meant.filter }
    onRegistered(await registerUnknownDevices(values, which))
  }
  return (
    <DialogForm
      submitLabel="Register"
      isComplete={draft.applicationId !== undefined}
      changes={[UNKNOWN_DEVICES_PATH, DEVICES_PATH]}
      onSubmit={register}
      onClose={onClose}
    >
      <Text size="sm">The kept events are then delivered, in the order in which they came.</Text>
      <NewDeviceFields draft={draft} onChange={setTyped} areSeveral={!('device' in meant)} />
    </DialogForm>
  )
}
