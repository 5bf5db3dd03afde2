/** The views of administrators, who may ask any node for what each node has in its memory. */
import { textIn } from '../../support/https-client.ts'
import type { ClusterNode } from '../cluster-node.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { until } from '../until.ts'

const LONGEST_MS = 10_000
/** A node that waits for a silent one answers within this time. Each question waits for 0.5 s. */
const ANSWER_MS = 2_000

export const VIEWS: readonly Scenario[] = [
  { number: 30.1, title: 'connections, refusals and tokens by each node', nodes: 2, run: sameViews },
]

/** The things that a view of an organization shows, as texts in one order. */
interface Seen {
  readonly connections: readonly string[]
  readonly refusals: readonly string[]
  /** Each token with the number of its connections. */
  readonly tokens: readonly string[]
  /** By view: the nodes that it names as silent. */
  readonly missing: readonly string[]
}

type Item = Readonly<Record<string, unknown>>

async function sameViews(stage: Stage): Promise<void> {
  const { deployment, nodes } = stage
  const administration = deployment.administration()
  const organizationId = await administration.organization()
  const { session } = await administration.person([{ organizationId }])
  const username = await administration.brokerToken(session, organizationId)
  const login = { username, password: 'default' }
  for (const node of nodes) {
    const { client } = await stage.connect(node, { clientId: `view-${node.name}`, login })
    const code = await client.subscribe(deployment.neighbour.eventFilter)
    stage.must(code >= 0x80, `${node.name} lets a stranger subscribe`)
  }
  const { connections, refusals, tokens } = await sameAtAll(stage, organizationId)
  const each = nodes.map(({ name }) => `view-${name}`)
  const sorted = each.toSorted().join()
  stage.must(connections.map(clientOf).join() === sorted, `the nodes show the connections ${connections.join()}`)
  stage.must(refusals.map(clientOf).join() === sorted, `the nodes show the refusals ${refusals.join()}`)
  stage.must(tokens.join().endsWith(` ${nodes.length}`), `the nodes count ${tokens.join()}`)
  await silentNode(stage, organizationId)
  await endFromElsewhere(stage, organizationId)
}

/** All nodes show the same, and none is missing. Returns it. */
async function sameAtAll(stage: Stage, organizationId: string): Promise<Seen> {
  const [first, ...others] = await Promise.all(stage.nodes.map((node) => look(node, organizationId)))
  if (first === undefined) throw new Error('there is no node')
  for (const other of others)
    stage.must(JSON.stringify(other) === JSON.stringify(first), 'two nodes show different things')
  stage.must(first.missing.length === 0, `a view misses ${first.missing.join()}, which serves`)
  return first
}

/** A node that is paused is named by all views of the others, which show all the rest. */
async function silentNode(stage: Stage, organizationId: string): Promise<void> {
  const place = stage.anyPlace()
  const [silent, ...others] = [...stage.nodes.slice(place), ...stage.nodes.slice(0, place)]
  if (silent === undefined) return
  silent.pause()
  try {
    const startMs = performance.now()
    const seen = await Promise.all(others.map((node) => look(node, organizationId)))
    stage.bar(`views of the others while ${silent.name} is silent`, performance.now() - startMs, ANSWER_MS)
    for (const [number, { connections, refusals, tokens, missing }] of seen.entries()) {
      const at = others[number]?.name ?? ''
      const expected = others
        .map(({ name }) => `view-${name}`)
        .toSorted()
        .join()
      stage.must(connections.map(clientOf).join() === expected, `${at} shows ${connections.join()}`)
      stage.must(refusals.map(clientOf).join() === expected, `${at} shows the refusals ${refusals.join()}`)
      stage.must(tokens.join().endsWith(` ${others.length}`), `${at} counts ${tokens.join()}`)
      const named = ['connections', 'refusals', 'tokens', 'status of a token'].map((view) => `${view}: ${silent.name}`)
      stage.must(missing.join() === named.join(), `${at} names as silent: ${missing.join() || 'nobody'}`)
    }
  } finally {
    silent.resume()
  }
  const isWhole = async (): Promise<boolean> => {
    const seen = await Promise.all(stage.nodes.map((node) => look(node, organizationId).catch(() => undefined)))
    return seen.every((one) => one?.missing.length === 0)
  }
  const wholeMs = await until(isWhole, LONGEST_MS)
  stage.bar(`until ${silent.name} answered again`, wholeMs, LONGEST_MS)
}

/** A connection ends at the wish of an administrator at another node. */
async function endFromElsewhere(stage: Stage, organizationId: string): Promise<void> {
  const place = stage.anyPlace()
  const [at, from] = [stage.node(place), stage.node(place + 1)]
  const found = await listOf(at, `/api/connections?limit=100&organizationID=${organizationId}`)
  const connection = found.items.find(({ clientID }) => clientID === `view-${at.name}`)
  // A silent node that was given up has ended, and its clients with it.
  if (connection === undefined) return
  const { status } = await from.http.ask('DELETE', `/api/connections/${textIn(connection, 'id')}`, {
    token: from.adminSession,
  })
  stage.must(status === 200, `${from.name} answers ${status} to the end of a connection at ${at.name}`)
  const isGone = async (): Promise<boolean> =>
    !(await look(from, organizationId)).connections.some((one) => clientOf(one) === `view-${at.name}`)
  stage.bar(`until ${from.name} has ended a connection at ${at.name}`, await until(isGone, LONGEST_MS), ANSWER_MS)
}

async function look(node: ClusterNode, organizationId: string): Promise<Seen> {
  const of = `limit=100&organizationID=${organizationId}`
  const [connections, refusals, tokens] = await Promise.all([
    listOf(node, `/api/connections?${of}`),
    listOf(node, `/api/refusals?${of}`),
    listOf(node, `/api/broker-tokens?${of}`),
  ])
  const [token = {}] = tokens.items
  const status = await node.http.must('GET', `/api/broker-tokens/${textIn(token, 'id')}/status`, {
    token: node.adminSession,
  })
  const silent = { connections, refusals, tokens, 'status of a token': { missing: missingIn(status) } }
  return {
    connections: connections.items.map(({ clientID, id }) => `${String(clientID)} ${String(id)}`).toSorted(),
    refusals: refusals.items.map((one) => `${String(one['clientID'])} ${String(one['code'])}`).toSorted(),
    tokens: tokens.items.map((one) => `${String(one['id'])} ${String(one['connections'])}`),
    missing: Object.entries(silent).flatMap(([view, { missing }]) => missing.map((name) => `${view}: ${name}`)),
  }
}

async function listOf(
  node: ClusterNode,
  path: string,
): Promise<{ readonly items: readonly Item[]; readonly missing: readonly string[] }> {
  const answer = await node.http.must('GET', path, { token: node.adminSession })
  const { result } = answer
  return { items: Array.isArray(result) ? (result as Item[]) : [], missing: missingIn(answer) }
}

function missingIn({ missingNodes }: Item): readonly string[] {
  return Array.isArray(missingNodes) ? missingNodes.map(String) : []
}

/** The client of a connection or a refusal. */
function clientOf(text: string): string {
  return text.split(' ')[0] ?? ''
}
