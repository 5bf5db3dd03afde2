/** The Things Stack's ids of devices, which commands need; events bring them. */

/**
 * Devices whose id is remembered, some 150 bytes each; the one that was heard of least recently
 * goes.
 */
const MAXIMUM_REMEMBERED = 100_000

/** What The Things Stack takes as an id of a device; nothing else gets into a path. */
const DEVICE_ID = /^[a-z0-9](?:-?[a-z0-9]){1,35}$/

export class TheThingsStackDeviceIds {
  readonly #ids = new Map<string, string>()

  /** Remembers the id that an event of the device's own organization brought. */
  learn(devEui: string, deviceId: string): void {
    if (!DEVICE_ID.test(deviceId)) return
    this.#ids.delete(devEui)
    if (this.#ids.size >= MAXIMUM_REMEMBERED) {
      for (const oldest of this.#ids.keys()) {
        this.#ids.delete(oldest)
        break
      }
    }
    this.#ids.set(devEui, deviceId)
  }

  /**
   * The id: the one that the registry has for the device, else the one that events brought, else
   * The Things Stack's own default.
   */
  idOf(devEui: string, registered: string | undefined): string {
    if (registered !== undefined && DEVICE_ID.test(registered)) return registered
    return this.#ids.get(devEui) ?? `eui-${devEui}`
  }
}
