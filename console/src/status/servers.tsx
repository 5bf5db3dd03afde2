/** The servers that keep the messages and the registry of the deployment. */
import { Badge, Table, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import type { ServerStatus } from '../api/broker-views.ts'
import { Panel } from '../shell/panel.tsx'

const KINDS = { nats: 'NATS', postgresql: 'PostgreSQL' } as const

/** The remedies for a server that is not well. */
const REMEDIES = {
  nats: 'Start it again, or look at its log. Nothing is lost while two of three servers run.',
  postgresql: 'Start it again, or promote a standby. Connected clients go on meanwhile.',
} as const

/** The list of servers. Nothing is shown where the service keeps everything itself. */
export function Servers({ servers }: { readonly servers: readonly ServerStatus[] }): ReactElement | null {
  if (servers.length === 0) return null
  return (
    <Panel title="Servers" lead="The servers that keep the messages and the registry.">
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Server</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Part</Table.Th>
            <Table.Th>Behind</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {servers.map((server) => (
            <Row key={`${server.kind} ${server.name}`} server={server} />
          ))}
        </Table.Tbody>
      </Table>
    </Panel>
  )
}

function Row({ server: { kind, name, isWell, role, lag, reason } }: { readonly server: ServerStatus }): ReactElement {
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" fw={500}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          {KINDS[kind]}
        </Text>
      </Table.Td>
      <Table.Td>
        <Badge variant="light" tt="none" color={isWell ? 'field' : 'red'}>
          {isWell ? 'well' : 'not well'}
        </Badge>
        {isWell ? null : (
          <Text size="xs">
            {reason}. {REMEDIES[kind]}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{role === '' ? 'unknown' : role}</Table.Td>
      <Table.Td className="numbers">{lag === '' ? 'unknown' : lag}</Table.Td>
    </Table.Tr>
  )
}
