/** Failures that a network server may have with one downlink before it is the downlink's fault. */
const MAXIMUM_FAILURES = 5
/** Devices whose downlinks are counted; at the bound all are forgotten, which costs a few more attempts. */
const MAXIMUM_DEVICES = 10_000

/**
 * Tells a passing fault inside a network server from one that this downlink brings about each time: without it, such a downlink would keep
 * all behind it in the device's queue from being sent.
 */
export class Patience {
  readonly #failures = new Map<string, { readonly id: string; times: number }>()

  /** One more internal fault of the network server; true when the downlink is to be given up. */
  isOver(devEui: string, id: string): boolean {
    if (this.#failures.size >= MAXIMUM_DEVICES) this.#failures.clear()
    const known = this.#failures.get(devEui)
    const counted = known?.id === id ? known : { id, times: 0 }
    counted.times += 1
    if (counted.times < MAXIMUM_FAILURES) {
      this.#failures.set(devEui, counted)
      return false
    }
    this.#failures.delete(devEui)
    return true
  }
}
