import { PasswordInput, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { request } from '../api/request.ts'
import { Dialog, DialogForm } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { SHORTEST_PASSWORD, USERS_PATH } from './user-dialog.tsx'
import type { User } from './user-dialog.tsx'

/** Sets the password of another person. The own password is changed under Account. */
export function PasswordDialog({ state }: { readonly state: DialogView<User> }): ReactElement {
  const { subject, close } = state
  return (
    <Dialog title={`New password for ${subject?.username ?? ''}`} state={state}>
      {subject === undefined ? null : <PasswordForm user={subject} onClose={close} />}
    </Dialog>
  )
}

function PasswordForm({ user, onClose }: { readonly user: User; readonly onClose: () => void }): ReactElement {
  const [password, setPassword] = useState('')
  const set = async (): Promise<void> => {
    await request('PUT', `${USERS_PATH}/${user.id}/password`, { body: { password } })
    notifications.show({ message: `${user.username} has the new password. Hand it over by a safe way.` })
  }
  return (
    <DialogForm
      submitLabel="Set password"
      isComplete={password.length >= SHORTEST_PASSWORD}
      changes={[]}
      onSubmit={set}
      onClose={onClose}
    >
      <Text size="sm">The sessions of the user end; a second factor stays on.</Text>
      <PasswordInput
        label="New password"
        description={`At least ${SHORTEST_PASSWORD} characters.`}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="new-password"
        data-autofocus
      />
    </DialogForm>
  )
}
