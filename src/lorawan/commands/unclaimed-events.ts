/**
 * Events about downlinks that no command is known to be, of devices with a command that its network
 * server may have under such an id: when the command turns out to be that downlink, they are told
 * of it.
 */
import type { CommandEvent } from './command-event.ts'

interface Unclaimed {
  /** Lower case. */
  readonly id: string
  readonly event: CommandEvent
}

/** Of one device: a downlink has a txack, an ack and a log event at most. */
const MAXIMUM_EVENTS = 6
/** Of one event; those of ChirpStack have some 700. A larger one is not kept. */
const MAXIMUM_EVENT_BYTES = 4_096
/** Devices with such events; the earliest goes. 10 MB where the events are as ChirpStack's. */
const MAXIMUM_DEVICES = 2_000
/**
 * Of one organization, so that one whose network server tells of foreign downlinks without end
 * takes no other's place.
 */
const MAXIMUM_DEVICES_OF_ORGANIZATION = 500

export class UnclaimedEvents {
  readonly #devices = new Map<string, { readonly organizationId: string; readonly events: Unclaimed[] }>()
  readonly #devicesOf = new Map<string, number>()

  /** Keeps a copy of the event, unless its device or its organization has as many as it may. */
  keep(organizationId: string, id: string, event: CommandEvent): void {
    if (event.payload.length > MAXIMUM_EVENT_BYTES) return
    const known = this.#of(organizationId, event.devEui)
    if (known === undefined && !this.#makeRoom(organizationId)) return
    const events = known ?? []
    if (known === undefined) {
      this.#devices.set(event.devEui, { organizationId, events })
      this.#devicesOf.set(organizationId, (this.#devicesOf.get(organizationId) ?? 0) + 1)
    }
    if (events.length >= MAXIMUM_EVENTS) return
    events.push({ id, event: { ...event, payload: Buffer.from(event.payload) } })
  }

  /** The ids that events of the device have named, the earliest first. */
  ids(organizationId: string, devEui: string): readonly string[] {
    const events = this.#of(organizationId, devEui) ?? []
    return [...new Set(events.map(({ id }) => id))]
  }

  /** Takes the device's events of the id out, the earliest first. */
  claim(organizationId: string, devEui: string, id: string): readonly CommandEvent[] {
    const events = this.#of(organizationId, devEui) ?? []
    const claimed = events.filter((one) => one.id === id)
    if (claimed.length > 0 && claimed.length === events.length) this.forget(devEui)
    else for (const one of claimed) events.splice(events.indexOf(one), 1)
    return claimed.map(({ event }) => event)
  }

  /** No command of the device can be meant any more. */
  forget(devEui: string): void {
    const known = this.#devices.get(devEui)
    if (known === undefined) return
    this.#devices.delete(devEui)
    const left = (this.#devicesOf.get(known.organizationId) ?? 1) - 1
    if (left === 0) this.#devicesOf.delete(known.organizationId)
    else this.#devicesOf.set(known.organizationId, left)
  }

  /** None of what was kept while the device was another organization's. */
  #of(organizationId: string, devEui: string): Unclaimed[] | undefined {
    const known = this.#devices.get(devEui)
    if (known === undefined || known.organizationId === organizationId) return known?.events
    this.forget(devEui)
    return undefined
  }

  #makeRoom(organizationId: string): boolean {
    if ((this.#devicesOf.get(organizationId) ?? 0) >= MAXIMUM_DEVICES_OF_ORGANIZATION) return false
    const [earliest] = this.#devices.keys()
    if (this.#devices.size >= MAXIMUM_DEVICES && earliest !== undefined) this.forget(earliest)
    return true
  }
}
