/**
 * One simulated device: joins by OTAA, measures, sends and listens, through an air that loses
 * frames. `network-side.ts` has the network server's side. The device has no timer of its own; its
 * owner runs it when it is due.
 */
import { DeviceDataRate } from './adaptive-data-rate.ts'
import type { DeviceRecord } from './device-file.ts'
import { deviceModel } from './device-models.ts'
import type { Family } from './downlink.ts'
import { FrameCounter } from './frame-counter.ts'
import type { Gateways } from './gateways.ts'
import type { DeviceIdentity, Heard, NetworkEvent } from './network-event.ts'
import { NetworkSide } from './network-side.ts'
import type { CommandFate } from './network-side.ts'
import type { DownlinkFrame, RadioSettings, UplinkFrame } from './radio.ts'
import type { Random } from './random.ts'
import { airtimeMs, dataRateThatCarries, marginOf, pickChannel, requiredSnr } from './region.ts'
import type { DataRate } from './region.ts'
import { rounded } from './sensor.ts'
import type { DeviceModel, Sensor } from './sensor.ts'

export interface SimulatedDeviceSettings {
  readonly record: DeviceRecord
  readonly radio: RadioSettings
  /** The spelling of commands. */
  readonly family: Family
  readonly gateways: Gateways
  /** The device's own stream of random numbers. */
  readonly random: Random
  /** Mean time between two uplinks, in milliseconds. */
  readonly intervalMs: number
  /** The time at which the simulation starts, in milliseconds since 1970. */
  readonly startMs: number
  /**
   * The device begins to join within this time after the start; a device that has a session sends
   * within an interval.
   */
  readonly startWindowMs: number
}

/**
 * The time from a downlink that asks for an uplink to the uplink that acknowledges it or fetches
 * the next.
 */
const HASTENED_UPLINK_MS = [1000, 2000] as const

/** The time from the join accept to the first uplink. */
const FIRST_UPLINK_MS = [1000, 3000] as const

/** The time from a frame to its repetition: after both receive windows. */
const REPETITION_MS = [2200, 4000] as const

/** The most transmissions of a confirmed uplink. */
const MAXIMUM_TRANSMISSIONS = 4

/**
 * The time between two join requests: after the windows of the first, doubled with each further
 * request, at most to 32 times.
 */
const JOIN_RETRY_MS = [6500, 9000] as const
const MAXIMUM_JOIN_DOUBLINGS = 5

/** After a power cut the devices start within this time, nearly all at once. */
const POWER_RETURN_MS = 1000

/** The network server asks for the status once in this many uplinks. */
const UPLINKS_PER_STATUS = 10

/**
 * The share of the battery that a second on the air costs, in percent. Below 1 percent, somebody
 * replaces the battery.
 */
const BATTERY_PER_SECOND = 0.02

/** An uplink that may be sent again unchanged. */
interface Repetition {
  readonly frame: UplinkFrame
  readonly atMs: number
  readonly remaining: number
}

export class SimulatedDevice {
  readonly record: DeviceRecord
  readonly #settings: SimulatedDeviceSettings
  readonly #model: DeviceModel
  readonly #sensor: Sensor
  readonly #identity: DeviceIdentity
  readonly #network: NetworkSide
  readonly #dataRate: DeviceDataRate
  #counter: FrameCounter | undefined
  #devNonce = 0
  #joinRequests = 0
  /**
   * The time at which the device next sends of its own accord: a join request or, with a session,
   * an uplink.
   */
  #sendAtMs: number
  #repetition: Repetition | undefined
  #powerCutAtMs: number
  #hasConfirmedDownlink = false
  #uplinks: number
  #lastHeard: Heard | undefined
  #batteryLevel: number

