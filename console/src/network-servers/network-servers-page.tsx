/** The credentials with which network servers connect. */
import { Badge, Button, Group, Stack, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { ResourceTable } from '../administration/resource-table.tsx'
import { RowAction } from '../administration/row-action.tsx'
import { ScopeSwitch, useScope } from '../administration/scope.tsx'
import type { Refusal } from '../api/broker-views.ts'
import { Blank } from '../shell/blank.tsx'
import { useDialog } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { When } from '../shell/when.tsx'
import { ChirpStackSection } from './chirpstack-section.tsx'
import { CredentialDialog, CREDENTIALS_PATH } from './credential-dialog.tsx'
import { InventorySection } from './inventory-section.tsx'
import { UnreadableEvent, useUnreadableEvents } from './unreadable-events.tsx'

interface Credential {
  readonly id: string
  readonly name: string
  readonly userName: string
  /** "" for a credential of the whole deployment. */
  readonly organizationID: string
  readonly createdAt: string
}

/** The page. */
export function NetworkServersPage(): ReactElement {
  const { organization, isGlobalAdmin } = useOrganization()
  const scope = useScope()
  const creating = useDialog<undefined>()
  const removing = useDialog<Removal>()
  const unreadable = useUnreadableEvents(scope === 'organization' ? organization.id : undefined)
  return (
    <Page
      title="Network servers"
      lead="A network server publishes the events of your devices and takes their commands. It connects with a credential of its own."
      aside={
        <Button leftSection={<Icon name="plus" />} onClick={() => creating.open(undefined)}>
          New credential
        </Button>
      }
    >
      <ResourceTable<Credential>
        path={CREDENTIALS_PATH}
        query={scope === 'organization' ? { organizationID: organization.id } : {}}
        searchLabel="Search by name"
        filters={<ScopeSwitch label="Whose credentials" />}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Name', cell: (credential) => <Name credential={credential} unreadable={unreadable} /> },
          {
            title: 'User name',
            visibleFrom: 'sm',
            cell: ({ userName }) => (
              <Text span ff="monospace" size="sm" className="breakable">
                {userName}
              </Text>
            ),
          },
          { title: 'Created', cell: ({ createdAt }) => <When at={createdAt} /> },
        ]}
        actions={({ id, name }) => (
          <RowAction
            icon="trash"
            label={`Revoke ${name}`}
            isDangerous
            onClick={() => removing.open({ path: `${CREDENTIALS_PATH}/${id}`, name })}
          />
        )}
        empty={
          <Blank
            icon="server"
            title="No credential yet"
            text="Create a credential, and enter it in the MQTT integration of your network server. ChirpStack needs no other change."
            action={<Button onClick={() => creating.open(undefined)}>New credential</Button>}
          />
        }
      />
      {isGlobalAdmin ? <ChirpStackSection /> : null}
      <InventorySection />
      <CredentialDialog state={creating} />
      <RemoveDialog state={removing} verb="Revoke" changes={[CREDENTIALS_PATH]}>
        The network server that uses it is disconnected at once: its devices’ events stop, and commands wait until one
        connects again.
      </RemoveDialog>
    </Page>
  )
}

interface NameProps {
  readonly credential: Credential
  readonly unreadable: readonly Refusal[]
}

function Name({ credential, unreadable }: NameProps): ReactElement {
  const refusal = unreadable.find(({ serviceCredentialID }) => serviceCredentialID === credential.id)
  return (
    <Stack gap={2}>
      <Group gap="xs">
        <Text size="sm" fw={500} className="breakable">
          {credential.name}
        </Text>
        {credential.organizationID === '' ? (
          <Badge variant="light" tt="none">
            every organization
          </Badge>
        ) : null}
      </Group>
      {refusal === undefined ? null : <UnreadableEvent refusal={refusal} />}
    </Stack>
  )
}
