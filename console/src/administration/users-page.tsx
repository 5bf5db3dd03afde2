/** All users of the deployment, for global admins. */
import { Badge, Button, Checkbox, Group, PasswordInput, Switch, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactElement, useState } from 'react'
import { useProfile } from '../api/account.ts'
import { request } from '../api/request.ts'
import { sentenceOf } from '../api/sentence.ts'
import { Blank } from '../shell/blank.tsx'
import { Icon } from '../shell/icons.tsx'
import { Page } from '../shell/page.tsx'
import { When } from '../shell/when.tsx'
import { FormDialog } from '../shell/form-dialog.tsx'
import { RemoveButton } from './remove-button.tsx'
import { ResourceTable } from './resource-table.tsx'

interface User {
  readonly id: string
  readonly username: string
  readonly isAdmin: boolean
  readonly isActive: boolean
  readonly createdAt: string
}

const PATH = '/api/users'

/** The page. */
export function UsersPage(): ReactElement {
  const [isOpen, { open, close }] = useDisclosure()
  const profile = useProfile()
  return (
    <Page
      title="Users"
      lead="Everybody who can sign in. What they may see is decided by the organizations that they are members of."
      aside={
        <Button leftSection={<Icon name="plus" />} onClick={open}>
          New user
        </Button>
      }
    >
      <ResourceTable<User>
        path={PATH}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'User',
            cell: ({ username, isAdmin }) => (
              <Group gap="xs">
                <Text span inherit fw={500}>
                  {username}
                </Text>
                {isAdmin ? (
                  <Badge variant="light" tt="none">
                    global admin
                  </Badge>
                ) : null}
              </Group>
            ),
          },
          {
            title: 'May sign in',
            cell: (user) => <ActiveSwitch user={user} isOwn={user.id === profile.data?.user.id} />,
          },
          { title: 'Created', isExtra: true, cell: ({ createdAt }) => <When at={createdAt} /> },
        ]}
        actions={({ id, username }) =>
          id === profile.data?.user.id ? null : (
            <RemoveButton
              path={`${PATH}/${id}`}
              name={username}
              warning="The person can’t sign in any more, and all connections with the person’s tokens end."
              changes={[PATH]}
            />
          )
        }
        empty={<Blank icon="user" title="No user matches" text="Search for another part of the user name." />}
      />
      <NewUser isOpen={isOpen} onClose={close} />
    </Page>
  )
}

function ActiveSwitch({ user, isOwn }: { readonly user: User; readonly isOwn: boolean }): ReactElement {
  const queryClient = useQueryClient()
  const change = useMutation({
    mutationFn: (isActive: boolean) => request('PUT', `${PATH}/${user.id}`, { body: { user: { isActive } } }),
    onError: (error) => notifications.show({ color: 'red', title: 'Not changed', message: sentenceOf(error) }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: [PATH] }),
  })
  return (
    <Switch
      aria-label={`${user.username} may sign in`}
      checked={user.isActive}
      disabled={isOwn || change.isPending}
      onChange={(event) => change.mutate(event.currentTarget.checked)}
    />
  )
}

const SHORTEST_PASSWORD = 10

function NewUser({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }): ReactElement {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [isAdmin, setAdmin] = useState(false)
  const create = async (): Promise<void> => {
    await request('POST', PATH, { body: { user: { email, isAdmin }, password } })
    setEmail('')
    setPassword('')
  }
  return (
    <FormDialog
      title="New user"
      isOpen={isOpen}
      onClose={onClose}
      submitLabel="Create"
      isComplete={email.trim() !== '' && password.length >= SHORTEST_PASSWORD}
      changes={[PATH]}
      onSubmit={create}
    >
      <TextInput
        label="User name"
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        autoComplete="off"
        data-autofocus
      />
      <PasswordInput
        label="First password"
        description={`At least ${SHORTEST_PASSWORD} characters. The person changes it under Account.`}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="new-password"
      />
      <Checkbox
        label="Global admin: sees and may do everything"
        checked={isAdmin}
        onChange={(event) => setAdmin(event.currentTarget.checked)}
      />
    </FormDialog>
  )
}
