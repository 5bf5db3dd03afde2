/**
 * Keeps the items of the downlink queue by device and by organization. Pure, and in memory alone.
 */
import type { DownlinkItem } from './downlink-item.ts'

/** The items of one device. They all belong to one organization. */
export interface DeviceShelf {
  readonly devEui: string
  readonly organizationId: string
  /**
   * The waiting items in the order of sending: by priority, then in the order in which they came.
   */
  readonly waiting: DownlinkItem[]
  /** The items that have left the queue, in the order in which they left. */
  readonly left: DownlinkItem[]
  /** The items to which the network server gave an id, by that id. */
  readonly named: Map<string, DownlinkItem>
}

interface OrganizationShelf {
  waiting: number
  /** The items that have left the queue, in the order in which they left. */
  readonly left: Set<DownlinkItem>
}

export class DownlinkShelves {
  waiting = 0
  left = 0
  readonly #devices = new Map<string, DeviceShelf>()
  readonly #organizations = new Map<string, OrganizationShelf>()

  device(devEui: string): DeviceShelf | undefined {
    return this.#devices.get(devEui)
  }

  devices(): IterableIterator<DeviceShelf> {
    return this.#devices.values()
  }

  waitingOf(organizationId: string): number {
    return this.#organizations.get(organizationId)?.waiting ?? 0
  }

  /** The organizations with waiting items. */
  *waitingOrganizations(): Generator<string> {
    for (const [organizationId, { waiting }] of this.#organizations) if (waiting > 0) yield organizationId
  }

  /**
   * The device's item with this id: its id among the device's commands, or the one that network
   * servers know.
   */
  find(devEui: string, id: string): DownlinkItem | undefined {
    const shelf = this.#devices.get(devEui)
    const isIt = (item: DownlinkItem): boolean => item.queueItemId === id || item.downlinkId === id
    return shelf?.waiting.find(isIt) ?? shelf?.left.find(isIt)
  }

  /** The device's item to which its network server gave the id. */
  findNamed(devEui: string, networkServerItemId: string): DownlinkItem | undefined {
    return this.#devices.get(devEui)?.named.get(networkServerItemId)
  }

  /** Notes the id that the network server gave to the item; no other item of the device has it. */
  name(item: DownlinkItem, networkServerItemId: string): void {
    item.networkServerItemId = networkServerItemId
    this.#devices.get(item.content.devEui)?.named.set(networkServerItemId, item)
  }

  addWaiting(item: DownlinkItem): void {
    const { devEui, organizationId, priority } = item.content
    const { waiting } = this.#deviceShelf(devEui, organizationId)
    const before = (other: DownlinkItem): boolean =>
      other.content.priority > priority || (other.content.priority === priority && other.sequence < item.sequence)
    let place = waiting.length
    while (place > 0 && !before(waiting[place - 1] as DownlinkItem)) place -= 1
    waiting.splice(place, 0, item)
    this.#organizationShelf(organizationId).waiting += 1
    this.waiting += 1
  }

  removeWaiting(item: DownlinkItem): void {
    const { devEui, organizationId } = item.content
    const shelf = this.#devices.get(devEui)
    const place = shelf?.waiting.indexOf(item) ?? -1
    if (shelf === undefined || place < 0) return
    shelf.waiting.splice(place, 1)
    this.#organizationShelf(organizationId).waiting -= 1
    this.waiting -= 1
    this.#tidy(shelf)
  }

  addLeft(item: DownlinkItem): void {
    const { devEui, organizationId } = item.content
    const { left, named } = this.#deviceShelf(devEui, organizationId)
    left.push(item)
    if (item.networkServerItemId !== undefined) named.set(item.networkServerItemId, item)
    this.#organizationShelf(organizationId).left.add(item)
    this.left += 1
  }

  removeLeft(item: DownlinkItem): void {
    const { devEui, organizationId } = item.content
    const shelf = this.#devices.get(devEui)
    const place = shelf?.left.indexOf(item) ?? -1
    if (shelf === undefined || place < 0) return
    shelf.left.splice(place, 1)
    if (item.networkServerItemId !== undefined) shelf.named.delete(item.networkServerItemId)
    this.#organizationShelf(organizationId).left.delete(item)
    this.left -= 1
    this.#tidy(shelf)
  }

  /** The items of the organization that have left the queue, the earliest first. */
  leftOf(organizationId: string): ReadonlySet<DownlinkItem> {
    return this.#organizations.get(organizationId)?.left ?? new Set()
  }

  /** The items that have left the queue, of the organization that has most of them. */
  largestOrganization(): ReadonlySet<DownlinkItem> | undefined {
    let largest: Set<DownlinkItem> | undefined
    for (const { left } of this.#organizations.values()) if (left.size > (largest?.size ?? 0)) largest = left
    return largest
  }

  /**
   * Puts the items that have left the queue into the order in which they left, after items of
   * another node have come among them.
   */
  sortLeft(): void {
    for (const { left } of this.#organizations.values()) {
      const sorted = [...left].toSorted(byLeaving)
      left.clear()
      for (const item of sorted) left.add(item)
    }
    for (const { left } of this.#devices.values()) left.sort(byLeaving)
  }

  /** The items that left the queue before this time, the earliest of each organization first. */
  *leftBefore(timeMs: number): Generator<DownlinkItem> {
    for (const { left } of this.#organizations.values()) {
      for (const item of left) {
        if (item.leftAtMs >= timeMs) break
        yield item
      }
    }
  }

  #deviceShelf(devEui: string, organizationId: string): DeviceShelf {
    let shelf = this.#devices.get(devEui)
    if (shelf === undefined) {
      shelf = { devEui, organizationId, waiting: [], left: [], named: new Map() }
      this.#devices.set(devEui, shelf)
    }
    return shelf
  }

  #organizationShelf(organizationId: string): OrganizationShelf {
    let shelf = this.#organizations.get(organizationId)
    if (shelf === undefined) {
      shelf = { waiting: 0, left: new Set() }
      this.#organizations.set(organizationId, shelf)
    }
    return shelf
  }

  /**
   * Removes a device without items, and an organization without items: they would take memory for
   * ever.
   */
  #tidy({ devEui, organizationId, waiting, left }: DeviceShelf): void {
    if (waiting.length === 0 && left.length === 0) this.#devices.delete(devEui)
    const organization = this.#organizations.get(organizationId)
    if (organization?.waiting === 0 && organization.left.size === 0) this.#organizations.delete(organizationId)
  }
}

function byLeaving(one: DownlinkItem, other: DownlinkItem): number {
  return one.leftAtMs - other.leftAtMs || one.sequence - other.sequence
}
