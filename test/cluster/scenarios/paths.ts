/** Paths of a node to the servers of NATS that are cut, or go silent. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cut } from '../cluster-node.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { until } from '../until.ts'

const LONGEST_MS = 60_000
const AWAY_MS = 12_000
const BEFORE = 50
/** Messages that were on their way may be acknowledged for so long after the cut, ms. */
const LAST_ACKNOWLEDGEMENT_MS = 500
/** A replaced node ends within this time, ms. */
const ENDS_BY_ITSELF_MS = 10_000

export const PATHS: readonly Scenario[] = [
  { number: 16, title: 'a node is cut from one server of NATS', nodes: 1, run: cutFromOne },
  {
    number: 17,
    title: 'a node is cut from all servers of NATS for 12 s',
    nodes: 1,
    run: (stage) => cutFromAll(stage, 'cut'),
  },
  {
    number: 18,
    title: 'the paths of a node to NATS go silent for 12 s',
    nodes: 1,
    run: (stage) => cutFromAll(stage, 'silent'),
  },
]

async function cutFromOne(stage: Stage): Promise<void> {
  const { load } = stage
  const node = stage.any(stage.nodes)
  const how = stage.any<Cut>(['cut', 'silent'])
  const server = Math.floor(stage.random() * stage.cluster.servers.names.length)
  await load.acknowledges(BEFORE, LONGEST_MS)
  load.resetGaps()
  node.cut(server, how)
  await load.acknowledges(BEFORE, LONGEST_MS)
  await sleep(AWAY_MS / 2)
  stage.bar(`publishing gap while ${node.name} is without a server (${how})`, load.longestGapMs(), 5_000)
  node.mend()
  await load.acknowledges(BEFORE, LONGEST_MS)
}

async function cutFromAll(stage: Stage, how: Cut): Promise<void> {
  const { load } = stage
  const node = stage.any(stage.nodes)
  await load.acknowledges(BEFORE, LONGEST_MS)
  // It stays at its node, whatever happens.
  const publisher = await stage.connectPublisher(node)
  const topic = await stage.newTopic()
  node.cut('nats', how)
  const isCutAtMs = performance.now()
  await sleep(LAST_ACKNOWLEDGEMENT_MS)
  publisher.send(publisher.publishPacket(topic, 'while it is cut off', 1))
  let answeredAtMs = Infinity
  const answered = publisher.next().then(
    (answer) => {
      if (answer?.cmd === 'puback') answeredAtMs = performance.now()
    },
    () => {},
  )
  await sleep(AWAY_MS - LAST_ACKNOWLEDGEMENT_MS)
  stage.must(
    answeredAtMs === Infinity,
    `${node.name} acknowledged ${Math.round(answeredAtMs - isCutAtMs)} ms after it was cut off`,
  )
  node.mend()
  await answered
  if (stage.nodes.length > 1) {
    // Another node is in its place, so it ends by itself.
    await until(() => !node.isRunning, ENDS_BY_ITSELF_MS)
    stage.must(!node.isRunning, `the replaced ${node.name} goes on`)
    await node.ensureRunning()
  }
  load.goHome()
  await load.acknowledges(BEFORE, LONGEST_MS)
}
