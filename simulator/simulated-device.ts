/**
 * One simulated class A device together with what its network server knows of it: joins, sends, and listens only
 * right after it has sent. It has no timer of its own; whoever runs it asks when something is due.
 */
import type { ErrorType, EventCommon, EventPayloads, TransmissionInfo, UplinkReception } from '../src/lorawan/events.ts'
import type { EventKind } from '../src/lorawan/topics.ts'
import type { DeviceRecord } from './device-file.ts'
import { deviceModel } from './device-models.ts'
import { parseDownlink } from './downlink.ts'
import type { Downlink } from './downlink.ts'
import { RECEIVE_DELAY_MS, dataRateFor, marginOf, maximumPayloadBytes, pickChannel } from './eu868.ts'
import type { Gateways } from './gateways.ts'
import type { Random } from './random.ts'
import { rounded } from './sensor.ts'
import type { DeviceModel, Measurement, Sensor } from './sensor.ts'

/** An event for the broker; `payload` has the shape of family A for its kind. */
export interface DeviceEvent<Kind extends EventKind = EventKind> {
  readonly applicationId: string
  readonly devEui: string
  readonly kind: Kind
  readonly payload: EventPayloads[Kind]
}

export interface SimulatedDeviceSettings {
  readonly record: DeviceRecord
  readonly gateways: Gateways
  /** A stream of the device's own. */
  readonly random: Random
  /** Mean time between two uplinks, in milliseconds. */
  readonly intervalMs: number
  /** When the device joins, in milliseconds since 1970. */
  readonly joinAtMs: number
  /** The part of confirmed downlinks that the device does not acknowledge, 0 to 1; by default one of its own. */
  readonly faultRate?: number
}

/** Downlinks that wait for a device; one more is answered with an error event, so that a flood takes no memory. */
const MAXIMUM_QUEUE = 16

/** A waiting downlink brings the next uplink forward to within this time, so that nobody waits minutes in a demonstration. */
const HASTENED_UPLINK_MS = 2000

/** Every so many uplinks a status follows. */
const UPLINKS_PER_STATUS = 10

const RETRANSMISSION_RATE = 0.01
const CODEC_ERROR_RATE = 0.005

/** The last reception decides data rate and gateway of the downlinks. */
interface Link {
  readonly best: UplinkReception
  readonly txInfo: TransmissionInfo
}

export class SimulatedDevice {
  readonly record: DeviceRecord
  readonly #model: DeviceModel
  readonly #sensor: Sensor
  readonly #gateways: Gateways
  readonly #random: Random
  readonly #intervalMs: number
  readonly #faultRate: number
  readonly #common: EventCommon
  readonly #queue: Downlink[] = []
  #link: Link | undefined
  #uplinkAtMs: number
  /** When the receive window of the last uplink opens; undefined where nothing is to be sent in it. */
  #transmitAtMs: number | undefined
  /** The frame counter of the confirmed downlink that the next uplink answers. */
  #unacknowledged: number | undefined
  #fCntUp = 0
  #fCntDown = 0
  #batteryLevel: number

