/**
 * Tests the promise of docs/durability.md against SIGKILL: the real service, under load at QoS 1
 * and 2, is killed at random moments and started again. In the end every acknowledged message must
 * be found at every subscriber and in the history.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { createRandom } from '../support/random.ts'
import { makeFolder, spawnService, startAsProcess } from '../support/running-service.ts'
import type { Program } from '../support/program.ts'
import { CrashPublisher, CrashSubscriber, messageKey } from './crash-clients.ts'
import { readHistory } from './crash-history.ts'

export interface CrashOptions {
  readonly rounds: number
  /** The seed of the moments of the kills; the machine decides the rest of the timing. */
  readonly seed: number
  /** The longest and shortest time under load before a kill, in milliseconds. */
  readonly loadMs: readonly [shortest: number, longest: number]
  readonly say?: (line: string) => void
}

/** The counts of a run; they include every message. */
export interface CrashCounts {
  readonly kills: number
  readonly published: number
  readonly acknowledged: number
  /** QoS 1 messages that came more than once, over all subscribers. */
  readonly repeatedWithDup: number
  readonly repeatedWithoutDup: number
  readonly inHistory: number
}

interface Live {
  readonly program: Program
  readonly address: { readonly mqttsPort: number; readonly ca: string }
  readonly https: string
}

const DEVICES = 6
/** The time limit of a restart, long enough for a machine that is full of other work. */
const RESTART_MS = 60_000
const ENVIRONMENT = { FIELDGATE_LOG_LEVEL: 'warn', FIELDGATE_BROKER_TOKEN_DEFAULT_TTL_SECONDS: '31557600' }

/** Throws an AssertionError at the first broken promise. */
export async function runCrashes(options: CrashOptions): Promise<CrashCounts> {
  const dataDirectory = await makeFolder()
  const random = createRandom(options.seed)
  try {
    const deployment = await setUp(dataDirectory)
    const { publishers, subscribers } = deployment
    let live = deployment.live
    let running = await startClients(live, deployment)
    for (let round = 1; round <= options.rounds; round += 1) {
      const [shortest, longest] = options.loadMs
      await loadFor(shortest + random() * (longest - shortest), random, subscribers, live, running)
      live.program.signal('SIGKILL')
      await live.program.ended()
      await Promise.all(running)
      const killedAtMs = performance.now()
      live = await restart(dataDirectory, deployment)
      const awayMs = performance.now() - killedAtMs
      running = await startClients(live, deployment)
      const counts = publishers.map(({ name, acknowledged }) => `${name} ${acknowledged.size}`).join(', ')
      options.say?.(`kill ${round}: ${counts} acknowledged; back after ${(awayMs / 1000).toFixed(1)} s`)
    }
    const counts = await settleAndCheck(options.rounds, deployment, live, running)
    await rm(dataDirectory, { recursive: true, force: true })
    return counts
  } catch (error) {
    options.say?.(`What the service left is kept in ${dataDirectory}`)
    throw error
  }
}

interface Deployment {
  readonly live: Live
  readonly publishers: readonly CrashPublisher[]
  readonly subscribers: readonly CrashSubscriber[]
  readonly shared: readonly CrashSubscriber[]
  readonly applicationId: string
  readonly session: string
  readonly ca: string
}

async function setUp(dataDirectory: string): Promise<Deployment> {
  const service = await startAsProcess(dataDirectory, ENVIRONMENT)
  const administration = new Administration(service)
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  const devices: string[] = []
  for (let count = 0; count < DEVICES; count += 1) devices.push(await administration.device(applicationId))
  const credential = await administration.serviceCredential('')
  const person = await administration.person([{ organizationId }])
  const token = await administration.brokerToken(person.session, organizationId, '86400')
  const networkServer = { username: credential.userName, password: credential.password }
  const integrator = { username: token, password: 'default' }
  const topicName = (index: number): string => `application/${applicationId}/device/${devices[index]}/event/up`
  const topicFilter = `application/${applicationId}/device/+/event/+`
  const publisher = (name: string, qos: 1 | 2, first: number): CrashPublisher =>
    new CrashPublisher({ name, qos, login: networkServer, topicNames: [topicName(first), topicName(first + 1)] })
  const subscriber = (name: string, version: 4 | 5, qos: 1 | 2, filter = topicFilter): CrashSubscriber =>
    new CrashSubscriber({ name, version, qos, login: integrator, topicFilter: filter })
  const shared = ['shared-a', 'shared-b'].map((name) => subscriber(name, 5, 1, `$share/crash/${topicFilter}`))
  return {
    live: { program: service.program, address: service, https: service.https },
    publishers: [publisher('one', 1, 0), publisher('two', 1, 2), publisher('three', 2, 4)],
    subscribers: [subscriber('once', 5, 2), subscriber('least', 5, 1), subscriber('oldest', 4, 1)],
    shared,
    applicationId,
    session: service.adminSession,
    ca: service.ca,
  }
}

