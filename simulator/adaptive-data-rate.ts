/**
 * Adaptive data rate: the network server's advice, and the device's fallback to slower rates when
 * no answer comes (LoRaWAN 1.0.4 §4.3.1.1).
 */
import { fasterDataRate, slowerDataRate } from './region.ts'
import type { DataRate, Region } from './region.ts'

/** The number of last uplinks whose best Signal to Noise Ratio counts. */
const HISTORY_LENGTH = 20

/** Uplinks without a downlink after which the device asks for an answer (ADR_ACK_LIMIT). */
const ACK_LIMIT = 64
/**
 * Further uplinks without an answer after which the device slows down by a step (ADR_ACK_DELAY).
 */
const ACK_DELAY = 32

/** The network server's advice, from the uplinks of a session. */
export class DataRateAdvice {
  readonly #region: Region
  readonly #history: number[] = []

  constructor(region: Region) {
    this.#region = region
  }

  /**
   * Takes the best Signal to Noise Ratio of an uplink. Returns the data rate that the device should
   * change to; undefined: keep the current one.
   */
  hear(current: DataRate, snr: number): DataRate | undefined {
    this.#history.push(snr)
    if (this.#history.length > HISTORY_LENGTH) this.#history.shift()
    const best = Math.max(...this.#history)
    const advised = fasterDataRate(this.#region, current, best)
    return advised === current ? undefined : advised
  }
}

/** The device's data rate. */
export class DeviceDataRate {
  readonly #region: Region
  #current: DataRate
  #unanswered = 0

  constructor(region: Region, current: DataRate) {
    this.#region = region
    this.#current = current
  }

  get current(): DataRate {
    return this.#current
  }

  /** True if the next uplink asks for any downlink at all. */
  get asksForAnswer(): boolean {
    return this.#unanswered >= ACK_LIMIT
  }

  /**
   * Call it before an uplink is sent. After many uplinks without an answer, the device sends
   * slower, to be heard further away.
   */
  countUplink(): void {
    this.#unanswered += 1
    if (this.#unanswered < ACK_LIMIT + ACK_DELAY) return
    this.#current = slowerDataRate(this.#region, this.#current)
    this.#unanswered = ACK_LIMIT
  }

  /** Call it when a downlink came, perhaps with advice. */
  answered(advice: DataRate | undefined): void {
    this.#unanswered = 0
    if (advice !== undefined) this.#current = advice
  }

  slowDown(): void {
    this.#current = slowerDataRate(this.#region, this.#current)
  }
}
