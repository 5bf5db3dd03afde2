import { Button, Code, Group, Stack, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import type { Connection } from '../api/broker-views.ts'
import { whyHref } from '../diagnosis/question.ts'
import { Dialog } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { Facts } from '../shell/facts.tsx'
import { moment } from '../shell/moments.ts'
import { counted, rate, size } from './amounts.ts'
import { Holder } from './holder.tsx'
import { UnmatchedFilters } from './unmatched-filters.tsx'

/** The details of a connection, as they were when the dialog was opened. */
export function ConnectionDialog({ state }: { readonly state: DialogView<Connection> }): ReactElement {
  const { subject } = state
  return (
    <Dialog title={subject?.clientID ?? ''} state={state}>
      {subject === undefined ? null : <Details connection={subject} />}
      <Group justify="flex-end" mt="lg">
        {subject === undefined ? null : (
          <Button component={Link} href={whyHref('clientId', subject.clientID)} variant="default">
            Why no data?
          </Button>
        )}
        <Button variant="default" onClick={state.close}>
          Close
        </Button>
      </Group>
    </Dialog>
  )
}

function Details({ connection }: { readonly connection: Connection }): ReactElement {
  const { tokenID, keepAliveSeconds, topicFilters, topicFilterCount, organizationName } = connection
  const more = topicFilterCount - topicFilters.length
  return (
    <Stack>
      <Facts
        facts={[
          ['Who', <Holder key="who" holder={connection} />],
          ['Organization', organizationName === '' ? 'whole deployment' : organizationName],
          ['Token', tokenID === '' ? 'none, a service credential' : <Code key="token">{tokenID}</Code>],
          ['Address', connection.address],
          [
            'Protocol',
            `MQTT ${connection.protocolVersion} over ${connection.listener === 'tls' ? 'TLS' : 'WebSocket'}`,
          ],
          ['Connected', moment(Date.parse(connection.openedAt))],
          ['Keep alive', keepAliveSeconds === 0 ? 'none' : `${keepAliveSeconds} s`],
          ['Sent to it', carried(connection.messagesOut, connection.bytesOut, connection.messagesOutPerSecond)],
          ['Came from it', carried(connection.messagesIn, connection.bytesIn, connection.messagesInPerSecond)],
        ]}
      />
      <Stack gap={4}>
        <Text size="sm" c="dimmed">
          {topicFilterCount === 0 ? 'It subscribes to nothing.' : 'Subscribes to'}
        </Text>
        {topicFilters.map((topicFilter) => (
          <Code key={topicFilter} className="breakable">
            {topicFilter}
          </Code>
        ))}
        {more > 0 ? <Text size="sm">and {counted(more)} more</Text> : null}
        <UnmatchedFilters filters={connection.unmatchedTopicFilters} />
      </Stack>
    </Stack>
  )
}

function carried(messages: string, bytes: string, perSecond: number): string {
  return `${counted(messages)} messages, ${size(bytes)}, ${rate(perSecond)} at present`
}
