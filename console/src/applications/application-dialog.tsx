import { Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { DEVICES_PATH } from '../api/directory.ts'
import type { Application } from '../api/directory.ts'
import { request } from '../api/request.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { useOrganization } from '../shell/organization.tsx'

export const APPLICATIONS_PATH = '/api/applications'

/**
 * First members of the keys in the cache that depend on applications: this list, and the
 * selections.
 */
export const APPLICATION_CHANGES = [APPLICATIONS_PATH, 'applications', DEVICES_PATH]

interface ApplicationDialogProps {
  /** Its subject is the application to change; without one a new application is made. */
  readonly state: DialogView<Application | undefined>
}

/** Makes an application or changes one. */
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
  const save = (): Promise<unknown> => {
    const fields = { name: name.trim(), description: description.trim() }
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
        description="The only one of its name in the organization."
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
    </DialogForm>
  )
}
