/** Retained messages and Will Messages. */
import type { ClusterNode } from '../cluster-node.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { until } from '../until.ts'
import { messagesSoFar, messagesUntil, publishFully } from '../wire-steps.ts'

const AGREE_MS = 1_000
const PATIENCE_MS = 20_000
const DELAY_SECONDS = 2
const SILENT_NODE_MS = 15_000

export const KEPT: readonly Scenario[] = [
  { number: 7, title: 'kill -9 of each node: a shared subscription goes on', nodes: 2, run: killGroupHome },
  { number: 8, title: 'retained messages, overwritten by all nodes at once, and removed', nodes: 1, run: retained },
  { number: 9, title: 'retained messages after a restart of all nodes', nodes: 1, run: retainedAfterRestart },
  { number: 10, title: 'the Will of a broken connection, with and without delay', nodes: 1, run: willOfConnection },
  { number: 10.1, title: 'the Will of a killed node', nodes: 2, run: willOfNode },
]

async function killGroupHome(stage: Stage): Promise<void> {
  const { load } = stage
  const count = (): number => load.clients.members.reduce((sum, member) => sum + member.count, 0)
  for (const node of stage.nodes) {
    await node.kill()
    const before = count()
    // So many can't have been on their way.
    const tookMs = await until(() => count() > before + 100, PATIENCE_MS)
    stage.bar(`until the group got messages without ${node.name}`, tookMs, 10_000)
    await node.start()
    load.goHome()
  }
}

/** The retained messages that a fresh subscription at each node gets. */
export async function retainedAt(stage: Stage, topic: string): Promise<string[]> {
  return Promise.all(
    stage.nodes.map(async (node) => {
      const { client } = await stage.connect(node, { clientId: stage.unique('scene-reader') })
      await client.subscribe(topic, 1)
      const texts = (await messagesSoFar(client)).map(({ payload }) => payload.toString())
      client.destroy()
      return texts.join('+')
    }),
  )
}

async function retained(stage: Stage): Promise<void> {
  const topic = await stage.newTopic()
  const publishers = await Promise.all(stage.nodes.map((node) => stage.connectPublisher(node)))
  await Promise.all(
    publishers.map((publisher, number) => publishFully(publisher, topic, `by ${number}`, { retain: true })),
  )
  let texts: string[] = []
  const agree = async (): Promise<boolean> => {
    texts = await retainedAt(stage, topic)
    return /^by \d$/.test(texts[0] ?? '') && texts.every((text) => text === texts[0])
  }
  const agreeMs = await until(agree, PATIENCE_MS)
  stage.bar(`until all nodes retained ${texts.join(', ')}`, agreeMs, AGREE_MS)
  const remover = publishers[stage.anyPlace()]
  if (remover !== undefined) await publishFully(remover, topic, '', { retain: true })
  const goneMs = await until(async () => (await retainedAt(stage, topic)).every((text) => text === ''), PATIENCE_MS)
  stage.bar('until no node retained it', goneMs, AGREE_MS)
}

async function retainedAfterRestart(stage: Stage): Promise<void> {
  const topic = await stage.newTopic()
  await publishFully(await stage.connectPublisher(stage.node(0)), topic, 'kept', { retain: true })
  await Promise.all(stage.nodes.map((node) => node.stop()))
  for (const node of stage.nodes) await node.start()
  const texts = await retainedAt(stage, topic)
  stage.must(
    texts.every((text) => text === 'kept'),
    `after a restart the nodes retained ${texts.join(', ')}`,
  )
  await publishFully(await stage.connectPublisher(stage.node(0)), topic, '', { retain: true })
}

async function willOfConnection(stage: Stage): Promise<void> {
  const [at, far] = [stage.node(0), stage.node(1)]
  const tookMs = await willTime(stage, far, async (topic) => {
    const { client } = await connectWithWill(stage, at, topic, 0)
    client.destroy()
  })
  stage.bar('until the Will of a broken connection came', tookMs, 1_000)
  const delayedMs = await willTime(stage, far, async (topic) => {
    const { client } = await connectWithWill(stage, at, topic, DELAY_SECONDS)
    client.destroy()
  })
  stage.must(delayedMs >= DELAY_SECONDS * 1_000 - 100, `the Will came ${Math.round(delayedMs)} ms after the connection`)
  stage.bar('until the delayed Will came', delayedMs, DELAY_SECONDS * 1_000 + 2_000)
}

async function willOfNode(stage: Stage): Promise<void> {
  const place = stage.anyPlace()
  const [at, far] = [stage.node(place), stage.node(place + 1)]
  const tookMs = await willTime(stage, far, async (topic) => {
    await connectWithWill(stage, at, topic, 0)
    await at.kill()
  })
  stage.bar(`until the Will of a client of the killed ${at.name} came`, tookMs, SILENT_NODE_MS)
}

async function connectWithWill(stage: Stage, node: ClusterNode, topic: string, delaySeconds: number) {
  const properties = { willDelayInterval: delaySeconds }
  const will = { topic, payload: Buffer.from('will'), qos: 1 as const, retain: false, properties }
  const { networkServer: login } = stage.deployment
  return stage.connect(node, { clientId: stage.unique('scene-will'), login, clean: false, will })
}

/** The time until a reader at the node gets the Will (ms); it must get it once. */
async function willTime(stage: Stage, node: ClusterNode, die: (topic: string) => Promise<void>): Promise<number> {
  const topic = await stage.newTopic()
  const { client: reader } = await stage.connect(node, { clientId: stage.unique('scene-reader') })
  await reader.subscribe(topic, 1)
  await die(topic)
  const startMs = performance.now()
  await messagesUntil(reader, 'will')
  const tookMs = performance.now() - startMs
  await publishFully(await stage.connectPublisher(node), topic, 'after')
  const after = await messagesUntil(reader, 'after')
  stage.must(after.length === 1, `the Will came ${after.length} times`)
  return tookMs
}
