/** Nodes that are killed, ended in order, paused, and whose clocks are wrong. */
import { setTimeout as sleep } from 'node:timers/promises'
import { OTHER_VERSION, noFakeClock, noOtherVersion } from '../cluster-node.ts'
import type { ClusterNode } from '../cluster-node.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { until } from '../until.ts'
import { messagesUntil, publishFully } from '../wire-steps.ts'

/** Messages that are acknowledged before a fault, so that it comes in the middle of the load. */
const BEFORE = 100
const LONGEST_MS = 60_000
/** A replaced node ends within this time, ms. */
const ENDS_BY_ITSELF_MS = 10_000
const SHORT_PAUSE_MS = 1_000
const LONG_PAUSE_MS = 15_000
const CLOCK_SECONDS = 60
const DRAIN_SECONDS = 3

export const NODES: readonly Scenario[] = [
  { number: 13, title: 'kill -9 of a node', nodes: 1, run: killNode },
  { number: 14, title: 'SIGTERM of each node in turn', nodes: 1, run: endEachNode },
  { number: 15, title: 'SIGSTOP of a node, for 1 s and for 15 s', nodes: 2, run: pauseNode },
  {
    number: 34,
    title: 'each node is drained in turn, and starts again',
    nodes: 2,
    run: (stage) => drainEachNode(stage),
  },
  {
    number: 34.1,
    title: 'each node is drained, and starts with another version; and back',
    nodes: 2,
    impossible: noOtherVersion,
    run: changeVersions,
  },
  { number: 36, title: 'the clock of a node is wrong by 60 s', nodes: 1, impossible: noFakeClock, run: wrongClock },
]

async function killNode(stage: Stage): Promise<void> {
  const { load } = stage
  const node = stage.any(stage.nodes)
  await load.acknowledges(stage.random() * BEFORE, LONGEST_MS)
  const clients = load.at(node)
  const others = load.publishers.filter((one) => one.node !== node && one.node !== undefined)
  load.resetGaps()
  const killedAtMs = performance.now()
  await node.kill()
  if (stage.nodes.length === 1) await node.start()
  const backMs = await load.areBack(clients, killedAtMs, LONGEST_MS)
  stage.bar(`the ${clients.length} clients of ${node.name} elsewhere`, backMs, 10_000)
  if (others.length > 0) stage.bar('publishing gap of the others', load.longestGapMs(others), 1_000)
  await node.ensureRunning()
}

/** Two rolling upgrades: nodes of two versions serve together, and Sessions go both ways. */
async function changeVersions(stage: Stage): Promise<void> {
  await drainEachNode(stage, OTHER_VERSION)
  await drainEachNode(stage)
}

/** A rolling upgrade to the version in this folder, or to the same one. */
async function drainEachNode(stage: Stage, version?: string): Promise<void> {
  const { load } = stage
  for (const node of stage.nodes) {
    await load.acknowledges(BEFORE, LONGEST_MS)
    const clients = load.at(node)
    load.resetGaps()
    const begunAtMs = performance.now()
    await node.drain(DRAIN_SECONDS)
    await load.areBack(clients, begunAtMs, LONGEST_MS)
    await load.acknowledges(BEFORE, LONGEST_MS)
    stage.bar(`publishing gap while ${node.name} drained`, load.longestGapMs(), 2_000)
    await node.start(0, {}, version)
    load.goHome()
  }
}

async function endEachNode(stage: Stage): Promise<void> {
  const { load } = stage
  for (const node of stage.nodes) {
    await load.acknowledges(BEFORE, LONGEST_MS)
    const clients = load.at(node)
    load.resetGaps()
    const endedAtMs = performance.now()
    await node.stop()
    await node.start()
    await load.areBack(clients, endedAtMs, LONGEST_MS)
    await load.acknowledges(BEFORE, LONGEST_MS)
    stage.bar(`publishing gap while ${node.name} started again`, load.longestGapMs(), 5_000)
    load.goHome()
  }
}

async function pauseNode(stage: Stage): Promise<void> {
  const { load } = stage
  const place = stage.anyPlace()
  const [node, other] = [stage.node(place), stage.node(place + 1)]
  const clientId = stage.unique('scene-paused')
  const { client } = await stage.connect(node, { clientId, clean: false })
  const topic = await stage.newTopic()
  await client.subscribe(topic, 1)
  const late = await stage.connectPublisher(node)
  node.pause()
  await sleep(SHORT_PAUSE_MS)
  node.resume()
  stage.must(
    (await client.ping()) !== 'closed',
    `a pause of ${SHORT_PAUSE_MS} ms cost a client of ${node.name} its connection`,
  )
  const clients = load.at(node)
  load.resetGaps()
  const pausedAtMs = performance.now()
  node.pause()
  const backMs = await load.areBack(clients, pausedAtMs, LONG_PAUSE_MS)
  stage.bar(`the clients of ${node.name} elsewhere`, backMs, 10_000)
  const { client: again, isSessionPresent } = await stage.connect(other, { clientId, clean: false })
  stage.must(isSessionPresent, `the Session of the paused ${node.name} is unknown at ${other.name}`)
  // The paused node has this in its socket when it goes on, and must not act on it.
  late.send(late.publishPacket(topic, 'late', 1))
  await sleep(Math.max(0, pausedAtMs + LONG_PAUSE_MS - performance.now()))
  node.resume()
  const resumedAtMs = performance.now()
  const rest = await client.rest().catch(() => undefined)
  stage.must(rest !== undefined, `the old connection at ${node.name} lives on`)
  stage.bar(`the end of the old connection at ${node.name}`, performance.now() - resumedAtMs, 3_000)
  stage.must(rest?.every(({ cmd }) => cmd !== 'publish') === true, 'the old connection got a message')
  const answers = await late.rest().catch(() => [])
  stage.must(answers.length === 0 || answers[0]?.cmd === 'disconnect', 'the paused node acknowledged a late message')
  await publishFully(await stage.connectPublisher(other), topic, 'once')
  const texts = (await messagesUntil(again, 'once')).join()
  stage.must(texts === 'once', `the Session got ${texts}, not the one message`)
  // Another node is in its place, so it ends by itself.
  await until(() => !node.isRunning, ENDS_BY_ITSELF_MS)
  stage.must(!node.isRunning, `the replaced ${node.name} goes on`)
}

async function wrongClock(stage: Stage): Promise<void> {
  const { load } = stage
  const node: ClusterNode = stage.any(stage.nodes)
  for (const seconds of [CLOCK_SECONDS, -CLOCK_SECONDS]) {
    await node.stop()
    await node.start(seconds)
    load.goHome()
    const isHome = await until(() => load.at(node).length > 0, LONGEST_MS)
    stage.must(isHome < Infinity, `no client comes to ${node.name}, whose clock is ${seconds} s off`)
    await load.acknowledges(BEFORE, LONGEST_MS)
  }
  await node.stop()
  await node.start()
}