async function restart(dataDirectory: string, { ca }: Deployment): Promise<Live> {
  const program = spawnService(dataDirectory, ENVIRONMENT)
  const [, https = ''] = await program.output(/API reference +(https:\S+)\/api\/docs/, RESTART_MS)
  const [, port = ''] = await program.output(/MQTT over TLS +\S+:(\d+)/)
  return { program, https, address: { mqttsPort: Number(port), ca } }
}

/**
 * Runs every client in its own loop, which ends with its connection. Publishers begin when all have
 * subscribed.
 */
async function startClients(live: Live, deployment: Deployment): Promise<Promise<void>[]> {
  const { publishers, subscribers, shared } = deployment
  const running: Promise<void>[] = []
  for (const subscriber of [...subscribers, ...shared]) {
    await within(
      new Promise<void>((resolve) => {
        running.push(subscriber.run(live.address, resolve).finally(resolve))
      }),
      `${subscriber.name} to subscribe`,
    )
  }
  for (const publisher of publishers) running.push(publisher.run(live.address))
  return running
}

/** Runs load, in which a subscriber now and then loses its connection while others go on. */
async function loadFor(
  ms: number,
  random: () => number,
  subscribers: readonly CrashSubscriber[],
  live: Live,
  running: Promise<void>[],
): Promise<void> {
  await sleep(ms / 2)
  const unlucky = subscribers[Math.floor(random() * subscribers.length)] as CrashSubscriber
  if (random() < 0.5) {
    unlucky.stop()
    running.push(sleep(ms / 8).then(() => unlucky.run(live.address, () => {})))
  }
  await sleep(ms / 2)
}

async function settleAndCheck(
  kills: number,
  deployment: Deployment,
  live: Live,
  running: Promise<void>[],
): Promise<CrashCounts> {
  const { publishers, subscribers, shared, applicationId, session, ca } = deployment
  for (const publisher of publishers) await within(publisher.settle(), `${publisher.name} to be acknowledged`, 60_000)
  const promised = new Set<string>()
  for (const { name, acknowledged } of publishers)
    for (const sequence of acknowledged) promised.add(messageKey(name, sequence))
  for (const subscriber of subscribers) {
    await within(subscriber.has(promised), `everything at ${subscriber.name}`, 120_000).catch(() => {})
    const missing = subscriber.missing(promised)
    assert.deepEqual(missing.slice(0, 10), [], `${subscriber.name} misses ${missing.length} acknowledged messages`)
    assert.deepEqual(subscriber.outOfOrder.slice(0, 10), [], `${subscriber.name} got messages out of order`)
  }
  checkOnce(subscribers, publishers)
  const group = (): string[] => [...promised].filter((key) => !shared.some(({ received }) => received.has(key)))
  for (let turns = 0; turns < 300 && group().length > 0; turns += 1) await sleep(100)
  assert.deepEqual(group().slice(0, 10), [], `the shared subscription misses ${group().length} acknowledged messages`)
  const history = await readHistory(live.https, ca, session, applicationId)
  const forgotten = [...promised].filter((key) => !history.has(key))
  assert.deepEqual(forgotten.slice(0, 10), [], `the history misses ${forgotten.length} acknowledged messages`)
  for (const client of [...publishers, ...subscribers, ...shared]) client.stop()
  await Promise.all(running)
  live.program.signal('SIGTERM')
  assert.equal((await live.program.ended()).code, 0)
  const all = [...subscribers, ...shared]
  return {
    kills,
    published: publishers.reduce((sum, { sent }) => sum + sent, 0),
    acknowledged: promised.size,
    repeatedWithDup: all.reduce((sum, { repeatedWithDup }) => sum + repeatedWithDup, 0),
    repeatedWithoutDup: all.reduce((sum, { repeatedWithoutDup }) => sum + repeatedWithoutDup, 0),
    inHistory: history.size,
  }
}

/** Messages that were published and subscribed to at QoS 2 came exactly once. */
function checkOnce(subscribers: readonly CrashSubscriber[], publishers: readonly CrashPublisher[]): void {
  const [twice] = publishers.slice(-1)
  for (const { name, qos, received } of subscribers) {
    if (qos !== 2) continue
    const repeated = [...received].filter(([key, times]) => key.startsWith(`${twice?.name}:`) && times > 1)
    assert.deepEqual(repeated.slice(0, 10), [], `${name} got ${repeated.length} QoS 2 messages more than once`)
  }
}
