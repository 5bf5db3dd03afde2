/**
 * The page for people who want events in their own system: a token, topics, and programs to paste.
 */
import { Alert, Anchor, Button, Group, Loader, SimpleGrid, Stack, Tabs, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { useDeployment } from '../api/broker-access.ts'
import type { Deployment } from '../api/broker-access.ts'
import { useApplications } from '../api/directory.ts'
import { Blank } from '../shell/blank.tsx'
import { CodeBlock } from '../shell/code-block.tsx'
import { CopyField } from '../shell/copy-field.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { moment } from '../shell/moments.ts'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { Panel } from '../shell/panel.tsx'
import { AccessForm } from './access-form.tsx'
import type { Access } from './access-form.tsx'
import { FirstConnection } from './first-connection.tsx'
import { CA_FILE } from './snippet.ts'
import { snippetsFor } from './snippets.ts'
import { TokenList } from './token-list.tsx'

const CA_PATH = '/api/internal/ca.pem'

/** The page. */
export function ConnectPage(): ReactElement {
  const { organization, isOrganizationAdmin } = useOrganization()
  const deployment = useDeployment()
  const applications = useApplications(organization.id)
  const [access, setAccess] = useState<Access>()
  return (
    <Page
      title="Connect"
      lead={`Get the events of ${organization.displayName} into your own system: create a token, paste a program, watch events arrive.`}
      aside={
        // The navigation offers the page to admins of the organization.
        isOrganizationAdmin ? undefined : (
          <Anchor component={Link} href="/bounds" size="sm" underline="always">
            Bounds of the organization
          </Anchor>
        )
      }
    >
      <Failure error={deployment.error} onRetry={() => void deployment.refetch()} />
      {applications.data?.result.length === 0 ? (
        <NoApplication />
      ) : deployment.data === undefined ? null : (
        <Panel title="Create access" lead="The token is the user name of the connection. It is shown once.">
          <AccessForm deployment={deployment.data} onAccess={setAccess} />
        </Panel>
      )}
      {access === undefined || deployment.data === undefined ? null : (
        <AccessPanels access={access} deployment={deployment.data} />
      )}
      <TokenList newTokenId={access?.token.id} />
    </Page>
  )
}

function NoApplication(): ReactElement {
  const { isOrganizationAdmin } = useOrganization()
  return (
    <Panel>
      <Blank
        icon="device"
        title="No application yet"
        text={`Devices belong to applications. ${isOrganizationAdmin ? 'Create the first one' : 'An admin of the organization creates the first one'}; then you can connect to it here.`}
        action={
          isOrganizationAdmin ? (
            <Button component={Link} href="/applications">
              To the applications
            </Button>
          ) : undefined
        }
      />
    </Panel>
  )
}

interface AccessPanelsProps {
  readonly access: Access
  readonly deployment: Deployment
}

function AccessPanels({ access, deployment }: AccessPanelsProps): ReactElement {
  const { token, topics } = access
  const { mqttsHost, mqttsPort, hasOwnAuthority } = deployment
  return (
    <>
      <Panel title="Your access" lead={`Good until ${moment(token.expiresAtMs)}.`}>
        <Stack>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <CopyField label="Broker (MQTT over TLS)" value={`${mqttsHost}:${mqttsPort}`} />
            <CopyField label="Broker (WebSocket, path /mqtt)" value={`wss://${window.location.host}/mqtt`} />
            <CopyField label="User name (the token)" value={token.jwt} />
            <CopyField label="Password" value="default" />
            <CopyField label="Topic of events" value={topics.events} />
            {topics.commands === undefined ? null : <CopyField label="Topic of commands" value={topics.commands} />}
          </SimpleGrid>
          {hasOwnAuthority ? <Authority /> : null}
          <FirstConnection token={token} />
        </Stack>
      </Panel>
      <Panel title="Paste and run">
        <Snippets access={access} deployment={deployment} />
      </Panel>
    </>
  )
}

/** The certificate authority that the service made for itself. No client knows it yet. */
function Authority(): ReactElement {
  return (
    <Alert
      variant="light"
      color="gray"
      icon={<Icon name="shield" />}
      title="Clients must trust this service’s own certificate authority"
    >
      <Group justify="space-between" gap="sm">
        <Text size="sm" maw={560}>
          Download it into the folder where you run the programs below, as {CA_FILE}.
        </Text>
        <Button
          component="a"
          href={CA_PATH}
          download={CA_FILE}
          variant="default"
          size="sm"
          leftSection={<Icon name="download" />}
        >
          Download {CA_FILE}
        </Button>
      </Group>
    </Alert>
  )
}

function Snippets({ access, deployment }: AccessPanelsProps): ReactElement {
  const { organization } = useOrganization()
  const authority = useAuthority(deployment.hasOwnAuthority)
  const snippets = useMemo(() => {
    if (deployment.hasOwnAuthority && authority.data === undefined) return undefined
    return snippetsFor({
      host: deployment.mqttsHost,
      port: deployment.mqttsPort,
      origin: window.location.origin,
      token: access.token.jwt,
      organizationId: organization.id,
      scope: access.scope,
      eventTopic: access.topics.events,
      commandTopic: access.topics.commands,
      authority: authority.data,
      clientId: `integration-${access.token.id.slice(0, 8)}`,
    })
  }, [access, deployment, organization.id, authority.data])
  if (snippets === undefined)
    return authority.error === null ? <Loader type="dots" /> : <Failure error={authority.error} />
  return (
    <Tabs defaultValue={snippets[0]?.id ?? ''} keepMounted={false}>
      <Tabs.List mb="md">
        {snippets.map(({ id, name }) => (
          <Tabs.Tab key={id} value={id}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map(({ id, lead, blocks }) => (
        <Tabs.Panel key={id} value={id}>
          <Stack gap="sm">
            <Text size="sm" c="dimmed">
              {lead}
            </Text>
            {blocks.map(({ title, text }) => (
              <CodeBlock key={title} title={title} text={text} />
            ))}
          </Stack>
        </Tabs.Panel>
      ))}
      <Text size="sm" c="dimmed" mt="md">
        The documentation explains{' '}
        <Anchor href="/docs/mqtt" target="_blank" rel="noopener" underline="always">
          every setting and limit of the broker
        </Anchor>{' '}
        and{' '}
        <Anchor href="/docs/errors#mqtt" target="_blank" rel="noopener" underline="always">
          each refusal
        </Anchor>
        .
      </Text>
    </Tabs>
  )
}

/** The certificate of the authority, for programs that contain it. */
function useAuthority(isOwn: boolean) {
  return useQuery({
    queryKey: ['authority'],
    enabled: isOwn,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const response = await fetch(CA_PATH, { signal })
      if (!response.ok) throw new Error('the certificate authority could not be read')
      return response.text()
    },
  })
}