  constructor(settings: SimulatedDeviceSettings) {
    const { record, radio, random, gateways, family } = settings
    this.record = record
    this.#settings = settings
    this.#model = deviceModel(record.model)
    this.#sensor = this.#model.createSensor(random.fork('sensor'), record.location)
    this.#identity = {
      record,
      deviceProfileName: record.deviceProfileName ?? this.#model.deviceProfileName,
      deviceProfileId: this.#model.deviceProfileId,
      deviceClass: record.deviceClass ?? (random.chance(radio.classCShare) ? 'C' : 'A'),
      regionId: radio.region.id,
    }
    const hasCodec = !random.chance(radio.withoutObjectShare)
    const resumedAfterFCnt = random.chance(radio.resumedShare) ? random.integer(0, 40_000) : undefined
    if (resumedAfterFCnt !== undefined) {
      this.#counter = new FrameCounter(radio.frameCounterBits, resumedAfterFCnt + 1)
    }
    const identity = this.#identity
    this.#network = new NetworkSide({ identity, radio, family, gateways, random, hasCodec, resumedAfterFCnt })
    this.#dataRate = new DeviceDataRate(radio.region, radio.region.dataRates.at(-1) ?? radio.region.dataRates[0])
    const isResumed = resumedAfterFCnt !== undefined
    this.#sendAtMs = settings.startMs + random.between(0, isResumed ? settings.intervalMs : settings.startWindowMs)
    // Devices that existed before the start are each at another place between two statuses.
    this.#uplinks = isResumed ? random.integer(0, UPLINKS_PER_STATUS - 1) : 0
    this.#powerCutAtMs = settings.startMs + (radio.powerCutEveryMs ?? Number.POSITIVE_INFINITY)
    this.#batteryLevel = random.between(55, 100)
  }

  /** The time at which `run` next has work, in milliseconds since 1970. */
  get dueAtMs(): number {
    return Math.min(this.#ownDueAtMs, this.#network.dueAtMs)
  }

  /**
   * Does the one step that is due at this time. Returns its events in order; empty: nothing is due.
   */
  run(nowMs: number): readonly NetworkEvent[] {
    if (this.dueAtMs > nowMs) return []
    if (this.#network.dueAtMs <= this.#ownDueAtMs) {
      const { events, frame } = this.#network.run(nowMs)
      const isReceived = frame !== undefined && !this.#settings.random.chance(this.#settings.radio.downlinkLossRate)
      if (isReceived && frame.kind === 'join-accept') this.#beginSession(nowMs)
      if (isReceived && frame.kind === 'downlink') this.#listen(frame, nowMs)
      return events
    }
    if (this.#powerCutAtMs <= nowMs) return this.#losePower(nowMs)
    const repetition = this.#repetition
    if (repetition !== undefined && repetition.atMs <= nowMs) return this.#repeat(repetition, nowMs)
    return this.#counter === undefined ? this.#join(nowMs) : this.#uplink(this.#counter, nowMs)
  }

  /** Takes a command from the broker. */
  receive(payload: Buffer, nowMs: number): CommandFate {
    return this.#network.receive(payload, nowMs)
  }

  get #ownDueAtMs(): number {
    const sendAtMs = Math.min(this.#sendAtMs, this.#repetition?.atMs ?? Number.POSITIVE_INFINITY)
    // No device sends while it listens, whatever its interval [LoRaWAN 1.0.4 §3.3.1].
    return Math.min(Math.max(sendAtMs, this.#network.answerAtMs ?? 0), this.#powerCutAtMs)
  }

  #losePower(nowMs: number): readonly NetworkEvent[] {
    this.#powerCutAtMs += this.#settings.radio.powerCutEveryMs ?? Number.POSITIVE_INFINITY
    this.#restart(nowMs + this.#between([0, POWER_RETURN_MS]))
    return []
  }

  /** Forgets the session; the device joins again. */
  #restart(joinAtMs: number): void {
    this.#counter = undefined
    this.#repetition = undefined
    this.#hasConfirmedDownlink = false
    this.#joinRequests = 0
    this.#sendAtMs = joinAtMs
  }

  #join(nowMs: number): readonly NetworkEvent[] {
    const { radio, random } = this.#settings
    const { heard } = this.#send(this.#dataRate.current, 23, nowMs)
    const doublings = Math.min(this.#joinRequests, MAXIMUM_JOIN_DOUBLINGS)
    this.#joinRequests += 1
    this.#sendAtMs = nowMs + this.#between(JOIN_RETRY_MS) * 2 ** doublings
    const request = { kind: 'join-request', devNonce: this.#devNonce } as const
    this.#devNonce += 1
    if (heard === undefined) {
      this.#dataRate.slowDown()
      return []
    }
    const events = this.#network.hearJoin(request, heard, nowMs)
    // The air may carry the same frame twice, on different ways.
    return random.chance(radio.repeatRate) ? [...events, ...this.#network.hearJoin(request, heard, nowMs)] : events
  }

  #beginSession(nowMs: number): void {
    this.#counter = new FrameCounter(this.#settings.radio.frameCounterBits)
    this.#dataRate.answered(undefined)
    this.#joinRequests = 0
    this.#sendAtMs = nowMs + this.#between(FIRST_UPLINK_MS)
  }

  #uplink(counter: FrameCounter, nowMs: number): readonly NetworkEvent[] {
    const { radio, random, intervalMs } = this.#settings
    const fCnt = counter.take()
    if (fCnt === undefined || random.chance(radio.rejoinRate)) {
      this.#restart(nowMs)
      return this.#join(nowMs)
    }
    this.#dataRate.countUplink()
    const frame: UplinkFrame = {
      kind: 'uplink',
      counter16: fCnt & 0xffff,
      measurement: this.#sensor.measure(nowMs),
      confirmed: random.chance(radio.confirmedRate),
      // A device that moves keeps its data rate: advice for the last place is useless at the next.
      adr: this.#sensor.position === undefined,
      acknowledges: this.#hasConfirmedDownlink,
      asksForAnswer: this.#dataRate.asksForAnswer,
    }
    this.#hasConfirmedDownlink = false
    this.#sendAtMs = nowMs + intervalMs * random.between(0.9, 1.1)
    const remaining = frame.confirmed ? MAXIMUM_TRANSMISSIONS - 1 : Number(random.chance(radio.repeatRate))
    return this.#transmit(frame, remaining, nowMs)
  }

  #repeat({ frame, remaining }: Repetition, nowMs: number): readonly NetworkEvent[] {
    return this.#transmit(frame, remaining - 1, nowMs)
  }

  /** Sends a frame, which may be sent `remaining` times more unless a downlink answers it. */
  #transmit(frame: UplinkFrame, remaining: number, nowMs: number): readonly NetworkEvent[] {
    const { bytes } = frame.measurement
    const dataRate = dataRateThatCarries(this.#settings.radio.region, this.#dataRate.current, bytes.length)
    this.#repetition = remaining > 0 ? { frame, remaining, atMs: nowMs + this.#between(REPETITION_MS) } : undefined
    const { heard } = this.#send(dataRate, bytes.length, nowMs)
    if (heard === undefined) return []
    const events = this.#network.hearUplink(frame, heard, nowMs)
    const isNew = events.some(({ kind }) => kind === 'up')
    return isNew ? [...events, ...this.#afterUplink(heard, nowMs)] : events
  }

  /**
   * The events that come with uplinks: the location of a moving device, and the status now and
   * then.
   */
  #afterUplink(heard: Heard, nowMs: number): NetworkEvent[] {
    const { random } = this.#settings
    const base = { device: this.#identity, atMs: nowMs, deduplicationId: random.uuid() }
    const events: NetworkEvent[] = []
    const position = this.#sensor.position?.()
    if (position !== undefined) {
      const { latitude, longitude, altitude } = position
      const location = { latitude: rounded(latitude, 5), longitude: rounded(longitude, 5), altitude }
      events.push({ ...base, kind: 'location', location })
    }
    if (this.#uplinks % UPLINKS_PER_STATUS === 0) {
      const { externalPowerSource } = this.#model
      const margin = marginOf((this.#lastHeard ?? heard).receptions[0].snr, heard.carrier.dataRate)
      const batteryLevel = externalPowerSource ? 0 : rounded(this.#batteryLevel, 2)
      events.push({ ...base, kind: 'status', margin, externalPowerSource, batteryLevel })
    }
    this.#uplinks += 1
    this.#lastHeard = heard
    return events
  }

  /** Puts a frame on the air. Returns its receptions; undefined: it is lost. */
  #send(dataRate: DataRate, bytes: number, nowMs: number): { heard: Heard | undefined } {
    const { radio, random, gateways } = this.#settings
    this.#batteryLevel -= (airtimeMs(dataRate, bytes) / 1000) * BATTERY_PER_SECOND
    if (this.#batteryLevel < 1) this.#batteryLevel = 100
    const frame = {
      from: this.#sensor.position?.() ?? this.record.location,
      atMs: nowMs,
      requiredSnr: requiredSnr(dataRate),
      faintest: requiredSnr(radio.region.dataRates[0]),
    }
    const carrier = { frequency: pickChannel(radio.region, random), dataRate }
    const [best, ...others] = gateways.receptions(frame, random)
    if (best === undefined || random.chance(radio.uplinkLossRate)) return { heard: undefined }
    return { heard: { carrier, receptions: [best, ...others] } }
  }

  /** A frame from the network server reached the device. */
  #listen({ downlink, dataRate, hasMore }: DownlinkFrame, nowMs: number): void {
    // A device that has started anew has no keys for the frame.
    if (this.#counter === undefined) return
    this.#dataRate.answered(dataRate)
    this.#repetition = undefined
    if (downlink !== undefined) this.#sensor.command?.(downlink.fPort, downlink.bytes)
    this.#hasConfirmedDownlink ||= downlink?.confirmed === true
    if (this.#hasConfirmedDownlink || hasMore) {
      this.#sendAtMs = Math.min(this.#sendAtMs, nowMs + this.#between(HASTENED_UPLINK_MS))
    }
  }

  #between([low, high]: readonly [number, number]): number {
    return this.#settings.random.between(low, high)
  }
}
