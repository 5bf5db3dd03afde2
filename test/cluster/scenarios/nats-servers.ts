/** Servers of NATS that are killed, paused, ended, and that come back without their disk. */
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../../support/wire-client.ts'
import type { WireClient } from '../../support/wire-client.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { eventIdOf, publishFully, readMessages } from '../wire-steps.ts'

const LONGEST_MS = 60_000
const BEFORE = 50
const PAUSE_MS = 12_000
const QUOTA_EXCEEDED = 0x97
/** Messages that were on their way may be acknowledged for so long after the loss, ms. */
const LAST_ACKNOWLEDGEMENT_MS = 500
/** A PINGREQ is answered after 5 s, whatever stands before it; and the machine is busy, ms. */
const PING_MS = 8_000

export const NATS_SERVERS: readonly Scenario[] = [
  { number: 19, title: 'the leader at NATS: kill -9, SIGSTOP 12 s, SIGTERM', nodes: 1, run: loseLeader },
  { number: 20, title: 'two of three servers of NATS are killed', nodes: 1, run: (stage) => loseQuorum(stage, 2) },
  { number: 21, title: 'all servers of NATS are killed', nodes: 1, run: (stage) => loseQuorum(stage, 3) },
  { number: 23, title: 'a server of NATS returns with an empty disk', nodes: 1, run: emptyDisk },
]

async function loseLeader(stage: Stage): Promise<void> {
  const { cluster, load } = stage
  for (const [signal, most] of [
    ['SIGKILL', 10_000],
    ['SIGSTOP', 10_000],
    ['SIGTERM', 2_000],
  ] as const) {
    await cluster.servers.ready()
    await load.acknowledges(BEFORE, LONGEST_MS)
    const leader = await cluster.leader()
    load.resetGaps()
    if (signal === 'SIGKILL') await cluster.killServer(leader)
    else if (signal === 'SIGTERM') await cluster.stopServer(leader)
    else await cluster.pauseServer(leader)
    const lostAtMs = performance.now()
    await load.acknowledges(BEFORE, LONGEST_MS)
    if (signal === 'SIGSTOP') await sleep(Math.max(0, lostAtMs + PAUSE_MS - performance.now()))
    stage.bar(`publishing gap after ${signal} of the leader`, load.longestGapMs(), most)
    if (signal === 'SIGSTOP') await cluster.resumeServer(leader)
    else cluster.startServer(leader)
    await load.acknowledges(BEFORE, LONGEST_MS)
  }
}

async function loseQuorum(stage: Stage, count: number): Promise<void> {
  const { cluster, load } = stage
  await load.acknowledges(BEFORE, LONGEST_MS)
  const first = Math.floor(stage.random() * 3)
  const lost = [0, 1, 2].map((step) => cluster.servers.names[(first + step) % 3] as string).slice(0, count)
  await answersWithoutQuorum(stage, async () => {
    await Promise.all(lost.map((name) => cluster.killServer(name)))
  })
  for (const name of lost) cluster.startServer(name)
  const backMs = await load.acknowledges(BEFORE, LONGEST_MS)
  stage.bar('until messages were acknowledged again', backMs, 30_000)
}

/** Publishes at each node when the servers have lost their quorum: each must be refused in time. */
export async function answersWithoutQuorum(stage: Stage, lose: () => Promise<void>): Promise<void> {
  const { load } = stage
  const topic = await stage.newTopic()
  const publishers = await Promise.all(stage.nodes.map((node) => stage.connectPublisher(node)))
  const clientId = stage.unique('scene-subscriber')
  const { client: subscriber } = await stage.connect(stage.node(0), { clientId, clean: false })
  await lose()
  await sleep(LAST_ACKNOWLEDGEMENT_MS)
  const acknowledgedBefore = load.acknowledged
  const lostAtMs = performance.now()
  const pinged = pingBehindSubscribe(subscriber, topic)
  const answers = await Promise.all(
    publishers.map(async (publisher) => {
      publisher.send(publisher.publishPacket(topic, 'without a quorum', 1))
      return answerOf(() => publisher.next())
    }),
  )
  stage.bar('until the last publisher was refused or lost its connection', performance.now() - lostAtMs, 35_000)
  stage.bar('until a PINGREQ behind a SUBSCRIBE was answered without a quorum', await pinged, PING_MS)
  const isRefused = answers.every((code) => code === 'closed' || code === QUOTA_EXCEEDED)
  stage.must(isRefused, `without a quorum, publishers got ${answers.join(', ')}`)
  stage.must(
    load.acknowledged === acknowledgedBefore,
    `${load.acknowledged - acknowledgedBefore} messages were acknowledged without a quorum`,
  )
}

/** Resolves with the time to PINGRESP, ms; Infinity: another answer came first, or the end. */
async function pingBehindSubscribe(client: WireClient, topicFilter: string): Promise<number> {
  const sentAtMs = performance.now()
  client.send(client.subscribePacket(topicFilter), { cmd: 'pingreq' })
  const answer = await client.next()
  return answer?.cmd === 'pingresp' ? performance.now() - sentAtMs : Infinity
}

/** The Reason Code of an acknowledgement, or how else the wait for it ended; a wait lasts 30 s. */
async function answerOf(next: () => Promise<Parameters<typeof codeOf>[0] | undefined>): Promise<number | string> {
  for (let waits = 0; waits < 2; waits += 1) {
    try {
      const packet = await next()
      return packet === undefined ? 'closed' : codeOf(packet)
    } catch {
      // The next wait takes what comes later.
    }
  }
  return 'nothing'
}

async function emptyDisk(stage: Stage): Promise<void> {
  const { cluster, load } = stage
  const name = stage.any(cluster.servers.names)
  const topic = await stage.newTopic()
  await cluster.killServer(name)
  cluster.servers.wipe(name)
  await load.acknowledges(BEFORE, LONGEST_MS)
  cluster.startServer(name)
  await cluster.servers.ready()
  const { tookMs } = await cluster.replicated(LONGEST_MS)
  stage.bar('until the empty server had all streams again', tookMs, LONGEST_MS)
  // Another server's loss now leaves a quorum only if the empty one has what it lacked.
  const other = cluster.servers.names.find((one) => one !== name) as string
  await cluster.killServer(other)
  const publisher = await stage.connectPublisher(stage.node(0))
  const readers = await Promise.all(
    stage.nodes.map(async (node) => {
      const { client } = await stage.connect(node, { clientId: stage.unique('scene-reader') })
      await client.subscribe(topic, 1)
      return client
    }),
  )
  for (let number = 0; number < BEFORE; number += 1) await publishFully(publisher, topic, String(number))
  const read = await Promise.all(readers.map((reader) => readMessages(reader, BEFORE)))
  const lists = read.map((messages) => messages.map((one) => `${one.payload.toString()} ${eventIdOf(one)}`).join())
  stage.must(new Set(lists).size === 1, 'the nodes read different messages')
}
