/**
 * Sends uplinks of applications without a codec all the time and, in every second phase, uplinks of
 * applications with a script beside them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { encodePublish } from '../../src/mqtt/publish.ts'
import { startBrokerCpu } from './broker-cpu.ts'
import type { UplinkJob, UplinkPhase, UplinkResult } from './codec-job.ts'
import { Connector, openMany } from './connection.ts'
import type { Connection } from './connection.ts'
import { Faults } from './faults.ts'
import type { Target } from './job.ts'
import { keepRate } from './keep-rate.ts'
import { LatencyHistogram } from './latency-histogram.ts'

const CONNECTING_AT_ONCE = 32
const DRAIN_TIMEOUT_MS = 20_000
/** The pause between two phases, in which the rest of the first phase drains. */
const SETTLE_MS = 500
/**
 * The number of last uplinks of a kind that are remembered: half a minute of them at the usual
 * rate.
 */
const REMEMBERED = 65_536
/**
 * The number of each uplink is its frame counter. Numbers begin here, so each has ten digits at a
 * known place.
 */
const FIRST_PLAIN = 1_000_000_000
const FIRST_DECODED = 2_000_000_000
const NUMBER_START = '{"fCnt":'.length
const NUMBER_DIGITS = 10
/** The member that the script makes of the uplinks' data. */
const DECODED_MEMBER = '"object":{"battery":92,"temperature":30.8,"humidity":50.5}'

/** Runs the job. Throws if an uplink was lost or doubled. */
export async function runUplinks(target: Target, job: UplinkJob): Promise<UplinkResult> {
  const load = new UplinkLoad(target, job)
  try {
    return await load.measure()
  } finally {
    load.close()
  }
}

class UplinkLoad {
  readonly #target: Target
  readonly #job: UplinkJob
  readonly #faults = new Faults()
  readonly #connections: Connection[] = []
  readonly #plain: Traffic
  readonly #decoded: Traffic
  /** The count of the phase. */
  #notDecoded = 0

  constructor(target: Target, job: UplinkJob) {
    this.#target = target
    this.#job = job
    this.#plain = new Traffic(job.plainTopicNames, FIRST_PLAIN)
    this.#decoded = new Traffic(job.decodedTopicNames, FIRST_DECODED)
  }

