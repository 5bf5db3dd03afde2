/**
 * Adaptive data rate: the network server's advice, and the device's way back when nobody answers
 * (LoRaWAN 1.0.4 §4.3.1.1).
 */
import { fasterDataRate, slowerDataRate } from './region.ts'
import type { DataRate, Region } from './region.ts'

/** Uplinks whose best Signal to Noise Ratio counts. */
const HISTORY_LENGTH = 20

/**
 * Uplinks without a downlink after which the device asks for one, and those after which it slows
 * down.
 */
const ACK_LIMIT = 64
const ACK_DELAY = 32

/** What the network server advises, out of the uplinks of a session. */
export class DataRateAdvice {
  readonly #region: Region
  readonly #history: number[] = []

  constructor(region: Region) {
    this.#region = region
  }

  /**
   * Takes the best Signal to Noise Ratio of an uplink; gives the data rate to go to, undefined to
   * stay.
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

  /** True where the next uplink asks for any downlink at all. */
  get asksForAnswer(): boolean {
    return this.#unanswered >= ACK_LIMIT
  }

  /**
   * An uplink is about to be sent; after many without an answer the device sends slower, to be
   * heard further away.
   */
  countUplink(): void {
    this.#unanswered += 1
    if (this.#unanswered < ACK_LIMIT + ACK_DELAY) return
    this.#current = slowerDataRate(this.#region, this.#current)
    this.#unanswered = ACK_LIMIT
  }

  /** A downlink came, perhaps with advice. */
  answered(advice: DataRate | undefined): void {
    this.#unanswered = 0
    if (advice !== undefined) this.#current = advice
  }

  slowDown(): void {
    this.#current = slowerDataRate(this.#region, this.#current)
  }
}
