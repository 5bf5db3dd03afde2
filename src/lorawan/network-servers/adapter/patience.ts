import type { SteadyMs } from '../../../clock.ts'

/**
 * Devices whose downlinks are watched; at the bound all are forgotten, which costs a few more
 * attempts.
 */
const MAXIMUM_DEVICES = 10_000

/**
 * Tells a passing fault inside a network server from one that this downlink brings about each time:
 * without it, such a downlink would keep all behind it in the device's queue from being sent. It is
 * measured in time, for tries may follow each other fast.
 */
export class Patience {
  readonly #patientMs: number
  readonly #failures = new Map<string, { readonly id: string; readonly sinceMs: SteadyMs }>()

  /** How long a downlink may fail before it is the downlink's fault. */
  constructor(patientMs: number) {
    this.#patientMs = patientMs
  }

  /**
   * One more internal fault of the network server, at this time; true when the
   * downlink is to be given up.
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
   * The device's downlink was taken, or could not be asked for: the next failure is the first
   * again.
   */
  reset(devEui: string): void {
    this.#failures.delete(devEui)
  }
}
