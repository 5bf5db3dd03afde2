/**
 * The nodes of a deployment over NATS. The service joins them before it opens its engine, and
 * leaves them after it has closed it.
 */
import { STATE_KEYS } from '../broker/durable/state-keys.ts'
import { homeKeyOf } from '../broker/restoring/session-moves.ts'
import { withCursors } from '../broker/restoring/explicit-cursors.ts'
import type { RetainedSnapshot } from '../broker/ports/retained-snapshot.ts'
import { systemClock } from '../clock.ts'
import type { NatsNodes } from '../cluster/nats-nodes.ts'
import type { NatsEngine } from '../engine/nats/nats-engine.ts'
import type { NatsDeployment } from '../engine/nats/open-nats.ts'
import type { NatsServerState } from '../engine/nats/server-states.ts'
import { NAMING_PREFIX } from '../lorawan/commands/command-naming.ts'
import { QUEUE_PREFIX } from '../lorawan/commands/downlink-item.ts'
import { UNKNOWN_PREFIX } from '../lorawan/unknown-devices/kept-event.ts'
import { homeKeyOfHook } from '../lorawan/webhooks/webhook-homes.ts'
import { PRESENCE_PREFIX } from '../lorawan/network-servers/network-server-presence.ts'
import { version } from '../version.ts'
import type { StartContext } from './parts.ts'
import { StartFailure } from './start-failure.ts'

const DAY_MS = 86_400_000
/** Begins the names of all streams and subjects. */
const PREFIX = 'fieldgate'

/** This process among the nodes, with the engine that it has there. */
export interface JoinedNodes {
  readonly nodes: NatsNodes
  readonly engine: NatsEngine
  readonly retainedSnapshot: RetainedSnapshot
  /** Asks the servers of NATS how they are. Rejects when no majority of them answers. */
  readonly readServers: () => Promise<readonly NatsServerState[]>
}

/**
 * Joins the nodes. `replaced` is told when another node or process has taken this one's place: this
 * process has to end. Throws a sentence for people.
 */
export async function joinNodes(
  { settings, log, shutdown }: Pick<StartContext, 'settings' | 'log' | 'shutdown'>,
  replaced: () => void,
): Promise<JoinedNodes> {
  // Only these parts need the library of NATS, which is loaded here.
  const { connectorTo, replicasOf } = await import('../engine/nats/open-nats.ts')
  const { NatsEngine: OpeningEngine } = await import('../engine/nats/nats-engine.ts')
  const { NatsNodes: Joining } = await import('../cluster/nats-nodes.ts')
  const { NatsRetainedSnapshot } = await import('../cluster/retained-snapshot.ts')
  const { readServers } = await import('../engine/nats/server-states.ts')
  const { NatsLink } = await import('../engine/nats/nats-link.ts')
  const deployment: NatsDeployment = {
    urls: settings.natsUrl,
    monitoringUrls: settings.natsMonitoringUrl,
    credentialsFile: settings.natsCredentialsFile,
    caFile: settings.natsCaFile,
    isDevelopment: settings.natsDevelopment === 'true',
    node: settings.nodeName ?? '',
    logger: log.child({ room: 'engine' }),
  }
  const connect = connectorTo(deployment)
  const replicas = replicasOf(deployment)
  const nodes = await Joining.join({
    connect,
    prefix: PREFIX,
    name: deployment.node,
    version,
    replicas,
    homeKeyOf: homeKeyOfState,
    entriesOfHeir: withCursors,
    replaced,
    clock: systemClock,
    logger: log.child({ room: 'cluster' }),
  })
  shutdown.add('nodes', () => nodes.leave())
  const link = await NatsLink.over(await connect(), systemClock)
  shutdown.add('retained snapshot', () => link.connection.close())
  const retainedSnapshot = await NatsRetainedSnapshot.open({ link, clock: systemClock, prefix: PREFIX, replicas })
  shutdown.add('heirs', () => nodes.drain())
  if (settings.databaseUrl === undefined) refuseOthers(nodes)
  const engine = new OpeningEngine({
    connect,
    prefix: PREFIX,
    node: deployment.node,
    incarnation: nodes.bus.self.incarnation,
    fenced: replaced,
    replicas,
    retentionMs: settings.retentionDays * DAY_MS,
    retentionBytes: settings.retentionBytes,
    clock: systemClock,
    logger: deployment.logger,
  })
  if (nodes.hasForeignState) await engine.forgetStateOf(deployment.node)
  return { nodes, engine, retainedSnapshot, readServers: () => readServers(link.manager, PREFIX) }
}

/** Each node has the registry's file for itself: another node would know other organizations. */
function refuseOthers(nodes: NatsNodes): void {
  const { incarnation } = nodes.bus.self
  const other = nodes.living().find((node) => node.incarnation !== incarnation && node.name !== nodes.bus.self.name)
  if (other === undefined) return
  throw new StartFailure(
    `The node “${other.name}” runs already. Several nodes need one registry: set FIELDGATE_DATABASE_URL for all of them.`,
  )
}

/** The part of a node's state that its heir takes in any case. */
const OF_NODE = [STATE_KEYS.checkpoint, QUEUE_PREFIX, NAMING_PREFIX, PRESENCE_PREFIX, UNKNOWN_PREFIX]

function homeKeyOfState(stateKey: string): string | undefined {
  if (OF_NODE.some((prefix) => stateKey.startsWith(prefix))) return 'all'
  return homeKeyOfHook(stateKey) ?? homeKeyOf(stateKey)
}
