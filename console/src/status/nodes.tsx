/** The nodes of the deployment: version, readiness and health of each. */
import { Badge, Group, List, Table, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import type { LostNode, NodeStatus } from '../api/broker-views.ts'
import { counted } from '../connections/amounts.ts'
import { Panel } from '../shell/panel.tsx'
import { When } from '../shell/when.tsx'
import { partLabel } from './parts.ts'

/** The remedies for a part that is not well, by the part's name. */
const REMEDIES: Readonly<Record<string, string>> = {
  messages:
    'Look at the servers of NATS: a majority of them has to run, and the node has to reach them. Nothing is lost meanwhile.',
  registry: 'Look at PostgreSQL: it has to run, and the node has to reach it. Connected clients go on meanwhile.',
  disk: 'Make room on the volume of the node’s data directory.',
  broker: 'The node is shutting down, and comes back when it is started again.',
}

interface NodesProps {
  readonly nodes: readonly NodeStatus[] | undefined
  readonly lost: readonly LostNode[]
}

/** The list of nodes. Nothing is shown for a deployment of one node. */
export function Nodes({ nodes, lost }: NodesProps): ReactElement | null {
  if (nodes === undefined) return null
  return (
    <Panel title="Nodes" lead="The nodes of the deployment. The numbers above are those of the node that answers.">
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Node</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Started</Table.Th>
            <Table.Th>Last heard</Table.Th>
            <Table.Th>Connections</Table.Th>
            <Table.Th>Sessions</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {nodes.map((node) => (
            <Row key={node.name} node={node} />
          ))}
          {lost.map((node) => (
            <LostRow key={node.name} node={node} />
          ))}
        </Table.Tbody>
      </Table>
    </Panel>
  )
}

function Row({ node }: { readonly node: NodeStatus }): ReactElement {
  const { name, version, startedAt, silentMs, connections, sessions } = node
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" fw={500}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          {version}
        </Text>
      </Table.Td>
      <Table.Td>
        <State node={node} />
      </Table.Td>
      <Table.Td>
        <When at={startedAt} />
      </Table.Td>
      <Table.Td className="numbers">{(silentMs / 1000).toFixed(1)} s ago</Table.Td>
      <Table.Td className="numbers">{connections === null ? 'unknown' : counted(connections)}</Table.Td>
      <Table.Td className="numbers">{sessions === null ? 'unknown' : counted(sessions)}</Table.Td>
    </Table.Tr>
  )
}

function LostRow({ node: { name, endedAt, isOrderly, heir } }: { readonly node: LostNode }): ReactElement {
  const successor = heir === null ? 'No node has its Sessions yet.' : `The node ${heir} has its Sessions.`
  const remedy = isOrderly ? '' : ' Start it again with the same settings, or start another one in its place.'
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" fw={500}>
          {name}
        </Text>
      </Table.Td>
      <Table.Td>
        <Badge variant="light" tt="none" color={isOrderly ? 'gray' : 'red'}>
          {isOrderly ? 'ended' : 'lost'}
        </Badge>
        <Text size="xs">
          {successor}
          {remedy}
        </Text>
      </Table.Td>
      <Table.Td />
      <Table.Td>
        <When at={endedAt} />
      </Table.Td>
      <Table.Td />
      <Table.Td />
    </Table.Tr>
  )
}

function State({ node: { isReady, hasAnswered, parts } }: { readonly node: NodeStatus }): ReactElement {
  const ill = parts.filter(({ isWell }) => !isWell)
  const [label, color] = !hasAnswered
    ? ['does not answer', 'red']
    : isReady
      ? ['ready', 'field']
      : ['takes no new clients', 'yellow']
  return (
    <Group gap="xs">
      <Badge variant="light" tt="none" color={color}>
        {label}
      </Badge>
      {ill.length === 0 ? null : (
        <List size="xs">
          {ill.map(({ name, reason }) => (
            <List.Item key={name}>
              {partLabel(name)}: {reason}. {REMEDIES[name]}
            </List.Item>
          ))}
        </List>
      )}
    </Group>
  )
}
