/**
 * Plays hours of a busy day in minutes: the real service under a steady load, with readers whose
 * Sessions are kept, end or expire, shared subscriptions and retained messages. Memory and disk are
 * watched, and every message is accounted for.
 */
import assert from 'node:assert/strict'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { makeFolder, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'
import type { Login } from '../support/wire-client.ts'
import { InOrder, Together } from './sequences.ts'
import { SteadyPublisher, visit } from './soak-clients.ts'
import type { Visit } from './soak-clients.ts'

export interface SoakOptions {
  readonly ms: number
  readonly sampleMs: number
  readonly say?: (line: string) => void
}

export interface Sample {
  readonly rssBytes: number
  readonly heapBytes: number
  readonly diskBytes: number
}

/** The totals of a soak. */
export interface SoakCounts {
  readonly acknowledged: number
  readonly received: number
  readonly repeated: number
  readonly visits: number
  readonly samples: readonly Sample[]
}

const MIB = 1_048_576
/**
 * The most bytes that the log's caches hold, and a margin for chance: in a run of some seconds they
 * fill until its end.
 */
export const FILLING_CACHES_BYTES = 192 * MIB
/** The margin once the caches are full. */
export const FULL_CACHES_BYTES = 64 * MIB
const RETENTION_BYTES = 256 * MIB
/** The active segment, a snapshot, and the snapshot that replaces it. */
const DISK_MARGIN_BYTES = 64 * MIB
const PUBLISHERS = 4
const PER_SECOND = 100
/** So large that retention removes segments after four minutes. */
const PAYLOAD_BYTES = 2_800
const KEPT = 10
const SHARING = 3
const VISITORS = 4
const RETAINED = 20

/** Throws an AssertionError if a message is lost, or memory or disk grow. */
export async function runSoak(options: SoakOptions): Promise<SoakCounts> {
  const dataDirectory = await makeFolder()
  try {
    const service = await startAsProcess(dataDirectory, {
      FIELDGATE_LOG_LEVEL: 'warn',
      FIELDGATE_RETENTION_BYTES: String(RETENTION_BYTES),
    })
    try {
      return await new Soak(service, await furnish(service), options).run()
    } finally {
      await service.stop()
    }
  } finally {
    await rm(dataDirectory, { recursive: true, force: true })
  }
}

interface Place {
  readonly networkServer: Login
  readonly integrator: Login
  readonly upTopics: readonly string[]
  readonly statusTopics: readonly string[]
  readonly upFilter: string
  readonly statusFilter: string
}

async function furnish(service: RunningService): Promise<Place> {
  const administration = new Administration(service)
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  const devices: string[] = []
  for (let count = 0; count < RETAINED; count += 1) devices.push(await administration.device(applicationId))
  const credential = await administration.serviceCredential('')
  const person = await administration.person([{ organizationId }])
  const token = await administration.brokerToken(person.session, organizationId, '86400')
  const topics = (kind: string) =>
    devices.map((devEui) => `application/${applicationId}/device/${devEui}/event/${kind}`)
  return {
    networkServer: { username: credential.userName, password: credential.password },
    integrator: { username: token, password: 'default' },
    upTopics: topics('up').slice(0, PUBLISHERS),
    statusTopics: topics('status'),
    upFilter: `application/${applicationId}/device/+/event/up`,
    statusFilter: `application/${applicationId}/device/+/event/status`,
  }
}

class Soak {
  readonly #service: RunningService
  readonly #place: Place
  readonly #options: SoakOptions
  readonly #kept = Array.from({ length: KEPT }, () => new InOrder())
  readonly #shared = new Together()
  readonly #visitors = new InOrder()
  readonly #samples: Sample[] = []
  #publishers: SteadyPublisher[] = []
  #visits = 0
  #isEnding = false

  constructor(service: RunningService, place: Place, options: SoakOptions) {
    this.#service = service
    this.#place = place
    this.#options = options
  }

  async run(): Promise<SoakCounts> {
    await this.#retain()
    // The Sessions must exist before the first message.
    for (let number = 0; number < KEPT; number += 1) await this.#visitKept(number, 0)
    for (let number = 0; number < SHARING; number += 1) await this.#visitShared(number, 0)
    for (const topicName of this.#place.upTopics) {
      const options = { topicName, perSecond: PER_SECOND, payloadBytes: PAYLOAD_BYTES }
      this.#publishers.push(await SteadyPublisher.open(this.#service, this.#place.networkServer, options))
    }
    const running = [
      ...this.#publishers.map((publisher) => publisher.run()),
      ...Array.from({ length: KEPT }, (_, number) =>
        this.#again(() => this.#visitKept(number, between(1_000, 6_000)), [500, 8_000]),
      ),
      ...Array.from({ length: SHARING }, (_, number) =>
        this.#again(() => this.#visitShared(number, between(2_000, 8_000)), [100, 1_000]),
      ),
      ...Array.from({ length: VISITORS }, () => this.#again(() => this.#visitOnce(), [0, 300])),
      this.#again(() => this.#leaveSession(), [100, 400]),
      this.#again(() => this.#sample(), [this.#options.sampleMs, this.#options.sampleMs]),
    ]
    await Promise.race([sleep(this.#options.ms), Promise.all(running)])
    this.#isEnding = true
    for (const publisher of this.#publishers) publisher.end()
    await within(Promise.all(running), 'everybody to leave', 60_000)
    await this.#settle()
    return this.#counts()
  }

  /** Repeats the work after random pauses, until the end. */
  async #again(work: () => Promise<void>, [shortest, longest]: readonly [number, number]): Promise<void> {
    while (!this.#isEnding) {
      await work()
      await sleep(between(shortest, longest))
    }
  }

  async #visit(options: Omit<Visit, 'login'>): Promise<void> {
    this.#visits += 1
    await visit(this.#service, { login: this.#place.integrator, ...options })
  }

  async #visitKept(number: number, staysMs: number, isDone: () => boolean = () => this.#isEnding): Promise<void> {
    const record = this.#kept[number] as InOrder
    await this.#visit({
      clientId: `kept-${number}`,
      version: number % 2 === 0 ? 5 : 4,
      expirySeconds: 3600,
      topicFilters: [this.#place.upFilter],
      staysMs,
      isDone,
      take: (topicName, sequence) => record.take(topicName, sequence),
    })
    assert.deepEqual(record.gaps, [], `kept-${number}`)
  }

  async #visitShared(number: number, staysMs: number, isDone: () => boolean = () => this.#isEnding): Promise<void> {
    await this.#visit({
      clientId: `shared-${number}`,
      version: 5,
      expirySeconds: 3600,
      topicFilters: [`$share/soak/${this.#place.upFilter}`],
      staysMs,
      isDone,
      take: (topicName, sequence) => this.#shared.take(topicName, sequence),
    })
  }

  /** A Session for one connection: it gets all retained messages, then live ones. */
  async #visitOnce(): Promise<void> {
    const record = new InOrder()
    const retained = new Set<string>()
    await this.#visit({
      clientId: `visitor-${this.#visits}`,
      version: this.#visits % 2 === 0 ? 5 : 4,
      expirySeconds: 0,
      topicFilters: [this.#place.statusFilter, this.#place.upFilter],
      staysMs: between(200, 1_000),
      take: (topicName, sequence, isRetained) => {
        if (isRetained) retained.add(topicName)
        else record.take(topicName, sequence)
      },
    })
    this.#visitors.received += record.received
    assert.deepEqual(record.gaps, [])
    assert.equal(retained.size, RETAINED)
  }

  /** A Session to which nobody comes back: it expires. */
  async #leaveSession(): Promise<void> {
    const clientId = `left-${this.#visits}`
    const topicFilters = [this.#place.upFilter]
    await this.#visit({ clientId, version: 5, expirySeconds: 3, topicFilters, staysMs: 0, take: () => {} })
  }

  async #retain(): Promise<void> {
    const client = await WireClient.open(this.#service, 5)
    assert.equal(await client.connect(this.#place.networkServer), 0)
    for (const topicName of this.#place.statusTopics) {
      client.send(client.publishPacket(topicName, '{"sequence":0}', 1, true))
      assert.equal((await client.next())?.cmd, 'puback')
    }
    client.destroy()
  }

  async #sample(): Promise<void> {
    const metrics = await this.#metrics()
    const sample = {
      rssBytes: metrics('process_resident_memory_bytes'),
      heapBytes: metrics('nodejs_heap_size_used_bytes'),
      diskBytes: await bytesUnder(this.#service.dataDirectory),
    }
    this.#samples.push(sample)
    this.#options.say?.(
      `${this.#samples.length}: ${this.#acknowledged()} acknowledged, ${this.#visits} visits, ${metrics('fieldgate_broker_sessions')} Sessions; ` +
        `RSS ${mib(sample.rssBytes)}, heap ${mib(sample.heapBytes)}, disk ${mib(sample.diskBytes)}`,
    )
  }

  async #metrics(): Promise<(name: string) => number> {
    const { text } = await this.#service.http.ask('GET', '/metrics', { token: this.#service.adminSession })
    return (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  }

  /** Every reader comes once more and reads to the end. */
  async #settle(): Promise<void> {
    const hasAll = (record: InOrder | Together) => () =>
      this.#publishers.every(({ topicName, acknowledged }) => record.hasAllUpTo(topicName, acknowledged - 1))
    const isSharedDone = hasAll(this.#shared)
    await Promise.all([
      ...this.#kept.map((record, number) => this.#visitKept(number, 60_000, hasAll(record))),
      ...Array.from({ length: SHARING }, (_, number) => this.#visitShared(number, 60_000, isSharedDone)),
    ])
    for (const [number, record] of this.#kept.entries()) assert.ok(hasAll(record)(), `kept-${number} has everything`)
    assert.ok(isSharedDone(), 'those who share have everything')
    const metrics = await this.#metrics()
    assert.equal(metrics('fieldgate_broker_publishes_lost_total'), 0)
    assert.ok(metrics('fieldgate_broker_sessions') < 100, 'Sessions that nobody came back to are gone')
  }

  #acknowledged(): number {
    return this.#publishers.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
  }

  #counts(): SoakCounts {
    const records = [...this.#kept, this.#shared, this.#visitors]
    return {
      acknowledged: this.#acknowledged(),
      received: records.reduce((sum, { received }) => sum + received, 0),
      repeated: records.reduce((sum, { repeated }) => sum + repeated, 0),
      visits: this.#visits,
      samples: this.#samples,
    }
  }
}

/**
 * Throws an AssertionError if the second half of the time needed more memory than the first, by
 * more than `marginBytes`, or the disk more than retention allows.
 */
export function assertBounded(samples: readonly Sample[], marginBytes: number): void {
  const middle = Math.floor(samples.length / 2)
  const highest = (from: number, to: number, member: keyof Sample): number =>
    Math.max(...samples.slice(from, to).map((sample) => sample[member]))
  for (const member of ['rssBytes', 'heapBytes'] as const) {
    const before = highest(0, middle, member)
    const after = highest(middle, samples.length, member)
    assert.ok(after <= before + marginBytes, `${member}: ${mib(before)} in the first half, ${mib(after)} in the second`)
  }
  const disk = highest(0, samples.length, 'diskBytes')
  assert.ok(disk <= RETENTION_BYTES + DISK_MARGIN_BYTES, `${mib(disk)} on disk`)
}

export function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(0)} MiB`
}

async function bytesUnder(directory: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    // Retention may have removed the file meanwhile.
    bytes += await stat(join(entry.parentPath, entry.name)).then(
      ({ size }) => size,
      () => 0,
    )
  }
  return bytes
}

function between(shortest: number, longest: number): number {
  return shortest + Math.random() * (longest - shortest)
}
