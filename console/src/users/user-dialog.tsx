import { Checkbox, PasswordInput, Select, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { request } from '../api/request.ts'
import { ROLES, rolesOf } from '../members/roles.ts'
import type { Role } from '../members/roles.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { useOrganization } from '../shell/organization.tsx'

/** A user in the list of users. */
export interface User {
  readonly id: string
  readonly username: string
  readonly isAdmin: boolean
  readonly isActive: boolean
  readonly note: string
  readonly createdAt: string
}

export const USERS_PATH = '/api/users'

/** The shortest password that the console sets. The service itself takes some shorter ones. */
export const SHORTEST_PASSWORD = 10

interface UserDialogProps {
  /** The subject is the user to change. Without a subject the dialog creates one. */
  readonly state: DialogView<User | undefined>
  /** The id of the person. Nobody can take the own rights away. */
  readonly ownId: string | undefined
}

/** Creates or changes a user. */
export function UserDialog({ state, ownId }: UserDialogProps): ReactElement {
  const { subject, close } = state
  return (
    <Dialog title={subject === undefined ? 'New user' : `Edit ${subject.username}`} state={state}>
      {subject === undefined ? (
        <NewUserForm onClose={close} />
      ) : (
        <UserForm user={subject} isOwn={subject.id === ownId} onClose={close} />
      )}
    </Dialog>
  )
}

function NewUserForm({ onClose }: { readonly onClose: () => void }): ReactElement {
  const { organization } = useOrganization()
  const [userName, setUserName] = useState('')
  const [password, setPassword] = useState('')
  const [role, setRole] = useState<Role | 'none'>('member')
  const [isAdmin, setAdmin] = useState(false)
  const create = (): Promise<unknown> => {
    const organizations = role === 'none' ? [] : [{ organizationID: organization.id, ...rolesOf(role) }]
    return request('POST', USERS_PATH, { body: { user: { email: userName.trim(), isAdmin }, password, organizations } })
  }
  return (
    <DialogForm
      submitLabel="Create"
      isComplete={userName.trim() !== '' && password.length >= SHORTEST_PASSWORD}
      changes={[USERS_PATH, `/api/organizations/${organization.id}/users`]}
      onSubmit={create}
      onClose={onClose}
    >
      <UserNameInput value={userName} onChange={setUserName} />
      <PasswordInput
        label="First password"
        description={`At least ${SHORTEST_PASSWORD} characters. The person changes it under Account.`}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="new-password"
      />
      <Select
        label={`Role in ${organization.displayName}`}
        data={[{ value: 'none', label: 'None' } as const, ...ROLES]}
        value={role}
        onChange={(chosen) => setRole(chosen ?? 'none')}
        allowDeselect={false}
      />
      <GlobalAdminCheckbox isChecked={isAdmin} onChange={setAdmin} />
    </DialogForm>
  )
}

interface UserFormProps {
  readonly user: User
  readonly isOwn: boolean
  readonly onClose: () => void
}

function UserForm({ user, isOwn, onClose }: UserFormProps): ReactElement {
  const [userName, setUserName] = useState(user.username)
  const [isAdmin, setAdmin] = useState(user.isAdmin)
  const [isActive, setActive] = useState(user.isActive)
  const [note, setNote] = useState(user.note)
  const save = (): Promise<unknown> => {
    const rights = isOwn ? {} : { isAdmin, isActive }
    return request('PUT', `${USERS_PATH}/${user.id}`, { body: { user: { email: userName.trim(), note, ...rights } } })
  }
  return (
    <DialogForm
      submitLabel="Save"
      isComplete={userName.trim() !== ''}
      changes={[USERS_PATH, 'profile']}
      onSubmit={save}
      onClose={onClose}
    >
      <UserNameInput value={userName} onChange={setUserName} />
      <Textarea
        label="Note"
        description="For global admins alone."
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
        maxLength={1000}
        autosize
        minRows={1}
        maxRows={6}
      />
      {isOwn ? null : (
        <>
          <Checkbox
            label="May sign in"
            description="Without it, sessions and connections of the user end at once."
            checked={isActive}
            onChange={(event) => setActive(event.currentTarget.checked)}
          />
          <GlobalAdminCheckbox isChecked={isAdmin} onChange={setAdmin} />
        </>
      )}
    </DialogForm>
  )
}

function UserNameInput({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (userName: string) => void
}): ReactElement {
  return (
    <TextInput
      label="User name"
      description="Often the person’s email address; upper and lower case are the same."
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
      data-autofocus
    />
  )
}

function GlobalAdminCheckbox({
  isChecked,
  onChange,
}: {
  readonly isChecked: boolean
  readonly onChange: (isAdmin: boolean) => void
}): ReactElement {
  return (
    <Checkbox
      label="Global admin"
      description="Sees and may do everything, in every organization."
      checked={isChecked}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  )
}
