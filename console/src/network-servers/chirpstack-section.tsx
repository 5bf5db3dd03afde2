/**
 * The ChirpStacks of version 4 that the service connects to itself, by gRPC. The section is for
 * global admins.
 */
import { Badge, Button, Group, Stack, Text, Title } from '@mantine/core'
import type { ReactElement } from 'react'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { ResourceTable } from '../administration/resource-table.tsx'
import { RowAction } from '../administration/row-action.tsx'
import { INVENTORIES_PATH } from '../api/inventories.ts'
import { Blank } from '../shell/blank.tsx'
import { Dialog, useDialog } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { ConnectForm, NETWORK_SERVERS_PATH } from './connect-form.tsx'

interface NetworkServer {
  readonly name: string
  readonly kind: string
  readonly url: string
  readonly isOfFile: boolean
}

/** The section of the page. */
export function ChirpStackSection(): ReactElement {
  const connecting = useDialog<undefined>()
  const removing = useDialog<Removal>()
  return (
    <Stack mt="xl">
      <Group justify="space-between" align="flex-start">
        <div>
          <Title order={2} fz="lg">
            ChirpStack v4 by gRPC
          </Title>
          <Text size="sm" c="dimmed" maw={640}>
            The best way for commands: ChirpStack answers each command, senders get its refusals, commands keep their
            order, and tenants, applications and devices stay synchronised. Events come over MQTT, with a credential
            from above.
          </Text>
        </div>
        <Button leftSection={<Icon name="plus" />} onClick={() => connecting.open(undefined)}>
          Connect ChirpStack
        </Button>
      </Group>
      <ResourceTable<NetworkServer>
        path={NETWORK_SERVERS_PATH}
        name="chirpstack"
        label="ChirpStack v4 by gRPC"
        searchLabel="Search by name"
        keyOf={({ name }) => name}
        columns={[
          { title: 'Name', cell: (one) => <Name networkServer={one} /> },
          {
            title: 'Address',
            cell: ({ url }) => (
              <Text span ff="monospace" size="sm" className="breakable">
                {url}
              </Text>
            ),
          },
        ]}
        actions={({ name, isOfFile }) =>
          isOfFile ? null : (
            <RowAction
              icon="trash"
              label={`Remove ${name}`}
              isDangerous
              onClick={() => removing.open({ path: `${NETWORK_SERVERS_PATH}/${encodeURIComponent(name)}`, name })}
            />
          )
        }
        empty={
          <Blank
            icon="server"
            title="No ChirpStack is connected"
            text="Enter the address and an API key. The connection can be tried before it is saved."
            action={<Button onClick={() => connecting.open(undefined)}>Connect ChirpStack</Button>}
          />
        }
      />
      <Dialog title="Connect ChirpStack v4" state={connecting}>
        <ConnectForm onClose={connecting.close} />
      </Dialog>
      <RemoveDialog state={removing} verb="Remove" changes={[NETWORK_SERVERS_PATH, INVENTORIES_PATH]}>
        Synchronised organizations, applications and devices stay. Waiting commands go to network servers that are
        clients of this broker.
      </RemoveDialog>
    </Stack>
  )
}

function Name({ networkServer: { name, kind, isOfFile } }: { readonly networkServer: NetworkServer }): ReactElement {
  return (
    <Group gap="xs">
      <Text size="sm" fw={500} className="breakable">
        {name}
      </Text>
      {isOfFile ? (
        <Badge variant="light" tt="none">
          {kind}, by the settings file
        </Badge>
      ) : null}
    </Group>
  )
}
