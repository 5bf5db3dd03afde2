/** The past: retained messages that outlive the log, and events of an owner before this one. */
import { randomUUID } from 'node:crypto'
import { jetstreamManager } from '@nats-io/jetstream'
import type { StreamConfig } from '@nats-io/jetstream'
import type { Login } from '../../support/wire-client.ts'
import type { Cluster } from '../cluster.ts'
import { noFakeClock } from '../cluster-node.ts'
import type { ClusterNode } from '../cluster-node.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { until } from '../until.ts'
import { messagesSoFar, messagesUntil, publishFully } from '../wire-steps.ts'
import { retainedAt } from './kept.ts'

const LONGEST_MS = 60_000
const CLOCK_SECONDS = 60
const LOG_STREAM = /-log-\d+$/
const NANOSECONDS_PER_SECOND = 1_000_000_000
/** Events of the owner before. */
const EVENTS_BEFORE = 5

export const PAST: readonly Scenario[] = [
  { number: 9.1, title: 'retained messages after retention took them from the log', nodes: 1, run: afterRetention },
  {
    number: 36.1,
    title: 'a wrong clock shows no past of another tenant',
    nodes: 1,
    impossible: noFakeClock,
    run: pastOfAnother,
  },
]

async function afterRetention(stage: Stage): Promise<void> {
  const { cluster, load } = stage
  const topic = await stage.newTopic()
  const gone = await stage.newTopic()
  const publisher = await stage.connectPublisher(stage.node(stage.anyPlace()))
  await publishFully(publisher, topic, 'kept', { retain: true })
  await publishFully(publisher, gone, 'removed', { retain: true })
  await publishFully(publisher, gone, '', { retain: true })
  // Nobody reads then, so retention takes nothing that somebody waits for.
  await load.quietly(async () => stage.bar('until retention had taken all', await emptyLog(cluster), LONGEST_MS))
  const look = async (when: string): Promise<void> => {
    const [kept, removed] = [await retainedAt(stage, topic), await retainedAt(stage, gone)]
    stage.must(
      kept.every((text) => text === 'kept'),
      `${when} the nodes retained ${kept.join()}`,
    )
    stage.must(
      removed.every((text) => text === ''),
      `${when} the nodes retained a removed message`,
    )
  }
  await look('after retention')
  await Promise.all(stage.nodes.map((node) => node.kill()))
  for (const node of stage.nodes) await node.start()
  load.goHome()
  await look('after retention, and kill -9 of all nodes,')
  await publishFully(await stage.connectPublisher(stage.node(stage.anyPlace())), topic, '', { retain: true })
  const isRemoved = async (): Promise<boolean> => (await retainedAt(stage, topic)).every((text) => text === '')
  stage.bar('until no node retained it', await until(isRemoved, LONGEST_MS), 1_000)
}

/** Lets retention take all messages, and gives the streams their age again. Returns the ms. */
async function emptyLog(cluster: Cluster): Promise<number> {
  const connection = await cluster.servers.connect()
  const manager = await jetstreamManager(connection)
  const before: StreamConfig[] = []
  for await (const { config } of manager.streams.list()) if (LOG_STREAM.test(config.name)) before.push(config)
  if (before.length === 0) throw new Error('there is no log')
  const short = { max_age: NANOSECONDS_PER_SECOND, duplicate_window: NANOSECONDS_PER_SECOND }
  try {
    for (const config of before) await manager.streams.update(config.name, { ...config, ...short })
    return await until(async () => {
      const infos = await Promise.all(before.map(({ name }) => manager.streams.info(name)))
      return infos.every(({ state }) => state.messages === 0)
    }, LONGEST_MS)
  } finally {
    for (const config of before) await manager.streams.update(config.name, config)
    await connection.close()
  }
}

async function pastOfAnother(stage: Stage): Promise<void> {
  const { load } = stage
  const place = stage.anyPlace()
  const wrong = stage.node(place)
  for (const seconds of [CLOCK_SECONDS, -CLOCK_SECONDS]) {
    await wrong.stop()
    await wrong.start(seconds)
    load.goHome()
    await newOwner(stage, wrong, `made by a node whose clock is ${seconds} s off`)
  }
  await wrong.stop()
  await wrong.start()
  load.goHome()
}

