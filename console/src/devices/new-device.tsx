import { Select, TextInput } from '@mantine/core'
import { type ReactElement, useState } from 'react'
import { FormDialog } from '../shell/form-dialog.tsx'
import { useApplications } from '../api/directory.ts'
import { request } from '../api/request.ts'
import { useOrganization } from '../shell/organization.tsx'

/** Adds one device. */
export function NewDevice({
  isOpen,
  onClose,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
}): ReactElement {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  const [chosen, setChosen] = useState<string | null>(null)
  const [devEui, setDevEui] = useState('')
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const applicationID = chosen ?? applications.data?.result[0]?.id ?? null
  const create = async (): Promise<void> => {
    await request('POST', '/api/devices', {
      body: { device: { devEUI: devEui.trim(), name, description, applicationID } },
    })
    setDevEui('')
    setName('')
    setDescription('')
  }
  return (
    <FormDialog
      title="New device"
      isOpen={isOpen}
      onClose={onClose}
      submitLabel="Create"
      isComplete={devEui.trim() !== '' && applicationID !== null}
      changes={['devices']}
      onSubmit={create}
    >
      <Select
        label="Application"
        data={applications.data?.result.map(({ id, name: label }) => ({ value: id, label })) ?? []}
        value={applicationID}
        onChange={setChosen}
        allowDeselect={false}
        searchable
      />
      <TextInput
        label="DevEUI"
        description="16 hexadecimal digits; it stands on the device."
        value={devEui}
        onChange={(event) => setDevEui(event.currentTarget.value)}
        data-autofocus
      />
      <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <TextInput
        label="Description"
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </FormDialog>
  )
}
