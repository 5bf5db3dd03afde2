/** Who belongs to the organization, and what they may. */
import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactElement, useState } from 'react'
import { request } from '../api/request.ts'
import { sentenceOf } from '../api/sentence.ts'
import { Blank } from '../shell/blank.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { FormDialog } from '../shell/form-dialog.tsx'
import { RemoveButton } from './remove-button.tsx'
import { ResourceTable } from './resource-table.tsx'

interface Member {
  readonly userID: string
  readonly username: string
  readonly isAdmin: boolean
  readonly isDeviceAdmin: boolean
}

/** The page. */
export function MembersPage(): ReactElement {
  const { organization } = useOrganization()
  const path = `/api/organizations/${organization.id}/users`
  const [isOpen, { open, close }] = useDisclosure()
  return (
    <Page
      title="Members"
      lead={`Who may see the devices of ${organization.displayName}, and who may change them.`}
      aside={
        <Button leftSection={<Icon name="plus" />} onClick={open}>
          Add a member
        </Button>
      }
    >
      <ResourceTable<Member>
        path={path}
        keyOf={({ userID }) => userID}
        columns={[
          {
            title: 'User',
            cell: ({ username }) => (
              <Text span inherit fw={500}>
                {username}
              </Text>
            ),
          },
          { title: 'May', cell: (member) => <Roles path={path} member={member} /> },
        ]}
        actions={({ userID, username }) => (
          <RemoveButton
            path={`${path}/${userID}`}
            name={username}
            label="Remove"
            warning="The person’s connections to the broker for this organization end at once. The user stays."
            changes={[path]}
          />
        )}
        empty={
          <Blank
            icon="users"
            title="No member yet"
            text="Add people by their user names. A global admin creates users."
          />
        }
      />
      <NewMember path={path} isOpen={isOpen} onClose={close} />
    </Page>
  )
}

function Roles({ path, member }: { readonly path: string; readonly member: Member }): ReactElement {
  const queryClient = useQueryClient()
  const change = useMutation({
    mutationFn: (roles: Partial<Member>) =>
      request('PUT', `${path}/${member.userID}`, { body: { organizationUser: roles } }),
    onError: (error) => notifications.show({ color: 'red', title: 'Not changed', message: sentenceOf(error) }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: [path] }),
  })
  return (
    <Group gap="md">
      <Checkbox
        label="administer"
        aria-label={`${member.username} may administer`}
        checked={member.isAdmin}
        disabled={change.isPending}
        onChange={(event) => change.mutate({ isAdmin: event.currentTarget.checked })}
      />
      <Checkbox
        label="manage devices"
        aria-label={`${member.username} may manage devices`}
        checked={member.isDeviceAdmin || member.isAdmin}
        disabled={member.isAdmin || change.isPending}
        onChange={(event) => change.mutate({ isDeviceAdmin: event.currentTarget.checked })}
      />
    </Group>
  )
}

interface NewMemberProps {
  readonly path: string
  readonly isOpen: boolean
  readonly onClose: () => void
}

function NewMember({ path, isOpen, onClose }: NewMemberProps): ReactElement {
  const [email, setEmail] = useState('')
  const [isAdmin, setAdmin] = useState(false)
  const [isDeviceAdmin, setDeviceAdmin] = useState(false)
  const add = async (): Promise<void> => {
    await request('POST', path, { body: { organizationUser: { email, isAdmin, isDeviceAdmin } } })
    setEmail('')
  }
  return (
    <FormDialog
      title="Add a member"
      isOpen={isOpen}
      onClose={onClose}
      submitLabel="Add"
      isComplete={email.trim() !== ''}
      changes={[path]}
      onSubmit={add}
    >
      <TextInput
        label="User name"
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        data-autofocus
      />
      <Stack gap="xs">
        <Checkbox
          label="May administer the organization"
          checked={isAdmin}
          onChange={(event) => setAdmin(event.currentTarget.checked)}
        />
        <Checkbox
          label="May manage devices"
          checked={isDeviceAdmin || isAdmin}
          disabled={isAdmin}
          onChange={(event) => setDeviceAdmin(event.currentTarget.checked)}
        />
      </Stack>
    </FormDialog>
  )
}
