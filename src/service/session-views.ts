/**
 * The Sessions and the network servers behind the HTTP interface's port: those of this node, or of
 * all nodes.
 */
import { identityOf, readHolder, tenantOf } from '../access/holders.ts'
import type { Broker } from '../broker/broker.ts'
import type { SessionView } from '../broker/delivery/session-view.ts'
import { ownerOf } from '../broker/ports/policy.ts'
import { given } from '../given.ts'
import type { KeptSession, NetworkServersSeen, SessionsAsked, SessionViews } from '../http/operation/session-views.ts'
import type { Presence } from '../lorawan/commands/command-waits.ts'
import type { NetworkServerPresence } from '../lorawan/network-servers/network-server-presence.ts'
import type { Bus } from '../nodes.ts'
import { Fitting } from './fitting.ts'

/** How long the nodes are asked: a person waits. */
const ASK_MS = 2_000
/** Topic Filters of a Session that are shown. */
const SHOWN_FILTERS = 50
/** The tenant of the network servers that serve the whole deployment. */
const DEPLOYMENT = 'deployment'

const SESSIONS = 'views.sessions'
const NETWORK_SERVERS = 'views.network-servers'

export interface SessionViewsOptions {
  readonly broker: Pick<Broker, 'sessions'>
  readonly presence: Pick<NetworkServerPresence, 'of'>
  /** The other nodes; undefined in a deployment of one. */
  readonly bus: Bus | undefined
}

/** Makes the views, and answers the other nodes. */
export function createSessionViews({ broker, presence, bus }: SessionViewsOptions): SessionViews {
  const sessionsHere = (asked: SessionsAsked): Promise<readonly KeptSession[]> =>
    Promise.all(pick(broker, asked).map((view) => kept(view, asked.clientId !== undefined)))
  const serversHere = (organizationId: string): NetworkServersSeen => ({
    ofOrganization: presence.of(tenantOf(organizationId)),
    ofDeployment: presence.of(DEPLOYMENT),
  })
  if (bus === undefined) {
    return {
      sessions: async (asked) => ({ items: await sessionsHere(asked), missing: [] }),
      networkServers: async (organizationId) => serversHere(organizationId),
    }
  }
  bus.serve(SESSIONS, async (body) => {
    const fitting = new Fitting<KeptSession>()
    for (const session of await sessionsHere(valueOf(body) as SessionsAsked)) if (!fitting.add(session)) break
    return jsonOf(fitting.items)
  })
  bus.serve(NETWORK_SERVERS, async (body) => jsonOf(serversHere(body.toString())))
  return {
    async sessions(asked) {
      const [own, { answers, missing }] = await Promise.all([
        sessionsHere(asked),
        bus.gather(SESSIONS, jsonOf(asked), ASK_MS),
      ])
      const others = answers.flatMap(({ body }) => valueOf(body) as readonly KeptSession[])
      return { items: [...own, ...others], missing: missing.map(({ name }) => name) }
    },

    async networkServers(organizationId) {
      const { answers } = await bus.gather(NETWORK_SERVERS, Buffer.from(organizationId), ASK_MS)
      const others = answers.map(({ body }) => valueOf(body) as NetworkServersSeen)
      return [serversHere(organizationId), ...others].reduce(joined)
    },
  }
}

/** The first Sessions that are meant. */
function pick(broker: Pick<Broker, 'sessions'>, asked: SessionsAsked): readonly SessionView[] {
  const { organizationId, userId, clientId, reads, limit } = asked
  const identity = userId === undefined ? undefined : identityOf(userId)
  const found: SessionView[] = []
  for (const view of broker.sessions(organizationId === undefined ? undefined : tenantOf(organizationId))) {
    if (found.length >= limit) break
    const isMeant =
      (clientId === undefined || view.clientId === clientId) &&
      (identity === undefined || ownerOf(view.identity) === identity) &&
      (reads === undefined || view.reads(reads))
    if (isMeant) found.push(view)
  }
  return found
}

/** The messages that wait are counted only for a client that is asked for: it takes reading. */
async function kept(view: SessionView, counts: boolean): Promise<KeptSession> {
  return {
    holder: readHolder(view),
    clientId: view.clientId,
    isConnected: view.isConnected,
    ...given({ awaySinceMs: view.awaySinceMs, unacknowledgedSinceMs: view.unacknowledgedSinceMs }),
    expirySeconds: view.expirySeconds,
    topicFilters: view.topicFilters(SHOWN_FILTERS),
    topicFilterCount: view.topicFilterCount,
    sharedTopicFilters: view.sharedTopicFilters(SHOWN_FILTERS),
    unacknowledged: view.unacknowledged,
    sendMaximum: view.sendMaximum,
    isCongested: view.isCongested,
    waiting: counts ? await view.waiting() : { messages: 0, isAll: false },
  }
}

function joined(one: NetworkServersSeen, other: NetworkServersSeen): NetworkServersSeen {
  return {
    ofOrganization: later(one.ofOrganization, other.ofOrganization),
    ofDeployment: later(one.ofDeployment, other.ofDeployment),
  }
}

/** The presence at two nodes together. */
function later(one: Presence, other: Presence): Presence {
  if (one === 'connected' || other === 'connected') return 'connected'
  if (one === undefined || other === undefined) return one ?? other
  return Math.max(one, other)
}

function jsonOf(value: object): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function valueOf(body: Buffer): unknown {
  return JSON.parse(body.toString())
}
