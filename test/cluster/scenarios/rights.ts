/** Rights that end on one node, for connections of all nodes. */
import { WireClient } from '../../support/wire-client.ts'
import type { Login } from '../../support/wire-client.ts'
import type { Administration } from '../../support/administration.ts'
import type { ClusterNode } from '../cluster-node.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { until } from '../until.ts'
import { publishFully } from '../wire-steps.ts'

const ROUNDS = 4
/** The bar for the end of a connection, ms. */
const ENDS_MS = 1_000
/** A connection that is there after this time stays, ms. */
const PATIENCE_MS = 5_000

export const RIGHTS: readonly Scenario[] = [
  { number: 11, title: 'a right ends on A', nodes: 1, run: rightsEnd },
  { number: 12, title: 'a right ends on A while B is cut from PostgreSQL, or from NATS', nodes: 2, run: farAway },
]

/** A login, and the way in which an administrator ends it. */
interface Right {
  readonly title: string
  readonly login: Login
  /** A topic that it may read, where its right is about a topic. */
  readonly topic?: string
  /** True: the login itself stays good. */
  readonly isAboutTopic?: boolean
  end(administration: Administration): Promise<unknown>
}

/** A fresh right of each kind. */
async function freshRights(administration: Administration): Promise<Right[]> {
  const member = async () => {
    const organizationId = await administration.organization()
    const { id, session } = await administration.person([{ organizationId }])
    const username = await administration.brokerToken(session, organizationId)
    return { organizationId, id, username, login: { username, password: 'default' } }
  }
  const [revoked, removed, inactive] = [await member(), await member(), await member()]
  const [ofApplication, ofOrganization] = [await member(), await member()]
  const applicationId = await administration.application(ofApplication.organizationId)
  const credential = await administration.serviceCredential('')
  return [
    { title: 'a token', login: revoked.login, end: (by) => by.revokeToken(revoked.username) },
    {
      title: 'a membership',
      login: removed.login,
      end: (by) => by.must('DELETE', `/api/organizations/${removed.organizationId}/users/${removed.id}`),
    },
    {
      title: 'a user',
      login: inactive.login,
      end: (by) => by.must('PUT', `/api/users/${inactive.id}`, { user: { isActive: false } }),
    },
    {
      title: 'an organization',
      login: ofOrganization.login,
      end: (by) => by.must('DELETE', `/api/organizations/${ofOrganization.organizationId}`),
    },
    {
      title: 'a service credential',
      login: { username: credential.userName, password: credential.password },
      end: (by) => by.must('DELETE', `/api/service-credentials/${credential.id}`),
    },
    {
      title: 'an application',
      login: ofApplication.login,
      topic: `application/${applicationId}/device/+/event/+`,
      isAboutTopic: true,
      end: (by) => by.must('DELETE', `/api/applications/${applicationId}`),
    },
  ]
}

async function rightsEnd(stage: Stage): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const at = stage.node(round)
    const administration = stage.deployment.administration(at)
    for (const right of await freshRights(administration)) await endRight(stage, right, administration, stage.nodes)
  }
}

/** Ends the right, and looks at a connection on each of these nodes. */
async function endRight(
  stage: Stage,
  right: Right,
  administration: Administration,
  nodes: readonly ClusterNode[],
): Promise<void> {
  const { title, login, topic } = right
  const clients = await Promise.all(
    nodes.map(async (node) => {
      const { client } = await stage.connect(node, { clientId: stage.unique('scene-right'), login })
      if (topic !== undefined) await client.subscribe(topic)
      return client
    }),
  )
  const ends = clients.map((client) => endOf(client))
  await right.end(administration)
  stage.bar(`${title}: the last connection ends`, Math.max(...(await timesOf(ends))), ENDS_MS)
  for (const node of nodes) {
    const client = await WireClient.open(node, 5)
    const code = await client.connect(login, { clientId: stage.unique('scene-right') })
    if (right.isAboutTopic !== true) stage.must(code !== 0, `${title}: ${node.name} accepts a new CONNECT`)
    else if (topic !== undefined) {
      const isGranted = code === 0 && (await client.subscribe(topic)) < 0x80
      stage.must(!isGranted, `${title}: ${node.name} grants a new SUBSCRIBE`)
    }
    client.destroy()
  }
}

/** The end of a connection, to be waited for. */
interface ConnectionEnd {
  hasCome: boolean
}

function endOf(client: WireClient): ConnectionEnd {
  const end = { hasCome: false }
  void client.rest().then(
    () => (end.hasCome = true),
    // It stays for longer than anybody waits.
    () => {},
  )
  return end
}

/** The times from now to these ends, ms; Infinity: it does not come. */
function timesOf(ends: readonly ConnectionEnd[]): Promise<number[]> {
  return Promise.all(ends.map((end) => until(() => end.hasCome, PATIENCE_MS)))
}

async function farAway(stage: Stage): Promise<void> {
  const place = stage.anyPlace()
  const [a, b] = [stage.node(place), stage.node(place + 1)]
  const administration = stage.deployment.administration(a)
  for (const right of await freshRights(administration)) {
    const { client } = await stage.connect(b, { clientId: stage.unique('scene-right'), login: right.login })
    if (right.topic !== undefined) await client.subscribe(right.topic)
    b.cut('postgresql', 'silent')
    const end = endOf(client)
    await right.end(administration)
    const [endMs = Infinity] = await timesOf([end])
    b.mend()
    stage.bar(`${right.title}: ends at ${b.name}, which has lost PostgreSQL`, endMs, ENDS_MS)
  }
  await cutFromNats(stage, a, b)
}

/** A node that is cut from NATS delivers nothing that is newer than the cut. */
async function cutFromNats(stage: Stage, a: ClusterNode, b: ClusterNode): Promise<void> {
  const topic = await stage.newTopic()
  const { client } = await stage.connect(b, { clientId: stage.unique('scene-right') })
  await client.subscribe(topic)
  const publisher = await stage.connectPublisher(a)
  b.cut('nats', 'cut')
  await publishFully(publisher, topic, 'newer than the cut')
  const packets = await client.ping().catch(() => 'closed' as const)
  const isSilent = packets === 'closed' || packets.every((packet) => packet.cmd !== 'publish')
  stage.must(isSilent, `${b.name} delivered a message that it could not know`)
  b.mend()
}