  constructor(settings: SimulatedDeviceSettings) {
    const { record, random } = settings
    this.record = record
    this.#model = deviceModel(record.model)
    this.#sensor = this.#model.createSensor(random.fork('sensor'), record.location)
    this.#gateways = settings.gateways
    this.#random = random
    this.#intervalMs = settings.intervalMs
    // Most devices answer nearly always; some are in cellars.
    this.#faultRate = settings.faultRate ?? (random.chance(0.1) ? 0.3 : 0.03)
    this.#uplinkAtMs = settings.joinAtMs
    this.#batteryLevel = random.between(55, 100)
    this.#common = {
      applicationID: record.applicationID,
      applicationName: record.applicationName,
      deviceName: record.deviceName,
      devEUI: record.devEUI,
      tags: record.tags ?? {},
    }
  }

  /** When `run` next has something to do, in milliseconds since 1970. */
  get dueAtMs(): number {
    return Math.min(this.#uplinkAtMs, this.#transmitAtMs ?? Number.POSITIVE_INFINITY)
  }

  /** Does the one thing that is due at this time, and gives the events of it in order; none where nothing is due. */
  run(nowMs: number): DeviceEvent[] {
    if (this.#transmitAtMs !== undefined && this.#transmitAtMs <= nowMs) return this.#transmit(nowMs)
    if (this.#uplinkAtMs > nowMs) return []
    return this.#link === undefined ? this.#join(nowMs) : this.#uplink(nowMs, this.#link)
  }

  /** Takes a command from the broker. What cannot be sent is answered with an error event at once. */
  receive(payload: Buffer, nowMs: number): DeviceEvent[] {
    const result = parseDownlink(payload)
    if (!result.ok) return [this.#error(result.codec ? 'DOWNLINK_CODEC' : 'UNKNOWN', result.message, this.#fCntDown)]
    if (this.#queue.length >= MAXIMUM_QUEUE) {
      return [this.#error('UNKNOWN', `the device's downlink queue is full (${MAXIMUM_QUEUE})`, this.#fCntDown)]
    }
    this.#queue.push(result.downlink)
    if (this.#link !== undefined) this.#hasten(nowMs)
    return []
  }

  #join(nowMs: number): DeviceEvent[] {
    const { rxInfo, txInfo } = this.#send(nowMs)
    this.#uplinkAtMs = nowMs + this.#random.between(2000, 2000 + Math.min(this.#intervalMs, 30_000))
    return [this.#event('join', { ...this.#common, devAddr: `01${this.#random.hex(3)}`, rxInfo, txInfo })]
  }

  #uplink(nowMs: number, lastLink: Link): DeviceEvent[] {
    const measurement = this.#sensor.measure(nowMs)
    const { rxInfo, txInfo } = this.#send(nowMs)
    const fCnt = this.#fCntUp
    this.#fCntUp += 1
    this.#uplinkAtMs = nowMs + this.#intervalMs * this.#random.between(0.9, 1.1)
    if (this.#queue.length > 0) this.#transmitAtMs = nowMs + RECEIVE_DELAY_MS

    const events: DeviceEvent[] = []
    if (this.#random.chance(RETRANSMISSION_RATE) && fCnt > 0) {
      const text = `frame-counter did not increment (devEUI ${this.record.devEUI}, fCnt ${fCnt - 1})`
      events.push(this.#error('UPLINK_FCNT_RETRANSMISSION', text, fCnt - 1))
    }
    const isDecoded = !this.#random.chance(CODEC_ERROR_RATE)
    if (!isDecoded) events.push(this.#error('UPLINK_CODEC', 'decode payload: unexpected end of the payload', fCnt))
    events.push(this.#up(measurement, { rxInfo, txInfo }, fCnt, isDecoded))
    if (this.#unacknowledged !== undefined) {
      const acknowledged = !this.#random.chance(this.#faultRate)
      events.push(this.#event('ack', { ...this.#common, acknowledged, fCnt: this.#unacknowledged }))
      this.#unacknowledged = undefined
    }
    const position = this.#sensor.position?.()
    if (position !== undefined) {
      const { latitude, longitude, altitude } = position
      const location = { latitude: rounded(latitude, 5), longitude: rounded(longitude, 5), altitude }
      events.push(this.#event('location', { ...this.#common, location }))
    }
    if (fCnt % UPLINKS_PER_STATUS === 0) events.push(this.#status(lastLink))
    return events
  }

  #up(
    measurement: Measurement,
    radio: { rxInfo: readonly UplinkReception[]; txInfo: TransmissionInfo },
    fCnt: number,
    isDecoded: boolean,
  ): DeviceEvent<'up'> {
    return this.#event('up', {
      ...this.#common,
      deviceProfileName: this.record.deviceProfileName ?? this.#model.deviceProfileName,
      deviceProfileID: this.#model.deviceProfileId,
      ...radio,
      adr: true,
      fCnt,
      fPort: measurement.fPort,
      data: measurement.bytes.toString('base64'),
      ...(isDecoded ? { object: measurement.object } : {}),
    })
  }

  #status(link: Link): DeviceEvent {
    const externalPowerSource = this.#model.externalPowerSource
    this.#batteryLevel = Math.max(1, this.#batteryLevel - this.#random.between(0, 0.05))
    return this.#event('status', {
      ...this.#common,
      margin: marginOf(link.best.loRaSNR, link.txInfo.dr),
      externalPowerSource,
      batteryLevel: externalPowerSource ? 0 : rounded(this.#batteryLevel, 2),
      batteryLevelUnavailable: false,
    })
  }

  /** Sends the first downlink that can be sent in the receive window that opens now. */
  #transmit(nowMs: number): DeviceEvent[] {
    this.#transmitAtMs = undefined
    const events: DeviceEvent[] = []
    const link = this.#link
    if (link === undefined) return events
    for (;;) {
      const downlink = this.#queue.shift()
      if (downlink === undefined) break
      const fault = downlinkFault(downlink, link, nowMs)
      if (fault !== undefined) {
        events.push(this.#error(fault.type, fault.message, this.#fCntDown))
        continue
      }
      const fCnt = this.#fCntDown
      this.#fCntDown += 1
      this.#sensor.command?.(downlink.fPort, downlink.bytes)
      const { gatewayID } = link.best
      events.push(this.#event('txack', { ...this.#common, fCnt, gatewayID, txInfo: link.txInfo }))
      if (downlink.confirmed) this.#unacknowledged = fCnt
      break
    }
    if (this.#unacknowledged !== undefined || this.#queue.length > 0) this.#hasten(nowMs)
    return events
  }

  /** An uplink's radio side: who heard it, and the data rate that follows from that. */
  #send(nowMs: number): { rxInfo: readonly UplinkReception[]; txInfo: TransmissionInfo } {
    const from = this.#sensor.position?.() ?? this.record.location
    const rxInfo = this.#gateways.receptions(from, this.#random, nowMs)
    const txInfo = { frequency: pickChannel(this.#random), dr: dataRateFor(this.#link?.best.loRaSNR ?? 0) }
    this.#link = { best: rxInfo[0], txInfo }
    return { rxInfo, txInfo }
  }

  #hasten(nowMs: number): void {
    this.#uplinkAtMs = Math.min(
      this.#uplinkAtMs,
      nowMs + this.#random.between(HASTENED_UPLINK_MS / 2, HASTENED_UPLINK_MS),
    )
  }

  #error(type: ErrorType, error: string, fCnt: number): DeviceEvent<'error'> {
    return this.#event('error', { ...this.#common, type, error, fCnt })
  }

  #event<Kind extends EventKind>(kind: Kind, payload: EventPayloads[Kind]): DeviceEvent<Kind> {
    return { applicationId: this.record.applicationID, devEui: this.record.devEUI, kind, payload }
  }
}

/** Why a downlink cannot be sent over this link now. */
function downlinkFault(
  downlink: Downlink,
  link: Link,
  nowMs: number,
): { type: ErrorType; message: string } | undefined {
  if (downlink.expiresAtMs !== undefined && downlink.expiresAtMs <= nowMs) {
    return { type: 'UNKNOWN', message: 'the downlink expired before it could be sent' }
  }
  const { dr } = link.txInfo
  const maximum = maximumPayloadBytes(dr)
  if (downlink.bytes.length <= maximum) return undefined
  return {
    type: 'DOWNLINK_PAYLOAD_SIZE',
    message: `payload of ${downlink.bytes.length} bytes exceeds the maximum of ${maximum} at DR${dr}`,
  }
}
