/** The members of the organization, and their roles. */
import { Badge, Button, Group, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { PROFILE_KEY, useProfile } from '../api/account.ts'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { ResourceTable } from '../administration/resource-table.tsx'
import { RowAction } from '../administration/row-action.tsx'
import { Blank } from '../shell/blank.tsx'
import { useDialog } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { When } from '../shell/when.tsx'
import { MemberDialog } from './member-dialog.tsx'
import type { Member } from './member-dialog.tsx'
import { ROLES, roleOf } from './roles.ts'

/** The page. */
export function MembersPage(): ReactElement {
  const { organization, isGlobalAdmin } = useOrganization()
  const profile = useProfile()
  const path = `/api/organizations/${organization.id}/users`
  const changes = [path, 'member-names', ...PROFILE_KEY]
  const editing = useDialog<Member | undefined>()
  const removing = useDialog<Removal>()
  const ownId = profile.data?.user.id
  return (
    <Page
      title="Members"
      lead={`Who sees the devices of ${organization.displayName}, and who may change what.`}
      aside={
        <Button leftSection={<Icon name="plus" />} onClick={() => editing.open(undefined)}>
          Add a member
        </Button>
      }
    >
      <ResourceTable<Member>
        path={path}
        searchLabel="Search by user name"
        keyOf={({ userID }) => userID}
        columns={[
          { title: 'User', cell: (member) => <UserName member={member} isOwn={member.userID === ownId} /> },
          { title: 'Role', cell: (member) => ROLES.find(({ value }) => value === roleOf(member))?.label },
          { title: 'Since', visibleFrom: 'sm', cell: ({ createdAt }) => <When at={createdAt} /> },
        ]}
        actions={(member) =>
          // An admin who gives up the own role could not take it back.
          member.userID === ownId && !isGlobalAdmin ? null : (
            <>
              <RowAction
                icon="pencil"
                label={`Change the role of ${member.username}`}
                onClick={() => editing.open(member)}
              />
              <RowAction
                icon="trash"
                label={`Remove ${member.username}`}
                isDangerous
                onClick={() => removing.open({ path: `${path}/${member.userID}`, name: member.username })}
              />
            </>
          )
        }
        empty={
          <Blank
            icon="users"
            title="No member yet"
            text="Add people by their user names. A global admin creates users."
            action={<Button onClick={() => editing.open(undefined)}>Add a member</Button>}
          />
        }
      />
      <MemberDialog path={path} changes={changes} state={editing} />
      <RemoveDialog state={removing} verb="Remove" changes={changes}>
        The person sees nothing of {organization.displayName} any more, and connections to the broker that were opened
        for it end at once. The user stays.
      </RemoveDialog>
    </Page>
  )
}

function UserName({ member, isOwn }: { readonly member: Member; readonly isOwn: boolean }): ReactElement {
  return (
    <Group gap="xs">
      <Text size="sm" fw={500} className="breakable">
        {member.username}
      </Text>
      {isOwn ? (
        <Badge variant="light" tt="none">
          you
        </Badge>
      ) : null}
    </Group>
  )
}
