/** The devices that wait, as people see them: pages of a list, and their end. */
import { isMeant } from './registration.ts'
import type { UnknownDeviceFilter } from './registration.ts'
import type { NetworkServerNames } from './network-server-names.ts'
import type { UnknownDevice } from './shelves.ts'
import type { UnknownDevices } from './unknown-devices.ts'

/** A device that waits. */
export interface WaitingDevice {
  readonly devEui: string
  /** Null for network servers of the whole deployment. */
  readonly organizationId: string | null
  /** The network server of the newest event. */
  readonly networkServer: string
  readonly names: NetworkServerNames
  readonly eventCount: number
  readonly bytes: number
  readonly firstAtMs: number
  readonly lastAtMs: number
}

/** The devices that are meant. */
export interface WaitingMeant {
  /** An organization, or null for the whole deployment. */
  readonly owner: string | null
  readonly filter: UnknownDeviceFilter
  /** Only devices with these DevEUIs. */
  readonly devEuis?: readonly string[] | undefined
}

/** A page of the devices that are meant, in the order in which they were first heard of. */
export interface WaitingPage {
  readonly totalCount: number
  readonly items: readonly WaitingDevice[]
  /** The names of nodes that did not answer in time. */
  readonly missing: readonly string[]
}

/** The devices that wait, at one node or at all of them. */
export interface WaitingDevices {
  page(meant: WaitingMeant, offset: number, limit: number): Promise<WaitingPage>
  /** Forgets the events of a device. False: the owner has no such device. */
  forget(owner: string | null, devEui: string): Promise<boolean>
}

/** The devices that wait at this node. */
export function createWaitingDevices(here: Pick<UnknownDevices, 'devicesOf' | 'forget'>): WaitingDevices {
  return {
    async page(meant, offset, limit) {
      const items: WaitingDevice[] = []
      let totalCount = 0
      for (const device of devicesMeant(here, meant)) {
        if (totalCount >= offset && items.length < limit) items.push(waitingOf(device))
        totalCount += 1
      }
      return { totalCount, items, missing: [] }
    },

    async forget(owner, devEui) {
      return here.forget(owner, devEui)
    },
  }
}

/** The devices of this node that are meant. */
export function* devicesMeant(
  here: Pick<UnknownDevices, 'devicesOf'>,
  { owner, filter, devEuis }: WaitingMeant,
): Iterable<UnknownDevice> {
  const named = devEuis && new Set(devEuis)
  for (const device of here.devicesOf(owner)) {
    if ((named?.has(device.devEui) ?? true) && isMeant(device, filter)) yield device
  }
}

/** When the oldest kept event of the device came, ms since 1970. */
export function firstAtOf({ events, lastAtMs }: UnknownDevice): number {
  const [first] = events.values()
  return first?.atMs ?? lastAtMs
}

/** The device for people. */
export function waitingOf(device: UnknownDevice): WaitingDevice {
  const { devEui, organizationId, networkServer, names, events, bytes, lastAtMs } = device
  const eventCount = events.size
  return { devEui, organizationId, networkServer, names, eventCount, bytes, firstAtMs: firstAtOf(device), lastAtMs }
}
