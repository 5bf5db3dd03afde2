/** All users of the deployment, for global admins. */
import { Badge, Button, Group, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { useProfile } from '../api/account.ts'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { ResourceTable } from '../administration/resource-table.tsx'
import { RowAction } from '../administration/row-action.tsx'
import { Blank } from '../shell/blank.tsx'
import { useDialog } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { Page } from '../shell/page.tsx'
import { When } from '../shell/when.tsx'
import { PasswordDialog } from './password-dialog.tsx'
import { UserDialog, USERS_PATH } from './user-dialog.tsx'
import type { User } from './user-dialog.tsx'

/** The page. */
export function UsersPage(): ReactElement {
  const ownId = useProfile().data?.user.id
  const editing = useDialog<User | undefined>()
  const settingPassword = useDialog<User>()
  const resetting = useDialog<Removal>()
  const removing = useDialog<Removal>()
  return (
    <Page
      title="Users"
      lead="All users who can sign in. Users see the organizations that they are members of."
      aside={
        <Button leftSection={<Icon name="plus" />} onClick={() => editing.open(undefined)}>
          New user
        </Button>
      }
    >
      <ResourceTable<User>
        path={USERS_PATH}
        searchLabel="Search by user name"
        keyOf={({ id }) => id}
        columns={[
          { title: 'User', cell: (user) => <UserName user={user} isOwn={user.id === ownId} /> },
          { title: 'Note', visibleFrom: 'sm', cell: ({ note }) => note },
          { title: 'Created', visibleFrom: 'sm', cell: ({ createdAt }) => <When at={createdAt} /> },
        ]}
        actions={(user) => {
          const { id, username } = user
          return (
            <>
              <RowAction icon="pencil" label={`Edit ${username}`} onClick={() => editing.open(user)} />
              {id === ownId ? null : (
                <>
                  <RowAction
                    icon="key"
                    label={`Set the password of ${username}`}
                    onClick={() => settingPassword.open(user)}
                  />
                  <RowAction
                    icon="shield"
                    label={`Turn off the second factor of ${username}`}
                    onClick={() => resetting.open({ path: `${USERS_PATH}/${id}/second-factor`, name: username })}
                  />
                  <RowAction
                    icon="trash"
                    label={`Delete ${username}`}
                    isDangerous
                    onClick={() => removing.open({ path: `${USERS_PATH}/${id}`, name: username })}
                  />
                </>
              )}
            </>
          )
        }}
        empty={<Blank icon="user" title="No user matches" text="Search for another part of the user name." />}
      />
      <UserDialog state={editing} ownId={ownId} />
      <PasswordDialog state={settingPassword} />
      <RemoveDialog state={resetting} verb="Turn off the second factor of" submitLabel="Turn off" changes={[]}>
        For a user who has lost the phone and the recovery codes. Make sure that the user asks for it, and nobody else:
        afterwards the password alone is enough, until a second factor is set up again.
      </RemoveDialog>
      <RemoveDialog state={removing} verb="Delete" changes={[USERS_PATH]}>
        The user can’t sign in any more. Memberships and tokens are deleted, and connections with these tokens end at
        once.
      </RemoveDialog>
    </Page>
  )
}

function UserName({ user, isOwn }: { readonly user: User; readonly isOwn: boolean }): ReactElement {
  return (
    <Group gap="xs">
      <Text size="sm" fw={500} className="breakable">
        {user.username}
      </Text>
      {isOwn ? (
        <Badge variant="light" tt="none">
          you
        </Badge>
      ) : null}
      {user.isAdmin ? (
        <Badge variant="light" tt="none">
          global admin
        </Badge>
      ) : null}
      {user.isActive ? null : (
        <Badge variant="light" color="gray" tt="none">
          can’t sign in
        </Badge>
      )}
    </Group>
  )
}
