/** The organizations of the person. Global admins see all, and create and delete them. */
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
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { attemptToLeave } from '../shell/unsaved-changes.tsx'
import { When } from '../shell/when.tsx'
import { ORGANIZATION_CHANGES, OrganizationDialog } from './organization-dialog.tsx'
import type { ListedOrganization } from './organization-dialog.tsx'

/** The page. */
export function OrganizationsPage(): ReactElement {
  const { organization, isGlobalAdmin, choose } = useOrganization()
  const profile = useProfile()
  const editing = useDialog<ListedOrganization | undefined>()
  const removing = useDialog<Removal>()
  const mayEdit = (id: string): boolean =>
    isGlobalAdmin ||
    profile.data?.organizations.some(({ organizationID, isAdmin }) => organizationID === id && isAdmin) === true
  return (
    <Page
      title="Organizations"
      lead="Each has its own applications, devices and members, and sees nothing of the others."
      aside={
        isGlobalAdmin ? (
          <Button leftSection={<Icon name="plus" />} onClick={() => editing.open(undefined)}>
            New organization
          </Button>
        ) : undefined
      }
    >
      <ResourceTable<ListedOrganization>
        path="/api/organizations"
        searchLabel="Search by name"
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Name',
            cell: (item) => <Name item={item} isChosen={item.id === organization.id} onChoose={choose} />,
          },
          { title: 'Short name', visibleFrom: 'sm', cell: (item) => item.name },
          { title: 'Created', visibleFrom: 'sm', cell: ({ createdAt }) => <When at={createdAt} /> },
        ]}
        actions={(item) => (
          <>
            <RowAction icon="level" label={`Bounds of ${item.displayName}`} href={`/bounds?organization=${item.id}`} />
            {mayEdit(item.id) ? (
              <RowAction icon="pencil" label={`Edit ${item.displayName}`} onClick={() => editing.open(item)} />
            ) : null}
            {isGlobalAdmin ? (
              <RowAction
                icon="trash"
                label={`Delete ${item.displayName}`}
                isDangerous
                onClick={() => removing.open({ path: `/api/organizations/${item.id}`, name: item.displayName })}
              />
            ) : null}
          </>
        )}
        empty={<Blank icon="building" title="No organization matches" text="Search for another part of its name." />}
      />
      <OrganizationDialog state={editing} isGlobalAdmin={isGlobalAdmin} />
      <RemoveDialog state={removing} verb="Delete" isTyped changes={ORGANIZATION_CHANGES}>
        Its applications, devices, broker-access tokens and network-server credentials are deleted with it, and all of
        its connections end at once. This can’t be undone.
      </RemoveDialog>
    </Page>
  )
}

interface NameProps {
  readonly item: ListedOrganization
  readonly isChosen: boolean
  readonly onChoose: (id: string) => void
}

function Name({ item, isChosen, onChoose }: NameProps): ReactElement {
  return (
    <Group gap="xs">
      <Text size="sm" fw={500} className="breakable">
        {item.displayName}
      </Text>
      {isChosen ? (
        <Badge variant="light" tt="none">
          chosen
        </Badge>
      ) : (
        <Button
          variant="subtle"
          size="compact-sm"
          onClick={() => attemptToLeave(() => onChoose(item.id))}
          aria-label={`Switch to ${item.displayName}`}
        >
          Switch
        </Button>
      )}
    </Group>
  )
}
