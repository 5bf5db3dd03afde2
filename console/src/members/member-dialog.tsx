import { Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { request } from '../api/request.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { RoleSelect } from './role-select.tsx'
import { roleOf, rolesOf } from './roles.ts'
import type { Role, Roles } from './roles.ts'

/** A member in the list of members. */
export interface Member extends Roles {
  readonly userID: string
  readonly username: string
  readonly createdAt: string
}

interface MemberDialogProps {
  /** The path of the organization's members. */
  readonly path: string
  readonly changes: readonly string[]
  /** The subject is the member whose role changes. Without a subject the dialog adds a member. */
  readonly state: DialogView<Member | undefined>
}

/** Adds a member or changes a role. */
export function MemberDialog({ state, ...rest }: MemberDialogProps): ReactElement {
  const { subject, close } = state
  return (
    <Dialog title={subject === undefined ? 'Add a member' : `Role of ${subject.username}`} state={state}>
      <MemberForm member={subject} onClose={close} {...rest} />
    </Dialog>
  )
}

interface MemberFormProps extends Omit<MemberDialogProps, 'state'> {
  readonly member: Member | undefined
  readonly onClose: () => void
}

function MemberForm({ path, changes, member, onClose }: MemberFormProps): ReactElement {
  const [userName, setUserName] = useState('')
  const [role, setRole] = useState<Role>(member === undefined ? 'member' : roleOf(member))
  const save = (): Promise<unknown> =>
    member === undefined
      ? request('POST', path, { body: { organizationUser: { email: userName.trim(), ...rolesOf(role) } } })
      : request('PUT', `${path}/${member.userID}`, { body: { organizationUser: rolesOf(role) } })
  return (
    <DialogForm
      submitLabel={member === undefined ? 'Add' : 'Save'}
      isComplete={member !== undefined || userName.trim() !== ''}
      changes={changes}
      onSubmit={save}
      onClose={onClose}
    >
      {member === undefined ? (
        <TextInput
          label="User name"
          description="The name of an existing user. A global admin creates users."
          value={userName}
          onChange={(event) => setUserName(event.currentTarget.value)}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          data-autofocus
        />
      ) : (
        <Text size="sm">A smaller role holds at once, on open connections too.</Text>
      )}
      <RoleSelect value={role} onChange={setRole} />
    </DialogForm>
  )
}
