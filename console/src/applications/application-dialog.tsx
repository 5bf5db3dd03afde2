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

/** The first members of the cache keys that depend on applications. */
export const APPLICATION_CHANGES = [APPLICATIONS_PATH, 'applications', DEVICES_PATH]

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
    </DialogForm>
  )
}
