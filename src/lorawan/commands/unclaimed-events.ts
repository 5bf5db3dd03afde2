/**
 * Events about downlinks that belong to no known command. They are kept for a device as long as its
 * network server may have a command of it under an id that this service does not know yet. When the
 * id becomes known, the events are applied to the command.
 */
import type { CommandEvent } from './command-event.ts'

interface Unclaimed {
  /** The network server's id of the downlink, in lower case. */
  readonly id: string
  readonly event: CommandEvent
}

/** Events that are kept of one device. A downlink has at most a txack, an ack and a log event. */
const MAXIMUM_EVENTS = 6
/** The largest event that is kept, in bytes. Events of ChirpStack have some 700. */
const MAXIMUM_EVENT_BYTES = 4_096
/**
 * Devices with kept events; at the bound the earliest device loses its events. With events of
 * ChirpStack's size this is 10 MB.
 */
const MAXIMUM_DEVICES = 2_000
/**
 * Devices of one organization with kept events. Without this bound, a network server that reports
 * foreign downlinks without end would take the room of all other organizations.
 */
const MAXIMUM_DEVICES_OF_ORGANIZATION = 500

export class UnclaimedEvents {
  readonly #devices = new Map<string, { readonly organizationId: string; readonly events: Unclaimed[] }>()
  readonly #devicesOf = new Map<string, number>()

  /** Keeps a copy of the event, unless its device or its organization has as many as allowed. */
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

  /** Removes the device's events about this id, and returns them, the earliest first. */
  claim(organizationId: string, devEui: string, id: string): readonly CommandEvent[] {
    const events = this.#of(organizationId, devEui) ?? []
    const claimed = events.filter((one) => one.id === id)
    if (claimed.length > 0 && claimed.length === events.length) this.forget(devEui)
    else for (const one of claimed) events.splice(events.indexOf(one), 1)
    return claimed.map(({ event }) => event)
  }

  /** No command of the device can be meant any more: removes its events. */
  forget(devEui: string): void {
    const known = this.#devices.get(devEui)
    if (known === undefined) return
    this.#devices.delete(devEui)
    const left = (this.#devicesOf.get(known.organizationId) ?? 1) - 1
    if (left === 0) this.#devicesOf.delete(known.organizationId)
    else this.#devicesOf.set(known.organizationId, left)
  }

  /** The device's events; those of a former organization of the device are removed. */
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
