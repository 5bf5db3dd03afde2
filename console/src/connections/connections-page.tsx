/** The connected clients: holder, address, topics and traffic. */
import { Anchor, Button, Stack, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { ResourceTable } from '../administration/resource-table.tsx'
import { RowAction } from '../administration/row-action.tsx'
import { ScopeSwitch, useScope } from '../administration/scope.tsx'
import type { Connection } from '../api/broker-views.ts'
import { Blank } from '../shell/blank.tsx'
import { useDialog } from '../shell/dialog.tsx'
import type { DialogState } from '../shell/dialog.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { When } from '../shell/when.tsx'
import { counted, rate } from './amounts.ts'
import { ConnectionDialog } from './connection-dialog.tsx'
import classes from './connections-page.module.css'
import { Holder } from './holder.tsx'
import { UnmatchedFilters } from './unmatched-filters.tsx'

const PATH = '/api/connections'
const ASKING_MS = 5_000

/** The page. */
export function ConnectionsPage(): ReactElement {
  const { organization } = useOrganization()
  const scope = useScope()
  const looking = useDialog<Connection>()
  const ending = useDialog<Removal>()
  const isOfAll = scope === 'deployment'
  return (
    <Page
      title="Connections"
      lead={`MQTT clients of ${isOfAll ? 'the whole deployment' : organization.displayName} that are connected now.`}
    >
      <ResourceTable<Connection>
        path={PATH}
        query={isOfAll ? {} : { organizationID: organization.id }}
        refreshMs={ASKING_MS}
        searchLabel="Search by client, user or topic"
        filters={<ScopeSwitch label="Whose connections" />}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Client',
            cell: (connection) => <Client connection={connection} isOfAll={isOfAll} looking={looking} />,
          },
          { title: 'From', visibleFrom: 'sm', cell: (connection) => <From connection={connection} /> },
          { title: 'Topics', visibleFrom: 'sm', cell: (connection) => <Topics connection={connection} /> },
          { title: 'Traffic', cell: (connection) => <Carried connection={connection} /> },
          { title: 'Connected', visibleFrom: 'sm', cell: ({ openedAt }) => <When at={openedAt} /> },
        ]}
        actions={(connection) => (
          <RowAction
            icon="unplug"
            isDangerous
            label={`Disconnect ${connection.clientID}`}
            onClick={() => ending.open({ path: `${PATH}/${connection.id}`, name: connection.clientID })}
          />
        )}
        empty={
          <Blank
            icon="plug"
            title="No client is connected"
            text="A client that connects appears here at once. A refused client is on the page Refusals, with the reason."
            action={
              <Button component={Link} href="/refusals" variant="default">
                Look at the refusals
              </Button>
            }
          />
        }
      />
      <ConnectionDialog state={looking} />
      <RemoveDialog state={ending} verb="Disconnect" changes={[PATH]}>
        The client is told that an administrator ended its connection. Most clients connect again by themselves; to keep
        it away, revoke its token or its credential.
      </RemoveDialog>
    </Page>
  )
}

interface ClientProps {
  readonly connection: Connection
  readonly isOfAll: boolean
  readonly looking: DialogState<Connection>
}

function Client({ connection, isOfAll, looking }: ClientProps): ReactElement {
  return (
    <Stack gap={2} align="flex-start">
      <Anchor
        component="button"
        type="button"
        fw={500}
        size="sm"
        ta="start"
        className="breakable"
        onClick={() => looking.open(connection)}
        aria-label={`Details of ${connection.clientID}`}
      >
        {connection.clientID}
      </Anchor>
      <Holder holder={connection} />
      {isOfAll ? (
        <Text span size="xs" c="dimmed">
          {connection.organizationName === '' ? 'whole deployment' : connection.organizationName}
        </Text>
      ) : null}
    </Stack>
  )
}

function From({ connection }: { readonly connection: Connection }): ReactElement {
  const { address, listener, protocolVersion } = connection
  return (
    <Stack gap={2}>
      <Text span size="sm" ff="monospace" className="breakable">
        {address}
      </Text>
      <Text span size="xs" c="dimmed" className={classes['line']}>
        MQTT {protocolVersion} {listener === 'websocket' ? 'over WebSocket' : 'over TLS'}
      </Text>
    </Stack>
  )
}

/** The first Topic Filter, and the number of the others. */
function Topics({ connection }: { readonly connection: Connection }): ReactElement {
  const [first] = connection.topicFilters
  const more = connection.topicFilterCount - 1
  if (first === undefined)
    return (
      <Text span size="sm" c="dimmed">
        none
      </Text>
    )
  return (
    <Stack gap={2} maw={260}>
      <Text span size="xs" ff="monospace" className="breakable">
        {first}
      </Text>
      {more > 0 ? (
        <Text span size="xs" c="dimmed">
          and {counted(more)} more
        </Text>
      ) : null}
      <UnmatchedFilters filters={connection.unmatchedTopicFilters} />
    </Stack>
  )
}

function Carried({ connection }: { readonly connection: Connection }): ReactElement {
  const { messagesIn, messagesOut, messagesInPerSecond, messagesOutPerSecond } = connection
  return (
    <Stack gap={2} className="numbers">
      <Text span size="sm" className={classes['line']}>
        {rate(messagesOutPerSecond)} to it
        <Text span size="xs" c="dimmed" visibleFrom="md">
          {' '}
          · {counted(messagesOut)}
        </Text>
      </Text>
      <Text span size="sm" className={classes['line']}>
        {rate(messagesInPerSecond)} from it
        <Text span size="xs" c="dimmed" visibleFrom="md">
          {' '}
          · {counted(messagesIn)}
        </Text>
      </Text>
    </Stack>
  )
}
