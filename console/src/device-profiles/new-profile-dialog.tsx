import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { useLocation } from 'wouter'
import { DEVICE_PROFILES_PATH } from '../api/device-profiles.ts'
import { request } from '../api/request.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { useOrganization } from '../shell/organization.tsx'

interface NewProfileDialogProps {
  readonly state: DialogView<void>
}

/** Creates a device profile without a codec, and opens its page. */
export function NewProfileDialog({ state }: NewProfileDialogProps): ReactElement {
  return (
    <Dialog title="New device profile" state={state}>
      <NewProfileForm onClose={state.close} />
    </Dialog>
  )
}

function NewProfileForm({ onClose }: { readonly onClose: () => void }): ReactElement {
  const { organization } = useOrganization()
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  const create = async (): Promise<void> => {
    const deviceProfile = { name: name.trim(), organizationID: organization.id }
    const { id } = await request<{ readonly id: string }>('POST', DEVICE_PROFILES_PATH, { body: { deviceProfile } })
    navigate(`/device-profiles/${id}`)
  }
  return (
    <DialogForm
      submitLabel="Create"
      isComplete={name.trim() !== ''}
      changes={[DEVICE_PROFILES_PATH]}
      onSubmit={create}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="No other device profile of the organization has this name."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={100}
        data-autofocus
      />
    </DialogForm>
  )
}
