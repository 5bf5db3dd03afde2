/**
 * Plays the life of one LoRaWAN device: it joins until it is answered, measures, sends, and
 * executes downlinks.
 */
import { deviceModel } from '../device-models.ts'
import type { Timers } from '../fleet.ts'
import type { Random } from '../random.ts'
import type { Sensor } from '../sensor.ts'
import { LorawanDevice } from './device.ts'
import type { Radio, ReceivedFrame } from './device.ts'
import type { LorawanRecord } from './device-list.ts'
import type { LorawanOptions } from './lorawan-command-line.ts'
import type { LorawanStatistics } from './lorawan-statistics.ts'

export interface PlayerSettings {
  readonly record: LorawanRecord
  readonly options: Pick<LorawanOptions, 'intervalMs' | 'startWindowMs' | 'confirmedShare' | 'region'>
  readonly gateways: readonly Radio[]
  readonly random: Random
  readonly timers: Timers
  readonly statistics: LorawanStatistics
  readonly told: PlayerListener
}

/** Gets the events of the device. */
export interface PlayerListener {
  joined(player: LorawanPlayer): void
  /** No answer came; the device asks again later. */
  unanswered(player: LorawanPlayer): void
  sent(player: LorawanPlayer, uplink: SentUplink): void
  received(player: LorawanPlayer, frame: ReceivedFrame): void
  /** The broker did not accept a frame. */
  failed(player: LorawanPlayer, reason: string): void
}

export interface SentUplink {
  readonly fCnt: number
  readonly fPort: number
  readonly bytes: Buffer
  readonly isConfirmed: boolean
}

/** The place of the sensors. */
const PLACE = { latitude: 47.3769, longitude: 8.5417, altitude: 410 }
/** The time from the join accept to the first uplink. */
const FIRST_UPLINK_MS = [1000, 3000] as const
/**
 * The time from a downlink that asks for an uplink to the uplink that acknowledges it or fetches
 * the next.
 */
const HASTENED_UPLINK_MS = [1000, 2000] as const
/**
 * The time between join requests; doubled after each request without an answer, at most to 32
 * times.
 */
const JOIN_RETRY_MS = [5000, 10_000] as const
const MAXIMUM_JOIN_DOUBLINGS = 5
/** The time for which a confirmed uplink waits for its acknowledgement before it is sent again. */
const ACKNOWLEDGEMENT_MS = 4000
/** How often a confirmed uplink is sent at most. */
const MAXIMUM_TRANSMISSIONS = 4

export class LorawanPlayer {
  readonly record: LorawanRecord
  readonly device: LorawanDevice
  readonly #settings: PlayerSettings
  readonly #sensor: Sensor
  #callOff: () => void = () => {}
  #unansweredJoins = 0
  #isStopped = false

  constructor(settings: PlayerSettings) {
    const { record, gateways, random, options } = settings
    this.record = record
    this.#settings = settings
    this.#sensor = deviceModel(record.model).createSensor(random.fork('sensor'), PLACE)
    const { devEui, joinEui, appKey, deviceClass } = record
    this.device = new LorawanDevice({
      devEui,
      joinEui,
      appKey,
      deviceClass,
      gateways,
      region: options.region,
      rssi: random.integer(-115, -60),
      snr: random.integer(-5, 10),
    })
    this.device.mac.battery = deviceModel(record.model).externalPowerSource ? 0 : random.integer(100, 254)
    this.device.onFrame((frame) => this.#receive(frame))
  }

  start(): void {
    this.#after(this.#settings.random.between(0, this.#settings.options.startWindowMs), () => this.#join())
  }

  stop(): void {
    this.#isStopped = true
    this.#callOff()
    this.device.close()
  }

  async #join(): Promise<void> {
    const { statistics, told, random } = this.#settings
    statistics.joinRequests += 1
    try {
      await this.device.join()
    } catch {
      if (this.#isStopped) return
      told.unanswered(this)
      const doublings = Math.min(this.#unansweredJoins, MAXIMUM_JOIN_DOUBLINGS)
      this.#unansweredJoins += 1
      this.#after(random.between(...JOIN_RETRY_MS) * 2 ** doublings, () => this.#join())
      return
    }
    this.#unansweredJoins = 0
    statistics.joins += 1
    told.joined(this)
    this.#after(random.between(...FIRST_UPLINK_MS), () => this.#send())
  }

  async #send(): Promise<void> {
    const { statistics, told, random, options, timers } = this.#settings
    // The next uplink is due whether this one succeeds or fails.
    this.#after(options.intervalMs * random.between(0.5, 1.5), () => this.#send())
    const { fPort, bytes } = this.#sensor.measure(timers.nowMs())
    const isConfirmed = random.chance(options.confirmedShare)
    try {
      const fCnt = await this.device.uplink(fPort, bytes, { isConfirmed })
      statistics.uplinks += 1
      told.sent(this, { fCnt, fPort, bytes, isConfirmed })
      if (isConfirmed) await this.#awaitAcknowledgement(fCnt)
    } catch (error) {
      if (!this.#isStopped) told.failed(this, error instanceof Error ? error.message : String(error))
    }
  }

  /** Sends the uplink again until it is acknowledged or the next uplink is under way. */
  async #awaitAcknowledgement(fCnt: number): Promise<void> {
    const { statistics } = this.#settings
    for (let transmissions = 1; transmissions <= MAXIMUM_TRANSMISSIONS; transmissions += 1) {
      const acknowledged = this.device.nextFrame(({ isAcknowledgement }) => isAcknowledgement, ACKNOWLEDGEMENT_MS)
      const isAcknowledged = await acknowledged.then(
        () => true,
        () => false,
      )
      if (isAcknowledged) {
        statistics.acknowledgedUplinks += 1
        return
      }
      if (this.#isStopped || this.device.fCntUp !== fCnt + 1) return
      await this.device.repeat()
    }
    statistics.unacknowledgedUplinks += 1
  }

  #receive(frame: ReceivedFrame): void {
    const { statistics, told, random } = this.#settings
    const { fPort, payload } = frame
    if (fPort !== undefined && fPort > 0) {
      statistics.commands += 1
      this.#sensor.command?.(fPort, payload)
    }
    told.received(this, frame)
    const isHastened = frame.isPending || (frame.isConfirmed && this.record.deviceClass === 'A')
    if (isHastened) this.#after(random.between(...HASTENED_UPLINK_MS), () => this.#send())
  }

  /** Sets the only timer: runs `run` after a delay in milliseconds. */
  #after(delayMs: number, run: () => Promise<void>): void {
    this.#callOff()
    if (this.#isStopped) return
    this.#callOff = this.#settings.timers.after(delayMs, () => void run())
  }
}