  async measure(): Promise<UplinkResult> {
    const { plainPerSecond, decodedPerSecond, warmUpMs, pairs, phaseMs } = this.#job
    const publisher = await this.#connect()
    const without: UplinkPhase[] = []
    const withScripts: UplinkPhase[] = []
    const stopPlain = keepRate(plainPerSecond, (due) => this.#plain.send(publisher, due))
    const startDecoded = (): (() => void) => keepRate(decodedPerSecond, (due) => this.#decoded.send(publisher, due))
    const stopWarmUp = startDecoded()
    await sleep(warmUpMs)
    stopWarmUp()
    for (let pair = 0; pair < pairs; pair += 1) {
      await sleep(SETTLE_MS)
      without.push(await this.#phase(phaseMs))
      const stop = startDecoded()
      await sleep(SETTLE_MS)
      withScripts.push(await this.#phase(phaseMs))
      stop()
    }
    stopPlain()
    await this.#drain()
    this.#faults.judge()
    return { kind: 'uplinks', without, with: withScripts }
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }

  async #connect(): Promise<Connection> {
    const connector = new Connector(this.#target)
    const { networkServer, receivers } = this.#job
    const failed = (reason: string): void => this.#faults.add(reason)
    const acknowledged = (): void => failed('PUBACK at QoS 0')
    const publish = (_firstByte: number, bytes: Buffer, start: number, end: number): void =>
      this.#arrived(bytes, start, end)
    const opened = await openMany(receivers.length, CONNECTING_AT_ONCE, async (index) => {
      const { credentials, topicFilters } = receivers[index] as (typeof receivers)[number]
      const handlers = { publish, acknowledged, failed }
      const connection = await connector.open({ clientId: `receiver-${index}`, credentials, handlers })
      await connection.subscribe(topicFilters, 0)
      return connection
    })
    const publisher = await connector.open({
      clientId: 'network-server',
      credentials: networkServer.credentials,
      handlers: { publish: () => failed('PUBLISH at the network server'), acknowledged, failed },
    })
    this.#connections.push(...opened, publisher)
    return publisher
  }

  async #phase(forMs: number): Promise<UplinkPhase> {
    this.#plain.begin()
    this.#decoded.begin()
    this.#notDecoded = 0
    const cpu = startBrokerCpu(this.#target.pid)
    await sleep(forMs)
    return {
      ...cpu(),
      plain: this.#plain.latency.percentiles(),
      plainUplinks: this.#plain.arrived,
      decoded: this.#decoded.latency.percentiles(),
      decodedUplinks: this.#decoded.arrived,
      notDecoded: this.#notDecoded,
    }
  }

  #arrived(bytes: Buffer, start: number, end: number): void {
    const number = Number(bytes.toString('latin1', start + NUMBER_START, start + NUMBER_START + NUMBER_DIGITS))
    const isDecoded = number >= FIRST_DECODED
    const traffic = isDecoded ? this.#decoded : this.#plain
    if (!traffic.received(number)) this.#faults.add('doubled or never sent')
    if (isDecoded && !bytes.toString('latin1', start, end).includes(DECODED_MEMBER)) this.#notDecoded += 1
  }

  async #drain(): Promise<void> {
    const giveUpAtMs = performance.now() + DRAIN_TIMEOUT_MS
    const onTheirWay = (): number => this.#plain.onTheirWay + this.#decoded.onTheirWay
    while (onTheirWay() > 0 && performance.now() < giveUpAtMs) await sleep(10)
    if (onTheirWay() > 0) this.#faults.add('lost', onTheirWay())
  }
}

/** Uplinks of one kind: their packets, numbers and latencies. */
class Traffic {
  latency = new LatencyHistogram()
  /** The count of the phase. */
  arrived = 0
  onTheirWay = 0
  readonly #first: number
  readonly #packets: readonly Buffer[]
  readonly #payloadLength: number
  /** A ring by number: the uplink at each place, and its time of sending. */
  readonly #numbers = new Float64Array(REMEMBERED).fill(-1)
  readonly #sentAtMs = new Float64Array(REMEMBERED)
  #sent = 0

  constructor(topicNames: readonly string[], first: number) {
    this.#first = first
    const payload = eventPayload(first)
    this.#payloadLength = payload.length
    const fields = { payload, qos: 0, retain: false, dup: false } as const
    this.#packets = topicNames.map((topicName) => encodePublish({ topicName, ...fields }, 4).bytes)
  }

  begin(): void {
    this.latency = new LatencyHistogram()
    this.arrived = 0
  }

  /** Sends uplinks of the devices in turn, each in its own TLS record. */
  send(connection: Connection, count: number): void {
    for (let index = 0; index < count; index += 1) {
      const number = this.#first + this.#sent
      const bytes = Buffer.from(this.#packets[this.#sent % this.#packets.length] as Buffer)
      bytes.write(String(number), bytes.length - this.#payloadLength + NUMBER_START, NUMBER_DIGITS, 'latin1')
      this.#numbers[number % REMEMBERED] = number
      this.#sentAtMs[number % REMEMBERED] = performance.now()
      this.#sent += 1
      this.onTheirWay += 1
      connection.write(bytes)
    }
  }

  /** False: no uplink with this number is on its way. */
  received(number: number): boolean {
    const place = number % REMEMBERED
    if (this.#numbers[place] !== number) return false
    this.#numbers[place] = -1
    this.latency.record(performance.now() - (this.#sentAtMs[place] as number))
    this.arrived += 1
    this.onTheirWay -= 1
    return true
  }
}

/** An uplink in the form of ChirpStack v3, heard by three gateways. */
function eventPayload(fCnt: number): Buffer {
  const rxInfo = [1, 2, 3].map((n) => ({
    gatewayID: `020202020202020${n}`,
    time: '2026-01-15T12:00:00Z',
    rssi: -57,
    loRaSNR: 10,
  }))
  const event = {
    fCnt,
    applicationName: 'meters',
    deviceName: 'meter',
    rxInfo,
    txInfo: { frequency: 868_100_000, dr: 5 },
    adr: true,
    fPort: 85,
    data: Buffer.from('01755c03673401046865', 'hex').toString('base64'),
    tags: {},
  }
  return Buffer.from(JSON.stringify(event))
}
