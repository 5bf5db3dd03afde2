/**
 * The connections and refusals of all nodes. Each node has its own in its memory; the asked node
 * gathers them, and names the nodes that do not answer in time.
 */
import { given } from '../given.ts'
import type {
  BrokerViews,
  ConnectionsAsked,
  HolderIds,
  KeptRefusal,
  LiveConnection,
  UnmatchedFilter,
} from '../http/operation/broker-views.ts'
import type { Bus, NodeId } from '../nodes.ts'
import { Fitting } from './fitting.ts'

/** How long the nodes are asked: a person waits. */
const ASK_MS = 500
/**
 * The newest connections of a node among which a page is looked for, some 45 bytes each. Beyond it
 * a page shows nothing more of the node, and a search still finds everything.
 */
const MAXIMUM_REACH = 13_000
/** The questions for the connections of one page; each answer has as many as fit. */
const MAXIMUM_QUESTIONS = 20
/** Topic Filters of a connection that are shown. */
const SHOWN_FILTERS = 50
/** Topic Filters that one answer looks at: each may cost a look-up of its device. */
const MAXIMUM_EXPLAINED = 2_000

const CONNECTIONS = 'views.connections'
const DETAILS = 'views.connection-details'
const END = 'views.end-connection'
const TOKENS = 'views.connections-with'
const REFUSALS = 'views.refusals'

type RefusalsOf = Parameters<BrokerViews['refusals']>[0]

/** The newest of a node's connections that are meant: ids, and when they were opened. */
interface Keys {
  readonly totalCount: number
  readonly keys: readonly (readonly [string, number])[]
}

type WireFacts = Omit<LiveConnection['facts'], 'unmatchedFilters'> & { readonly unmatched: readonly UnmatchedFilter[] }

interface WireConnection {
  readonly id: string
  readonly holder: Partial<HolderIds>
  readonly facts: WireFacts
}

type WireRefusal = Omit<KeptRefusal, 'holder'> & { readonly holder: Partial<HolderIds> }

/**
 * Makes the views of all nodes from those of this one, and answers the other nodes. The id of a
 * connection has to begin with the incarnation of its node, and `-`.
 */
export function createViewsOfNodes(here: BrokerViews, bus: Bus): BrokerViews {
  serve(here, bus)
  return {
    connections: (asked) => connectionsOfNodes(here, bus, asked),

    async connection(id) {
      if (isOf(bus.self.incarnation, id)) return here.connection(id)
      const [found] = await detailsOf([id], (body) => askAll(bus, body))
      return found
    },

    async endConnection(id) {
      if (isOf(bus.self.incarnation, id)) return here.endConnection(id)
      const { answers } = await bus.gather(END, Buffer.from(id), ASK_MS)
      return answers.some(({ body }) => body.toString() === 'ended')
    },

    async connectionsWith(tokenIds) {
      const counts = new Map((await here.connectionsWith(tokenIds)).counts)
      const { answers, missing } = await bus.gather(TOKENS, jsonOf(tokenIds), ASK_MS)
      for (const { body } of answers) {
        for (const [id, count] of valueOf(body) as readonly (readonly [string, number])[]) {
          counts.set(id, (counts.get(id) ?? 0) + count)
        }
      }
      return { counts, missing: missing.map(({ name }) => name) }
    },

    async refusals(of) {
      const [own, { answers, missing }] = await Promise.all([
        here.refusals(of),
        bus.gather(REFUSALS, jsonOf(of), ASK_MS),
      ])
      const others = answers.flatMap(({ body }) => (valueOf(body) as readonly WireRefusal[]).map(refusalFrom))
      const items = [...own.items, ...others].toSorted((one, other) => other.atMs - one.atMs)
      return { items, missing: missing.map(({ name }) => name) }
    },
  }
}

async function connectionsOfNodes(here: BrokerViews, bus: Bus, asked: ConnectionsAsked) {
  const { offset, limit } = asked
  const reach = { ...asked, offset: 0, limit: offset + limit }
  const [own, { answers, missing }] = await Promise.all([
    here.connections(reach),
    bus.gather(CONNECTIONS, jsonOf(reach), ASK_MS),
  ])
  const ownById = new Map(own.items.map((connection) => [connection.id, connection]))
  const keys = own.items.map(({ id, facts }) => [id, facts.openedAtMs] as const)
  let { totalCount } = own
  const nodeOf = new Map<string, NodeId>()
  for (const { from, body } of answers) {
    const found = valueOf(body) as Keys
    totalCount += found.totalCount
    keys.push(...found.keys)
    for (const [id] of found.keys) nodeOf.set(id, from)
  }
  const page = keys.toSorted(([, one], [, other]) => other - one).slice(offset, offset + limit)
  // A node that has not answered is not asked again.
  const ids = Map.groupBy(
    page.map(([id]) => id).filter((id) => nodeOf.has(id)),
    (id) => nodeOf.get(id) as NodeId,
  )
  const details = await Promise.all([...ids].map(([node, its]) => detailsOf(its, (body) => askOne(bus, node, body))))
  const others = new Map(details.flat().map((connection) => [connection.id, connection]))
  // A connection that has ended meanwhile is left out.
  const items = page.map(([id]) => ownById.get(id) ?? others.get(id)).filter((found) => found !== undefined)
  return { totalCount, items, missing: missing.map(({ name }) => name) }
}