/** An application is removed, and made anew for another organization by the node. */
async function newOwner(stage: Stage, node: ClusterNode, words: string): Promise<void> {
  const { deployment } = stage
  const [before, after] = [deployment.administration(), deployment.administration(node)]
  const id = randomUUID()
  await before.application(await before.organization(), { id })
  const devEui = await before.device(id)
  const topic = `application/${id}/device/${devEui}/event/join`
  const publisher = await stage.connectPublisher(stage.node(0))
  await publishFully(publisher, topic, 'old and retained', { retain: true })
  for (let number = 0; number < EVENTS_BEFORE; number += 1) await publishFully(publisher, topic, `old ${number}`)
  await before.must('DELETE', `/api/applications/${id}`)
  await goneEverywhere(stage, devEui)
  const organizationId = await after.organization()
  await after.application(organizationId, { id })
  await after.must('POST', '/api/devices', { device: { devEUI: devEui, applicationID: id } })
  const { session } = await after.person([{ organizationId }])
  const login = { username: await after.brokerToken(session, organizationId), password: 'default' }
  const seenBy = stage.nodes.map((one) => ({ one, login, topic, devEui, words }))
  for (const each of seenBy) await seesNothing(stage, each)
  await publishFully(publisher, topic, 'new')
  for (const each of seenBy) await seesNew(stage, each)
}

interface Looking {
  readonly one: ClusterNode
  readonly login: Login
  readonly topic: string
  readonly devEui: string
  readonly words: string
}

async function seesNothing(stage: Stage, { one, login, topic, devEui, words }: Looking): Promise<void> {
  const { client } = await stage.connect(one, { clientId: stage.unique('scene-past'), login })
  for (const filter of [topic, `$replay/2020-01-01T00:00:00Z/${topic}`]) {
    stage.must((await client.subscribe(filter, 1)) < 0x80, `${words}: ${one.name} refuses ${filter}`)
    const texts = (await messagesSoFar(client)).map(({ payload }) => payload.toString())
    stage.must(texts.length === 0, `${words}: ${one.name} showed ${texts.join(', ')} to another tenant`)
  }
  client.destroy()
  const old = await historyAt(one, devEui)
  stage.must(old === 0, `${words}: the history at ${one.name} has ${old} events of another tenant`)
}

async function seesNew(stage: Stage, { one, login, topic, devEui, words }: Looking): Promise<void> {
  const { client } = await stage.connect(one, { clientId: stage.unique('scene-past'), login })
  stage.must((await client.subscribe(`$replay/2020-01-01T00:00:00Z/${topic}`, 1)) < 0x80, `${words}: no replay`)
  const texts = await messagesUntil(client, 'new').catch(() => ['nothing'])
  stage.must(texts.join() === 'new', `${words}: ${one.name} replayed ${texts.join(', ')}`)
  client.destroy()
  const events = await historyAt(one, devEui)
  stage.must(events === 1, `${words}: the history at ${one.name} has ${events} events in the place of one`)
}

async function historyAt(node: ClusterNode, devEui: string): Promise<number> {
  const { result } = await node.http.must('GET', `/api/devices/${devEui}/events?limit=100`, {
    token: node.adminSession,
  })
  return Array.isArray(result) ? result.length : 0
}

/** Devices of a removed application are deleted afterwards. */
async function goneEverywhere(stage: Stage, devEui: string): Promise<void> {
  const isGone = async (): Promise<boolean> => {
    const answers = await Promise.all(
      stage.nodes.map((node) => node.http.ask('GET', `/api/devices/${devEui}`, { token: node.adminSession })),
    )
    return answers.every(({ status }) => status === 404)
  }
  stage.must((await until(isGone, LONGEST_MS)) < Infinity, `the device ${devEui} stays after its application`)
}
