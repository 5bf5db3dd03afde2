/** ChirpStacks of version 4 that the service reaches itself, by gRPC: for global admins. */
import { Alert, Badge, Button, Group, PasswordInput, Stack, Text, Textarea, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { ResourceTable } from '../administration/resource-table.tsx'
import { RowAction } from '../administration/row-action.tsx'
import { request } from '../api/request.ts'
import { Blank } from '../shell/blank.tsx'
import { Dialog, DialogForm, useDialog } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'

const NETWORK_SERVERS_PATH = '/api/network-servers'

interface NetworkServer {
  readonly name: string
  readonly kind: string
  readonly url: string
  readonly isOfFile: boolean
}

interface Trial {
  readonly outcome: string
  readonly answer: string
  readonly tenants: readonly { readonly id: string; readonly name: string; readonly applications: number }[]
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
            The way for commands: ChirpStack answers each one, its refusals reach the sender, the order holds, and
            tenants, applications and devices are kept in step. Events come over MQTT, by a credential above.
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
            text="Enter its address and an API key: the connection is tried first, and its answer shown."
            action={<Button onClick={() => connecting.open(undefined)}>Connect ChirpStack</Button>}
          />
        }
      />
      <Dialog title="Connect ChirpStack v4" state={connecting}>
        <ConnectForm state={connecting} />
      </Dialog>
      <RemoveDialog state={removing} verb="Remove" changes={[NETWORK_SERVERS_PATH]}>
        What was synchronised from it stays. Commands that wait go to network servers that are clients of this broker.
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

function ConnectForm({ state }: { readonly state: DialogView<undefined> }): ReactElement {
  const { organization } = useOrganization()
  const [name, setName] = useState('chirpstack')
  const [url, setUrl] = useState('')
  const [apiKey, setApiKey] = useState('')
  const [caCertificate, setCaCertificate] = useState('')
  const [tenant, setTenant] = useState('')
  const [trial, setTrial] = useState<Trial>()
  const [failure, setFailure] = useState<unknown>()
  const [isTrying, setTrying] = useState(false)
  const isComplete = name.trim() !== '' && url.trim() !== '' && apiKey.trim() !== ''
  const body = {
    networkServer: {
      name: name.trim(),
      url: url.trim(),
      apiKey: apiKey.trim(),
      ...(caCertificate.trim() === '' ? {} : { caCertificate }),
      ...(tenant.trim() === '' ? {} : { tenants: { [tenant.trim()]: organization.id } }),
    },
  }
  const tryOut = async (): Promise<void> => {
    setTrying(true)
    setTrial(undefined)
    setFailure(undefined)
    try {
      setTrial(await request<Trial>('POST', `${NETWORK_SERVERS_PATH}/try`, { body }))
    } catch (error) {
      setFailure(error)
    }
    setTrying(false)
  }
  return (
    <DialogForm
      submitLabel="Connect"
      isComplete={isComplete}
      changes={[NETWORK_SERVERS_PATH]}
      onSubmit={() => request('POST', NETWORK_SERVERS_PATH, { body })}
      onClose={state.close}
    >
      <TextInput
        label="Address"
        description="https://host:port; http:// for clear text, as ChirpStack’s own port 8080 speaks it."
        placeholder="http://chirpstack:8080"
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
        maxLength={500}
        data-autofocus
      />
      <PasswordInput
        label="API key"
        description="Made in ChirpStack: Network Server › API keys. It is stored, and never shown again."
        value={apiKey}
        onChange={(event) => setApiKey(event.currentTarget.value)}
        autoComplete="off"
      />
      <TextInput
        label="Name"
        description="Lower-case letters, digits and hyphens. It stays as it is."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={40}
      />
      <TextInput
        label="Tenant (optional)"
        description={`For a tenant’s own API key: the tenant’s id. It becomes ${organization.displayName} here.`}
        value={tenant}
        onChange={(event) => setTenant(event.currentTarget.value)}
        maxLength={36}
      />
      {url.trim().startsWith('https:') ? (
        <Textarea
          label="Certificate authority (optional)"
          description="PEM, where a public authority has not signed its certificate."
          value={caCertificate}
          onChange={(event) => setCaCertificate(event.currentTarget.value)}
          autosize
          maxRows={6}
        />
      ) : null}
      <Button variant="light" onClick={() => void tryOut()} loading={isTrying} disabled={!isComplete}>
        Try the connection
      </Button>
      {trial === undefined ? null : (
        <Alert
          variant="light"
          color={trial.outcome === 'works' ? 'green' : 'red'}
          icon={<Icon name="server" />}
          role="status"
        >
          {trial.answer}
          {trial.tenants.map(({ id, name: tenantName, applications }) => (
            <Text key={id} size="sm" className="breakable">
              {tenantName === '' ? id : tenantName}: {applications} application{applications === 1 ? '' : 's'}
            </Text>
          ))}
        </Alert>
      )}
      <Failure error={failure} />
    </DialogForm>
  )
}
