/**
 * The kept events in memory: by network server, in the order in which they came, and by device. The
 * counts and bytes of each network server and of each owner are kept right here.
 */
import type { EventSource, KeptEvent } from './kept-event.ts'
import { namesIn, NO_NAMES } from './network-server-names.ts'
import type { NetworkServerNames } from './network-server-names.ts'

/** Bytes of memory that an event takes beside its stored form. */
const EVENT_OVERHEAD_BYTES = 256

/** The events that one network server has brought of devices that are not registered. */
export interface Shelf {
  readonly source: EventSource
  /** By key, the oldest first. */
  readonly events: Map<string, KeptEvent>
  bytes: number
  /** Events that were given up since the start of the process because of a bound. */
  givenUp: number
}

/** A device that is not registered, as the network servers of one owner tell of it. */
export interface UnknownDevice {
  readonly devEui: string
  /** Null for network servers of the whole deployment. */
  readonly organizationId: string | null
  /** The network server of the newest event. */
  networkServer: string
  names: NetworkServerNames
  /** By key, the oldest first. Never empty. */
  readonly events: Map<string, KeptEvent>
  bytes: number
  lastAtMs: number
}

interface Owner {
  readonly shelves: Map<string, Shelf>
  readonly devices: Map<string, UnknownDevice>
  events: number
  bytes: number
}

/** Bytes of memory that an event is counted with. */
export function sizeOf({ stored }: KeptEvent): number {
  return stored.length + EVENT_OVERHEAD_BYTES
}

export class Shelves {
  readonly #owners = new Map<string | null, Owner>()
  /** The owners that have events of a device: null, or an organization. */
  readonly #ownersOf = new Map<string, Set<string | null>>()
  #events = 0
  #bytes = 0

  get events(): number {
    return this.#events
  }

  get bytes(): number {
    return this.#bytes
  }

  /** True when a device waits that may belong to the organization. */
  has(devEui: string, organizationId: string): boolean {
    const owners = this.#ownersOf.get(devEui)
    return owners !== undefined && (owners.has(organizationId) || owners.has(null))
  }

  /** The DevEUIs of all devices that wait. */
  devEuis(): Iterable<string> {
    return this.#ownersOf.keys()
  }

  isWaiting(devEui: string): boolean {
    return this.#ownersOf.has(devEui)
  }

  owners(): Iterable<string | null> {
    return this.#owners.keys()
  }

  device(organizationId: string | null, devEui: string): UnknownDevice | undefined {
    return this.#owners.get(organizationId)?.devices.get(devEui)
  }

  /** The devices of one owner, in the order in which they were first heard of. */
  devicesOf(organizationId: string | null): Iterable<UnknownDevice> {
    return this.#owners.get(organizationId)?.devices.values() ?? []
  }

  shelvesOf(organizationId: string | null): Iterable<Shelf> {
    return this.#owners.get(organizationId)?.shelves.values() ?? []
  }

  *all(): Iterable<Shelf> {
    for (const { shelves } of this.#owners.values()) yield* shelves.values()
  }

  /** Events and bytes of one owner. */
  usageOf(organizationId: string | null): { readonly events: number; readonly bytes: number } {
    return this.#owners.get(organizationId) ?? { events: 0, bytes: 0 }
  }

  /** The first event of the device that may be delivered to the organization. */
  first(devEui: string, organizationId: string): KeptEvent | undefined {
    const [own] = this.device(organizationId, devEui)?.events.values() ?? []
    const [shared] = this.device(null, devEui)?.events.values() ?? []
    if (own === undefined || shared === undefined) return own ?? shared
    return own.sequence < shared.sequence ? own : shared
  }

  add(event: KeptEvent): Shelf {
    const { devEui, source, key, atMs, payload } = event
    const { organizationId, networkServer } = source
    const owner = this.#ownerOf(organizationId)
    const shelf = owner.shelves.get(networkServer) ?? { source, events: new Map(), bytes: 0, givenUp: 0 }
    owner.shelves.set(networkServer, shelf)
    const device = owner.devices.get(devEui) ?? {
      devEui,
      organizationId,
      networkServer,
      names: NO_NAMES,
      events: new Map<string, KeptEvent>(),
      bytes: 0,
      lastAtMs: atMs,
    }
    owner.devices.set(devEui, device)
    const size = sizeOf(event)
    device.names = namesIn(payload) ?? device.names
    device.networkServer = networkServer
    device.lastAtMs = atMs
    device.events.set(key, event)
    shelf.events.set(key, event)
    for (const holder of [shelf, device, owner]) holder.bytes += size
    owner.events += 1
    this.#events += 1
    this.#bytes += size
    const owners = this.#ownersOf.get(devEui) ?? new Set()
    this.#ownersOf.set(devEui, owners.add(organizationId))
    return shelf
  }

  /** Adds events that came at other nodes, each in its place among those that are here. */
  merge(events: readonly KeptEvent[]): void {
    const touched = new Set<Map<string, KeptEvent>>()
    for (const event of events) {
      touched.add(this.add(event).events)
      const device = this.device(event.source.organizationId, event.devEui)
      if (device !== undefined) touched.add(device.events)
    }
    for (const map of touched) {
      const inOrder = [...map].toSorted(([, one], [, other]) => one.sequence - other.sequence)
      map.clear()
      for (const [key, event] of inOrder) map.set(key, event)
    }
  }

  /** False: the event is gone already. */
  remove(event: KeptEvent): boolean {
    const { devEui, source, key } = event
    const { organizationId, networkServer } = source
    const owner = this.#owners.get(organizationId)
    const shelf = owner?.shelves.get(networkServer)
    const device = owner?.devices.get(devEui)
    if (owner === undefined || shelf === undefined || device === undefined) return false
    if (!shelf.events.delete(key)) return false
    device.events.delete(key)
    const size = sizeOf(event)
    for (const holder of [shelf, device, owner]) holder.bytes -= size
    owner.events -= 1
    this.#events -= 1
    this.#bytes -= size
    if (device.events.size === 0) this.#forget(owner, device)
    // A shelf that has given events up stays as long as its owner, to tell so.
    if (shelf.events.size === 0 && shelf.givenUp === 0) owner.shelves.delete(networkServer)
    if (owner.events === 0) this.#owners.delete(organizationId)
    return true
  }

  #forget(owner: Owner, { devEui, organizationId }: UnknownDevice): void {
    owner.devices.delete(devEui)
    const owners = this.#ownersOf.get(devEui)
    owners?.delete(organizationId)
    if (owners?.size === 0) this.#ownersOf.delete(devEui)
  }

  #ownerOf(organizationId: string | null): Owner {
    const known = this.#owners.get(organizationId)
    if (known !== undefined) return known
    const owner = { shelves: new Map<string, Shelf>(), devices: new Map<string, UnknownDevice>(), events: 0, bytes: 0 }
    this.#owners.set(organizationId, owner)
    return owner
  }
}
