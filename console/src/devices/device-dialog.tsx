import { Select, Switch, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { DEVICE_PROFILE } from '../api/device-profiles.ts'
import { DEVICES_PATH, useApplications } from '../api/directory.ts'
import type { DeviceDetail } from '../api/directory.ts'
import { request } from '../api/request.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { PairsInput } from './pairs-input.tsx'
import { pairsOf, recordOf } from './pairs.ts'
import type { Pair } from './pairs.ts'
import { ProfileSelect } from './profile-select.tsx'

/** The first members of the cache keys that depend on devices. */
const DEVICE_CHANGES = [DEVICES_PATH, 'device', 'device-topics', DEVICE_PROFILE]

interface DeviceDialogProps {
  /** The subject is the device to change. Without a subject the dialog creates one. */
  readonly state: DialogView<DeviceDetail['device'] | undefined>
  /** The application that is chosen at first for a new device. */
  readonly applicationId?: string | undefined
}

/** Creates or changes a device. */
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
  const [devEui, setDevEui] = useState('')
  const [values, setValues] = useState(() => valuesOf(device, applicationId))
  const applicationID = values.applicationId ?? applications.data?.result[0]?.id
  const save = (): Promise<unknown> => {
    const fields = fieldsOf(values, applicationID)
    return device === undefined
      ? request('POST', DEVICES_PATH, { body: { device: { devEUI: devEui.trim(), ...fields } } })
      : request('PUT', `${DEVICES_PATH}/${device.devEUI}`, { body: { device: fields } })
  }
  const hasName = (device === undefined ? devEui : values.name).trim() !== ''
  return (
    <DialogForm
      submitLabel={device === undefined ? 'Create' : 'Save'}
      isComplete={applicationID !== undefined && hasName}
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
      <Fields
        isNew={device === undefined}
        savedProfile={device?.deviceProfileID ?? ''}
        values={{ ...values, applicationId: applicationID }}
        onChange={(changed) => setValues((before) => ({ ...before, ...changed }))}
      />
    </DialogForm>
  )
}

/** The values of all fields except the DevEUI, which never changes. */
interface Values {
  readonly applicationId: string | undefined
  /** Undefined: as it is. Empty: no profile. */
  readonly deviceProfileID: string | undefined
  readonly name: string
  readonly description: string
  readonly tags: readonly Pair[]
  readonly variables: readonly Pair[]
  readonly isDisabled: boolean
}

function valuesOf(device: DeviceDetail['device'] | undefined, applicationId: string | undefined): Values {
  return {
    applicationId: device?.applicationID ?? applicationId,
    deviceProfileID: undefined,
    name: device?.name ?? '',
    description: device?.description ?? '',
    tags: pairsOf(device?.tags ?? {}),
    variables: pairsOf(device?.variables ?? {}),
    isDisabled: device?.isDisabled ?? false,
  }
}

function fieldsOf(
  { name, deviceProfileID, description, tags, variables, isDisabled }: Values,
  applicationID: string | undefined,
): object {
  return {
    applicationID,
    ...(deviceProfileID === undefined ? {} : { deviceProfileID }),
    name: name.trim(),
    description: description.trim(),
    tags: recordOf(tags),
    variables: recordOf(variables),
    isDisabled,
  }
}

interface FieldsProps {
  readonly isNew: boolean
  /** The profile that the device has, by its id or by a text of the network server. */
  readonly savedProfile: string
  readonly values: Values
  readonly onChange: (changed: Partial<Values>) => void
}

function Fields({ isNew, savedProfile, values, onChange }: FieldsProps): ReactElement {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  return (
    <>
      <TextInput
        label="Name"
        description={isNew ? 'The DevEUI, when it is left empty.' : undefined}
        value={values.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
        maxLength={100}
      />
      <Select
        label="Application"
        data={applications.data?.result.map(({ id, name: label }) => ({ value: id, label })) ?? []}
        value={values.applicationId ?? null}
        onChange={(id) => onChange({ applicationId: id ?? undefined })}
        nothingFoundMessage="No application has this name"
        allowDeselect={false}
        searchable
      />
      <ProfileSelect
        value={values.deviceProfileID ?? savedProfile}
        onChange={(deviceProfileID) => onChange({ deviceProfileID })}
      />
      <Textarea
        label="Description"
        value={values.description}
        onChange={(event) => onChange({ description: event.currentTarget.value })}
        maxLength={1000}
        autosize
        minRows={1}
        maxRows={6}
      />
      <PairsInput
        label="Tags"
        description="Each event of the device carries them."
        one="tag"
        pairs={values.tags}
        onChange={(tags) => onChange({ tags })}
      />
      <PairsInput
        label="Variables"
        description="Only the codec reads them. Events do not carry them."
        one="variable"
        pairs={values.variables}
        onChange={(variables) => onChange({ variables })}
      />
      <Switch
        label="Disabled"
        description="Events of the device and commands to it are refused."
        checked={values.isDisabled}
        onChange={(event) => onChange({ isDisabled: event.currentTarget.checked })}
      />
    </>
  )
}
