/** Decides when a failing downlink is at fault itself. */
import type { SteadyMs } from '../../../clock.ts'

/**
 * Devices with a failing downlink that are remembered. At the bound all are forgotten, which costs
 * a few more attempts.
 */
const MAXIMUM_DEVICES = 10_000

/**
 * Tells a passing fault inside a network server from a fault that one downlink causes each time.
 * Without it, such a downlink would block all others in the device's queue. The difference is a
 * time, not a number of attempts, because attempts may follow each other fast.
 */
export class Patience {
  readonly #patientMs: number
  readonly #failures = new Map<string, { readonly id: string; readonly sinceMs: SteadyMs }>()

  /** `patientMs`: how long a downlink may fail before the fault is its own. */
  constructor(patientMs: number) {
    this.#patientMs = patientMs
  }

  /**
   * Notes one more internal fault of the network server for this downlink. True when the downlink
   * is to be given up.
   */
  isOver(devEui: string, id: string, nowMs: SteadyMs): boolean {
    const known = this.#failures.get(devEui)
    if (known?.id !== id) {
      if (this.#failures.size >= MAXIMUM_DEVICES) this.#failures.clear()
      this.#failures.set(devEui, { id, sinceMs: nowMs })
      return false
    }
    if (nowMs - known.sinceMs < this.#patientMs) return false
    this.#failures.delete(devEui)
    return true
  }

  /**
   * The device's downlink was taken, or the network server could not be asked: the next fault
   * counts as the first.
   */
  reset(devEui: string): void {
    this.#failures.delete(devEui)
  }
}
