import { Checkbox, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { request } from '../api/request.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'

/** An organization in the list of organizations. */
export interface ListedOrganization {
  readonly id: string
  readonly name: string
  readonly displayName: string
  readonly canHaveGateways: boolean
  readonly createdAt: string
}

/**
 * The first members of the cache keys that depend on organizations: the list, the selection at the
 * top, the chosen organization.
 */
export const ORGANIZATION_CHANGES = ['/api/organizations', 'organizations', 'organization']

interface OrganizationDialogProps {
  /** The subject is the organization to change. Without a subject the dialog creates one. */
  readonly state: DialogView<ListedOrganization | undefined>
  /** Only global admins set the short name and allow gateways. */
  readonly isGlobalAdmin: boolean
}

/** Creates or changes an organization. */
export function OrganizationDialog({ state, isGlobalAdmin }: OrganizationDialogProps): ReactElement {
  const { subject, close } = state
  return (
    <Dialog title={subject === undefined ? 'New organization' : `Edit ${subject.displayName}`} state={state}>
      <OrganizationForm organization={subject} isGlobalAdmin={isGlobalAdmin} onClose={close} />
    </Dialog>
  )
}

interface OrganizationFormProps {
  readonly organization: ListedOrganization | undefined
  readonly isGlobalAdmin: boolean
  readonly onClose: () => void
}

function OrganizationForm({ organization, isGlobalAdmin, onClose }: OrganizationFormProps): ReactElement {
  const [name, setName] = useState(organization?.name ?? '')
  const [displayName, setDisplayName] = useState(organization?.displayName ?? '')
  const [canHaveGateways, setGateways] = useState(organization?.canHaveGateways ?? false)
  const save = (): Promise<unknown> => {
    const governed = isGlobalAdmin ? { name: name.trim(), canHaveGateways } : {}
    const body = { organization: { ...governed, displayName: displayName.trim() } }
    return organization === undefined
      ? request('POST', '/api/organizations', { body })
      : request('PUT', `/api/organizations/${organization.id}`, { body })
  }
  return (
    <DialogForm
      submitLabel={organization === undefined ? 'Create' : 'Save'}
      isComplete={name.trim() !== '' && (organization === undefined || displayName.trim() !== '')}
      changes={ORGANIZATION_CHANGES}
      onSubmit={save}
      onClose={onClose}
    >
      <TextInput
        label="Name for people"
        placeholder={organization === undefined ? 'Alpine Valley Water' : undefined}
        value={displayName}
        onChange={(event) => setDisplayName(event.currentTarget.value)}
        maxLength={200}
        data-autofocus
      />
      {isGlobalAdmin ? (
        <>
          <TextInput
            label="Short name"
            description="Letters, digits, _ and -. Each organization has another one. The command line uses it."
            placeholder={organization === undefined ? 'alpine-valley-water' : undefined}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={100}
            autoCapitalize="none"
            spellCheck={false}
            required
          />
          <Checkbox
            label="May have gateways of its own"
            checked={canHaveGateways}
            onChange={(event) => setGateways(event.currentTarget.checked)}
          />
        </>
      ) : null}
    </DialogForm>
  )
}
