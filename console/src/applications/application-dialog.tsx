import { Checkbox, Select, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { DEVICES_PATH, useApplicationSettings } from '../api/directory.ts'
import type { Application } from '../api/directory.ts'
import { request } from '../api/request.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { useOrganization } from '../shell/organization.tsx'

export const APPLICATIONS_PATH = '/api/applications'

/** The first members of the cache keys that depend on applications. */
export const APPLICATION_CHANGES = [APPLICATIONS_PATH, 'applications', DEVICES_PATH]

const SHAPES = [
  { value: '', label: 'As the network server sends them' },
  { value: 'V3', label: 'V3: as ChirpStack v3 writes them' },
  { value: 'V4', label: 'V4: as ChirpStack v4 writes them' },
  { value: 'NORMALIZED', label: 'Normalized: one spelling for all' },
]

interface ApplicationDialogProps {
  /** The subject is the application to change. Without a subject the dialog creates one. */
  readonly state: DialogView<Application | undefined>
}

/** Creates or changes an application. */
export function ApplicationDialog({ state }: ApplicationDialogProps): ReactElement {
  const { subject, close } = state
  return (
    <Dialog title={subject === undefined ? 'New application' : `Edit ${subject.name}`} state={state}>
      <ApplicationForm application={subject} onClose={close} />
    </Dialog>
  )
}

interface ApplicationFormProps {
  readonly application: Application | undefined
  readonly onClose: () => void
}

function ApplicationForm({ application, onClose }: ApplicationFormProps): ReactElement {
  const { organization } = useOrganization()
  const [name, setName] = useState(application?.name ?? '')
  const [description, setDescription] = useState(application?.description ?? '')
  const { data: saved } = useApplicationSettings(application?.id)
  // Undefined: nobody has changed it here, so it stays as it is saved.
  const [eventShape, setEventShape] = useState<string | undefined>(undefined)
  const [retainsLastEvents, setRetainsLastEvents] = useState<boolean | undefined>(undefined)
  const [passesObjects, setPassesObjects] = useState<boolean | undefined>(undefined)
  const save = (): Promise<unknown> => {
    const fields = {
      name: name.trim(),
      description: description.trim(),
      ...(eventShape === undefined ? {} : { eventShape }),
      ...(retainsLastEvents === undefined ? {} : { retainsLastEvents }),
      ...(passesObjects === undefined ? {} : { objectCommands: passesObjects ? 'NETWORK_SERVER' : '' }),
    }
    return application === undefined
      ? request('POST', APPLICATIONS_PATH, {
          body: { application: { ...fields, organizationID: organization.id } },
        })
      : request('PUT', `${APPLICATIONS_PATH}/${encodeURIComponent(application.id)}`, { body: { application: fields } })
  }
  return (
    <DialogForm
      submitLabel={application === undefined ? 'Create' : 'Save'}
      isComplete={name.trim() !== ''}
      changes={APPLICATION_CHANGES}
      onSubmit={save}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="No other application of the organization has this name."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={100}
        data-autofocus
      />
      <Textarea
        label="Description"
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
        maxLength={1000}
        autosize
        minRows={2}
        maxRows={6}
      />
      <Select
        label="Events"
        description="A change counts from the next event."
        data={SHAPES}
        value={eventShape ?? saved?.eventShape ?? ''}
        onChange={(value) => setEventShape(value ?? '')}
        allowDeselect={false}
      />
      <Checkbox
        label="Retain the last uplink and state of each device"
        description="A dashboard that subscribes gets them at once. It counts from the next event."
        checked={retainsLastEvents ?? saved?.retainsLastEvents === true}
        onChange={(event) => setRetainsLastEvents(event.currentTarget.checked)}
      />
      <Checkbox
        label="Pass objects of commands on to the network server"
        description="For an application without a codec here, whose network server encodes them."
        checked={passesObjects ?? saved?.objectCommands === 'NETWORK_SERVER'}
        onChange={(event) => setPassesObjects(event.currentTarget.checked)}
      />
    </DialogForm>
  )
}
