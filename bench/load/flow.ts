/**
 * The scenarios with messages: connects, warms up, measures, takes the latency, drains, and checks
 * every message.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuNanoseconds } from '../process-accounting.ts'
import { bystanderTopicFilters } from './bystanders.ts'
import { Connector, openMany } from './connection.ts'
import type { Connection } from './connection.ts'
import { PAYLOAD_BYTES } from './job.ts'
import type { Client, FlowJob, FlowResult, Subscriber, Target } from './job.ts'
import { LatencyHistogram } from './latency-histogram.ts'
import { PAYLOAD, Publisher } from './publisher.ts'
import type { OutgoingStream } from './publisher.ts'
import { SequenceCheck } from './sequence-check.ts'

const CONNECTING_AT_ONCE = 32
const FILTERS_OF_A_SUBSCRIBE = 100
/** The time for messages on their way to arrive after the last one was sent. */
const DRAIN_TIMEOUT_MS = 20_000
/** The pause between two rates, in which the rest of the first rate drains. */
const SETTLE_MS = 300
/**
 * At a fixed rate: a generator or broker that is further behind than this gives messages up instead
 * of sending them in a burst.
 */
const LONGEST_BURST_MS = 50

/**
 * Runs the job against a broker, or against the nodes of a cluster. `window` is called when the
 * measured window begins, and resolves at its end. Throws a FlowFault if a message or a connection
 * was not as it must be.
 */
export async function runFlow(
  targets: readonly Target[],
  job: FlowJob,
  window: () => Promise<void> = () => sleep(job.measureMs),
): Promise<FlowResult> {
  const run = new FlowRun(targets, job)
  try {
    return await run.measure(window)
  } finally {
    run.close()
  }
}

/** The faults of a flow, with counts. */
class FlowFault extends Error {
  override readonly name = 'FlowFault'
}

interface Sample {
  readonly atMs: number
  readonly brokerCpuNs: number
  readonly generatorCpuNs: number
  readonly published: number
  readonly deliveries: number
}

class FlowRun {
  readonly #targets: readonly Target[]
  readonly #job: FlowJob
  readonly #connectors: readonly Connector[]
  readonly #connections: Connection[] = []
  readonly #streams: readonly OutgoingStream[]
  readonly #publisherOfStream: readonly number[]
  readonly #check: SequenceCheck
  readonly #faults = new Map<string, number>()
  #publishers: readonly Publisher[] = []
  #latency = new LatencyHistogram()
  #acknowledgement = new LatencyHistogram()
  #published = 0
  #deliveries = 0
  /** Messages per ms; undefined: as fast as the window allows. */
  #perMs: number | undefined = undefined
  #isPublishing = false
  #nextPublisher = 0
  /** Publishers that may send again at the end of this turn of the event loop. */
  #ready: Publisher[] = []
  #isRefillPlanned = false

