/** Many messages while a node joins and leaves, and many Sessions of a node that dies. */
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Login, WireClient } from '../../support/wire-client.ts'
import type { ClusterNode } from '../cluster-node.ts'
import { RateClient } from '../rate-client.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { until } from '../until.ts'
import { messagesUntil, publishFully } from '../wire-steps.ts'

const LONGEST_MS = 120_000
/** 20,000/s take a machine for each part. A core of one machine for all parts carries so many. */
const PER_SECOND = Math.min(20_000, 250 * availableParallelism())
/** On few cores, the start of a node takes the time from which the others answer. */
const IS_LARGE = availableParallelism() >= 8
const PUBLISHERS = 4
const STEADY_MS = 5_000
/** 10,000 Sessions take a machine for each part, for each needs two handshakes of TLS. */
const SESSIONS = Math.min(10_000, 500 * availableParallelism())
const SESSIONS_OF_PERSON = 500
const AT_ONCE = 25
/** A bound of the service: connections of one address and of one organization in a second. */
const CONNECTS_PER_SECOND = 150

export const CROWDS: readonly Scenario[] = [
  { number: 35, title: `a node joins and leaves under ${PER_SECOND}/s`, nodes: 2, run: joinAndLeave },
  { number: 37, title: `${SESSIONS} Sessions of a killed node return`, nodes: 2, run: manyReturn },
]

async function joinAndLeave(stage: Stage): Promise<void> {
  const { load } = stage
  const place = stage.anyPlace()
  const joining = stage.node(place)
  const others = stage.nodes.filter((node) => node !== joining)
  await joining.stop()
  const topic = await stage.newTopic()
  const { client: reader } = await stage.connect(others[0] as ClusterNode, { clientId: stage.unique('scene-rate') })
  await reader.subscribe(topic, 1)
  const reading = countMessages(reader)
  const clients: RateClient[] = []
  for (let number = 0; number < PUBLISHERS; number += 1) {
    const publisher = await stage.connectPublisher(others[number % others.length] as ClusterNode)
    clients.push(new RateClient(publisher, topic, PER_SECOND / PUBLISHERS))
  }
  for (const client of clients) client.begin()
  await sleep(STEADY_MS)
  judge(stage, 'before', clients)
  await joining.start()
  await sleep(STEADY_MS)
  judge(stage, `while ${joining.name} joined`, clients)
  load.goHome()
  await joining.stop()
  await sleep(STEADY_MS)
  judge(stage, `while ${joining.name} left`, clients)
  for (const client of clients) client.cease()
  await until(() => clients.every(({ open }) => open === 0), LONGEST_MS)
  const sum = (of: (client: RateClient) => number): number => clients.reduce((all, client) => all + of(client), 0)
  const acknowledged = sum((client) => client.acknowledged)
  stage.must(sum((client) => client.refused) === 0, 'messages were refused')
  stage.must(sum(({ open }) => open) === 0, 'messages have no answer')
  await until(() => reading.count >= acknowledged, LONGEST_MS)
  stage.must(reading.count === acknowledged, `the reader got ${reading.count} of ${acknowledged} messages`)
}

/** The bars of the publishers since the last call. */
function judge(stage: Stage, words: string, clients: readonly RateClient[]): void {
  const taken = clients.map((client) => client.take())
  const latencies = taken.flatMap((one) => one.latencies).toSorted((a, b) => a - b)
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Infinity
  stage.note(`${words}: ${latencies.length} acknowledged, p50 ${Math.round(at(0.5))} ms`)
  if (IS_LARGE) stage.bar(`p99 of PUBACK ${words}`, at(0.99), 100)
  else stage.note(`p99 of PUBACK ${words}: ${Math.round(at(0.99))} ms`)
  stage.bar(`longest gap of a publisher ${words}`, Math.max(...taken.map((one) => one.longestGapMs)), 1_000)
}

interface Counted {
  count: number
}

function countMessages(reader: WireClient): Counted {
  const counted = { count: 0 }
  void (async () => {
    for (;;) {
      const packet = await reader.next().catch(() => null)
      if (packet === undefined) return
      if (packet?.cmd !== 'publish') continue
      counted.count += 1
      reader.send({ cmd: 'puback', messageId: packet.messageId as number })
    }
  })()
  return counted
}

async function manyReturn(stage: Stage): Promise<void> {
  const { deployment } = stage
  const place = stage.anyPlace()
  const home = stage.node(place)
  const others = stage.nodes.filter((node) => node !== home)
  const administration = deployment.administration()
  const { organizationId } = deployment.place
  const logins: Login[] = []
  for (let count = 0; count < SESSIONS; count += SESSIONS_OF_PERSON) {
    const { session } = await administration.person([{ organizationId }])
    logins.push({ username: await administration.brokerToken(session, organizationId), password: 'default' })
  }
  const topic = await stage.newTopic()
  const word = stage.unique('scene-crowd')
  const loginOf = (number: number): Login => logins[Math.floor(number / SESSIONS_OF_PERSON)] as Login
  const connect = (node: ClusterNode, number: number) =>
    stage.connect(node, { clientId: `${word}-${number}`, login: loginOf(number), clean: false })
  const openMs = await forAll(async (number) => {
    const { client } = await connect(home, number)
    await client.subscribe(topic, 1)
  })
  stage.note(`${SESSIONS} Sessions opened in ${Math.round(openMs)} ms`)
  await home.kill()
  const publisher = await stage.connectPublisher(others[0] ?? home)
  await publishFully(publisher, topic, 'while they are away')
  let [forgotten, wrong] = [0, 0]
  const backMs = await forAll(async (number) => {
    const node = others[number % others.length] ?? home
    const { client, isSessionPresent } = await connect(node, number)
    if (!isSessionPresent) forgotten += 1
    else if ((await messagesUntil(client, 'while they are away')).length !== 1) wrong += 1
    client.destroy()
  })
  stage.bar(`until all ${SESSIONS} were back with what they had missed`, backMs, 30_000)
  stage.must(forgotten === 0, `${forgotten} Sessions were forgotten`)
  stage.must(wrong === 0, `${wrong} Sessions got another message than the one that they had missed`)
}

/** Does the work for each Session, some at once and not too many a second. Resolves with the ms. */
async function forAll(work: (number: number) => Promise<void>): Promise<number> {
  const startMs = performance.now()
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < SESSIONS) {
      const number = next
      next += 1
      await sleep(Math.max(0, startMs + (number * 1_000) / CONNECTS_PER_SECOND - performance.now()))
      await work(number)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return performance.now() - startMs
}
