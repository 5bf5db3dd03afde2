/** Remembers The Things Stack's ids of devices. Commands need them, and events bring them. */

/**
 * Devices whose id is remembered, some 150 bytes each. At the bound the device that was heard of
 * least recently is forgotten.
 */
const MAXIMUM_REMEMBERED = 100_000

/** The shape of a device's id in The Things Stack. Nothing else may get into a path. */
const DEVICE_ID = /^[a-z0-9](?:-?[a-z0-9]){1,35}$/

export class TheThingsStackDeviceIds {
  readonly #ids = new Map<string, string>()

  /** Remembers the id that came with an event of the device's own organization. */
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

  /** The device's id: from the registry, else from its events, else The Things Stack's default. */
  idOf(devEui: string, registered: string | undefined): string {
    if (registered !== undefined && DEVICE_ID.test(registered)) return registered
    return this.#ids.get(devEui) ?? `eui-${devEui}`
  }
}