type AskForDetails = (ids: Buffer) => Promise<readonly Buffer[]>

async function askAll(bus: Bus, ids: Buffer): Promise<readonly Buffer[]> {
  return (await bus.gather(DETAILS, ids, ASK_MS)).answers.map(({ body }) => body)
}

/** A node that does not answer any more has nothing to show. */
async function askOne(bus: Bus, node: NodeId, ids: Buffer): Promise<readonly Buffer[]> {
  return bus.request(node, DETAILS, ids, ASK_MS).then(
    (body) => [body],
    () => [],
  )
}

/** The connections of other nodes with these ids, as far as they are still there. */
async function detailsOf(ids: readonly string[], ask: AskForDetails): Promise<readonly LiveConnection[]> {
  const found: LiveConnection[] = []
  let left: readonly string[] = ids
  for (let questions = 0; left.length > 0 && questions < MAXIMUM_QUESTIONS; questions += 1) {
    const came = (await ask(jsonOf(left))).flatMap((body) => valueOf(body) as readonly WireConnection[])
    if (came.length === 0) break
    found.push(...came.map(connectionFrom))
    const known = new Set(came.map(({ id }) => id))
    left = left.filter((id) => !known.has(id))
  }
  return found
}

/** Answers the other nodes with the things of this one. */
function serve(here: BrokerViews, bus: Bus): void {
  bus.serve(CONNECTIONS, async (body) => {
    const asked = valueOf(body) as ConnectionsAsked
    const { totalCount, items } = await here.connections({ ...asked, limit: Math.min(asked.limit, MAXIMUM_REACH) })
    return jsonOf({ totalCount, keys: items.map(({ id, facts }) => [id, facts.openedAtMs] as const) } satisfies Keys)
  })
  bus.serve(DETAILS, async (body) => {
    const own = (valueOf(body) as readonly string[]).filter((id) => isOf(bus.self.incarnation, id))
    const fitting = new Fitting<WireConnection>()
    let left = MAXIMUM_EXPLAINED
    for (const id of own) {
      const connection = await here.connection(id)
      if (connection === undefined) continue
      const maximum = Math.min(left, SHOWN_FILTERS)
      left -= Math.min(connection.facts.topicFilterCount, maximum)
      if (!fitting.add(await wireOf(connection, maximum))) break
    }
    return jsonOf(fitting.items)
  })
  bus.serve(END, async (body) => Buffer.from((await here.endConnection(body.toString())) ? 'ended' : ''))
  bus.serve(TOKENS, async (body) => {
    const { counts } = await here.connectionsWith(valueOf(body) as readonly string[])
    return jsonOf([...counts])
  })
  bus.serve(REFUSALS, async (body) => {
    const fitting = new Fitting<KeptRefusal>()
    for (const refusal of (await here.refusals(valueOf(body) as RefusalsOf)).items) if (!fitting.add(refusal)) break
    return jsonOf(fitting.items)
  })
}

async function wireOf({ id, holder, facts }: LiveConnection, maximum: number): Promise<WireConnection> {
  const { clientId, peer, protocolVersion, openedAtMs, keepAliveSeconds, topicFilterCount } = facts
  const { messagesIn, messagesOut, bytesIn, bytesOut } = facts.carried
  return {
    id,
    holder,
    facts: {
      clientId,
      peer: { address: peer.address, listener: peer.listener },
      protocolVersion,
      openedAtMs,
      keepAliveSeconds,
      topicFilters: facts.topicFilters.slice(0, SHOWN_FILTERS),
      topicFilterCount,
      unmatched: maximum === 0 ? [] : await facts.unmatchedFilters(maximum),
      carried: { messagesIn, messagesOut, bytesIn, bytesOut },
      rates: facts.rates,
    },
  }
}

function connectionFrom({ id, holder, facts: { unmatched, ...facts } }: WireConnection): LiveConnection {
  return { id, holder: holderFrom(holder), facts: { ...facts, unmatchedFilters: async () => unmatched } }
}

function refusalFrom({ holder, ...refusal }: WireRefusal): KeptRefusal {
  return { ...refusal, holder: holderFrom(holder) }
}

function holderFrom(holder: Partial<HolderIds>): HolderIds {
  const { organizationId, userId, apiKeyId, serviceCredentialId, tokenId } = holder
  return { organizationId, userId, ...given({ apiKeyId }), serviceCredentialId, tokenId }
}

function isOf(incarnation: string, id: string): boolean {
  return id.startsWith(`${incarnation}-`)
}

function jsonOf(value: object): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function valueOf(body: Buffer): unknown {
  return JSON.parse(body.toString())
}