  constructor(targets: readonly Target[], job: FlowJob) {
    this.#targets = targets
    this.#job = job
    this.#connectors = targets.map((target) => new Connector(target))
    this.#streams = job.streams.map(({ receivers, topicNames }, index) => ({
      index,
      receivers: receivers.length,
      topicNames,
      sent: 0,
    }))
    this.#publisherOfStream = job.streams.map(({ publisher }) => publisher)
    this.#check = new SequenceCheck(
      job.streams.map(({ receivers }) => receivers),
      job.receivers.length,
    )
  }

  async measure(window: () => Promise<void>): Promise<FlowResult> {
    const { pace, latencyMs } = this.#job
    await this.#connect()
    this.#start(pace.perSecond)
    await this.#warmUp()
    this.#forgetTimes()
    const begin = this.#sample()
    await window()
    const end = this.#sample()
    const seconds = (end.atMs - begin.atMs) / 1000
    let publishedPerSecond = (end.published - begin.published) / seconds
    if (latencyMs > 0) {
      await this.#stop()
      publishedPerSecond /= 2
      this.#start(publishedPerSecond)
      await sleep(SETTLE_MS)
      this.#forgetTimes()
      await sleep(latencyMs)
    }
    const percentiles = this.#latency.percentiles()
    const acknowledgement = this.#acknowledgement.percentiles()
    await this.#stop()
    this.#judge()
    return {
      kind: 'flow',
      seconds,
      published: end.published - begin.published,
      deliveries: end.deliveries - begin.deliveries,
      brokerCpuNs: end.brokerCpuNs - begin.brokerCpuNs,
      generatorCpuNs: end.generatorCpuNs - begin.generatorCpuNs,
      latency: { ...percentiles, publishedPerSecond },
      acknowledgement,
    }
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }

  #forgetTimes(): void {
    this.#latency = new LatencyHistogram()
    this.#acknowledgement = new LatencyHistogram()
  }

  async #warmUp(): Promise<void> {
    const { warmUpMs, warmUpMessages } = this.#job
    await sleep(warmUpMs)
    while (this.#deliveries < warmUpMessages && this.#faults.size === 0) await sleep(10)
  }

  async #connect(): Promise<void> {
    const { publishers, receivers, bystanders, qos } = this.#job
    const nothing = { publish: () => this.#fault('PUBLISH at one that subscribed to nothing like it') }
    if (bystanders !== undefined) {
      const { connections, credentials } = bystanders
      await openMany(connections, CONNECTING_AT_ONCE, async (index) => {
        const connection = await this.#open(`bystander-${index}`, { credentials }, nothing)
        const filters = bystanderTopicFilters(bystanders, index)
        for (let at = 0; at < filters.length; at += FILTERS_OF_A_SUBSCRIBE) {
          await connection.subscribe(filters.slice(at, at + FILTERS_OF_A_SUBSCRIBE), qos)
        }
        return connection
      })
    }
    await openMany(receivers.length, CONNECTING_AT_ONCE, async (index) => {
      const receiver = receivers[index] as (typeof receivers)[number]
      const publish = (firstByte: number, bytes: Buffer, start: number, end: number): void =>
        this.#received(index, firstByte, bytes, start, end)
      const connection = await this.#open(`receiver-${index}`, receiver, { publish })
      await connection.subscribe(receiver.topicFilters, qos)
      return connection
    })
    const made: Publisher[] = []
    await openMany(publishers.length, CONNECTING_AT_ONCE, async (index) => {
      const acknowledged = (packetId: number): void => this.#acknowledged(made[index] as Publisher, packetId)
      const publisher = publishers[index] as (typeof publishers)[number]
      const connection = await this.#open(`publisher-${index}`, publisher, { ...nothing, acknowledged })
      const streams = this.#streams.filter((_, stream) => this.#publisherOfStream[stream] === index)
      made[index] = new Publisher(connection, streams, qos, this.#job.pace.window)
      return connection
    })
    this.#publishers = made
  }

  async #open(
    clientId: string,
    { credentials, target = 0, keepsSession = false }: Client & Partial<Pick<Subscriber, 'keepsSession'>>,
    handlers: {
      readonly publish: (firstByte: number, bytes: Buffer, start: number, end: number) => void
      readonly acknowledged?: (packetId: number) => void
    },
  ): Promise<Connection> {
    const connection = await (this.#connectors[target] as Connector).open({
      clientId,
      credentials,
      keepsSession,
      handlers: {
        acknowledged: () => this.#fault('PUBACK at one that published nothing'),
        failed: (reason) => this.#fault(`${clientId.replace(/-\d+$/, '')}: ${reason}`),
        ...handlers,
      },
    })
    this.#connections.push(connection)
    return connection
  }

  #received(receiver: number, firstByte: number, bytes: Buffer, start: number, end: number): void {
    if (end - start !== PAYLOAD_BYTES || firstByte !== (0x30 | (this.#job.qos << 1))) {
      this.#fault(`PUBLISH with first byte ${firstByte} and a payload of ${end - start} bytes`)
      return
    }
    const stream = bytes.readUInt32BE(start + PAYLOAD.stream)
    if (!this.#check.received(receiver, stream, bytes.readUInt32BE(start + PAYLOAD.streamSequence))) return
    this.#deliveries += 1
    this.#latency.record(performance.now() - bytes.readDoubleBE(start + PAYLOAD.sentAtMs))
    const publisher = this.#publishers[this.#publisherOfStream[stream] as number] as Publisher
    publisher.arrived(bytes.readUInt32BE(start + PAYLOAD.publisherSequence))
    this.#list(publisher)
  }

  #acknowledged(publisher: Publisher, packetId: number): void {
    const waitedMs = publisher.waitedMs(packetId, performance.now())
    if (Number.isNaN(waitedMs)) {
      this.#fault('PUBACK of no message that waits')
      return
    }
    this.#acknowledgement.record(waitedMs)
    const isNext = publisher.acknowledged(packetId)
    if (!isNext && this.#job.hasSeveralLogs !== true) this.#fault('PUBACK out of order')
    this.#list(publisher)
  }

  /**
   * A publisher sends one message per turn of the event loop, so that each is written by itself, in
   * its own TLS record, as client libraries do. The next turn comes after all packets of this turn
   * were read.
   */
  #list(publisher: Publisher): void {
    if (this.#perMs !== undefined || publisher.isListed) return
    publisher.isListed = true
    this.#ready.push(publisher)
    if (this.#isRefillPlanned) return
    this.#isRefillPlanned = true
    setImmediate(() => this.#refill())
  }

  #refill(): void {
    const ready = this.#ready
    this.#ready = []
    this.#isRefillPlanned = false
    for (const publisher of ready) {
      publisher.isListed = false
      if (!this.#isPublishing) continue
      const sent = publisher.send(1)
      this.#published += sent
      if (sent > 0) this.#list(publisher)
    }
  }

  #start(perSecond: number | undefined): void {
    this.#isPublishing = true
    this.#perMs = perSecond === undefined ? undefined : perSecond / 1000
    if (this.#perMs === undefined) for (const publisher of this.#publishers) this.#list(publisher)
    else this.#keepRate(this.#perMs, performance.now(), 0)
  }

  /** Sends the messages that are due now, publishers in turn, and comes back after a ms. */
  #keepRate(perMs: number, startedAtMs: number, sent: number): void {
    if (!this.#isPublishing) return
    const due = Math.floor((performance.now() - startedAtMs) * perMs) - sent
    const late = Math.max(0, due - Math.ceil(perMs * LONGEST_BURST_MS))
    const { length } = this.#publishers
    const now = due - late
    for (let index = 0; index < Math.min(now, length); index += 1) {
      const publisher = this.#publishers[(this.#nextPublisher + index) % length] as Publisher
      this.#published += publisher.send(Math.ceil((now - index) / length))
    }
    this.#nextPublisher = (this.#nextPublisher + now) % length
    setTimeout(() => this.#keepRate(perMs, startedAtMs, sent + due), 1)
  }

  async #stop(): Promise<void> {
    this.#isPublishing = false
    const giveUpAtMs = performance.now() + DRAIN_TIMEOUT_MS
    while (this.#publishers.some(({ onTheirWay }) => onTheirWay > 0)) {
      // A broken connection brings no more messages, and a skipped message never arrives.
      if (this.#faults.size > 0 || performance.now() > giveUpAtMs) break
      await sleep(10)
    }
  }

  #sample(): Sample {
    const { user, system } = process.cpuUsage()
    return {
      atMs: performance.now(),
      brokerCpuNs: this.#targets.reduce((sum, { pid }) => sum + cpuNanoseconds(pid), 0),
      generatorCpuNs: (user + system) * 1000,
      published: this.#published,
      deliveries: this.#deliveries,
    }
  }

  #fault(text: string): void {
    this.#faults.set(text, (this.#faults.get(text) ?? 0) + 1)
  }

  #judge(): void {
    const counts = this.#check.faults(this.#streams.map(({ sent }) => sent))
    const unacknowledged = this.#publishers.reduce((sum, { onTheirWay }) => sum + onTheirWay, 0)
    const found = [
      ...Object.entries({ ...counts, unacknowledged: counts.lost > 0 ? 0 : unacknowledged }),
      ...this.#faults,
    ].filter(([, count]) => count > 0)
    if (found.length === 0) return
    const texts = found.map(([what, count]) => `${what}: ${count}`)
    throw new FlowFault(`${texts.join(', ')} (of ${this.#published} published, ${this.#deliveries} delivered)`)
  }
}
