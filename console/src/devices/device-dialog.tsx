import { Select, Switch, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { DEVICES_PATH, useApplications } from '../api/directory.ts'
import type { DeviceDetail } from '../api/directory.ts'
import { request } from '../api/request.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { PairsInput, pairsOf, recordOf } from './pairs-input.tsx'

/** First members of the keys in the cache that depend on devices. */
const DEVICE_CHANGES = [DEVICES_PATH, 'device', 'device-topics']

interface DeviceDialogProps {
  /** Its subject is the device to change; without one a new device is made. */
  readonly state: DialogView<DeviceDetail['device'] | undefined>
  /** The application that a new device is offered. */
  readonly applicationId?: string | undefined
}

/** Makes a device or changes one. */
export function DeviceDialog({ state, applicationId }: DeviceDialogProps): ReactElement {
  const { subject, close } = state
  return (
    <Dialog title={subject === undefined ? 'New device' : `Edit ${subject.name}`} state={state}>
      <DeviceForm device={subject} applicationId={applicationId} onClose={close} />
    </Dialog>
  )
}

interface DeviceFormProps {
  readonly device: DeviceDetail['device'] | undefined
  readonly applicationId: string | undefined
  readonly onClose: () => void
}

function DeviceForm({ device, applicationId, onClose }: DeviceFormProps): ReactElement {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  const [chosen, setChosen] = useState(device?.applicationID ?? applicationId)
  const [devEui, setDevEui] = useState('')
  const [name, setName] = useState(device?.name ?? '')
  const [description, setDescription] = useState(device?.description ?? '')
  const [tags, setTags] = useState(() => pairsOf(device?.tags ?? {}))
  const [variables, setVariables] = useState(() => pairsOf(device?.variables ?? {}))
  const [isDisabled, setDisabled] = useState(device?.isDisabled ?? false)
  const applicationID = chosen ?? applications.data?.result[0]?.id
  const save = (): Promise<unknown> => {
    const fields = {
      applicationID,
      name: name.trim(),
      description: description.trim(),
      tags: recordOf(tags),
      variables: recordOf(variables),
      isDisabled,
    }
    return device === undefined
      ? request('POST', DEVICES_PATH, { body: { device: { devEUI: devEui.trim(), ...fields } } })
      : request('PUT', `/api/devices/${device.devEUI}`, { body: { device: fields } })
  }
  return (
    <DialogForm
      submitLabel={device === undefined ? 'Create' : 'Save'}
      isComplete={applicationID !== undefined && (device === undefined ? devEui.trim() !== '' : name.trim() !== '')}
      changes={DEVICE_CHANGES}
      onSubmit={save}
      onClose={onClose}
    >
      {device === undefined ? (
        <TextInput
          label="DevEUI"
          description="16 hexadecimal digits; it stands on the device or its packing."
          value={devEui}
          onChange={(event) => setDevEui(event.currentTarget.value)}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
      ) : null}
      <TextInput
        label="Name"
        description={device === undefined ? 'The DevEUI, when it is left empty.' : undefined}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={100}
      />
      <Select
        label="Application"
        data={applications.data?.result.map(({ id, name: label }) => ({ value: id, label })) ?? []}
        value={applicationID ?? null}
        onChange={(id) => setChosen(id ?? undefined)}
        nothingFoundMessage="No application is called so"
        allowDeselect={false}
        searchable
      />
      <Textarea
        label="Description"
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
        maxLength={1000}
        autosize
        minRows={1}
        maxRows={6}
      />
      <PairsInput label="Tags" description="They go out with every event." one="tag" pairs={tags} onChange={setTags} />
      <PairsInput
        label="Variables"
        description="For the codec; they stay inside."
        one="variable"
        pairs={variables}
        onChange={setVariables}
      />
      <Switch
        label="Disabled"
        description="Events of the device and commands to it are refused."
        checked={isDisabled}
        onChange={(event) => setDisabled(event.currentTarget.checked)}
      />
    </DialogForm>
  )
}
