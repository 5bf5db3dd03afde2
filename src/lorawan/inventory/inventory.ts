/**
 * The inventory of a network server: its applications, its devices and their profiles, as its API
 * lists them. Each kind of network server has an adapter.
 */

export interface InventoryApplication {
  /** The network server's own id. */
  readonly id: string
  readonly name: string
  readonly description: string
}

export interface InventoryDevice {
  /** 16 lower-case hexadecimal digits. */
  readonly devEui: string
  /** 16 lower-case hexadecimal digits; empty where the network server has none. */
  readonly joinEui: string
  readonly name: string
  readonly description: string
  /** The network server's own id of the profile; empty for none. */
  readonly profileId: string
  readonly profileName: string
  readonly tags: Readonly<Record<string, string>>
  readonly variables: Readonly<Record<string, string>>
  readonly isDisabled: boolean
}

export interface InventoryProfile {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly vendor: string
  readonly model: string
  readonly firmwareVersion: string
  readonly region: string
  readonly deviceClass: string
  readonly payloadCodec: '' | 'CAYENNE_LPP' | 'CUSTOM_JS'
  readonly payloadDecoderScript: string
  readonly payloadEncoderScript: string
  /** 0: none is expected. */
  readonly expectedIntervalSeconds: number
  readonly tags: Readonly<Record<string, string>>
}

/** Lists the inventory page by page. Its calls reject with an `InventoryUnreadable`. */
export interface InventorySource {
  applications(): AsyncIterable<InventoryApplication>
  devices(applicationId: string): AsyncIterable<InventoryDevice>
  /** A profile that a device of the application has; undefined when there is none. */
  profile(profileId: string, applicationId: string): Promise<InventoryProfile | undefined>
  close(): void
}

/** The codes of an inventory that could not be read. */
export const UNREADABLE_CODES = [
  'inventory_unreachable',
  'inventory_key_refused',
  'inventory_too_large',
  'inventory_too_slow',
  'inventory_failed',
] as const

export type UnreadableCode = (typeof UNREADABLE_CODES)[number]

/** An inventory could not be read to its end. Nothing is concluded from its first part. */
export class InventoryUnreadable extends Error {
  readonly code: UnreadableCode

  constructor(code: UnreadableCode, message: string) {
    super(message)
    this.name = 'InventoryUnreadable'
    this.code = code
  }
}

/** The bounds of one reading. They bound its memory: a device has some 500 bytes. */
export const INVENTORY_BOUNDS = {
  applications: 1_000,
  devices: 20_000,
  profiles: 1_000,
  /** All scripts of the profiles together. */
  characters: 33_554_432,
  /** The time of a whole reading. */
  readMs: 300_000,
} as const

/** The things that a reading has found in the applications that were wanted. */
export interface Inventory {
  readonly devices: readonly (InventoryDevice & { readonly applicationId: string })[]
  /** By their ids at the network server. */
  readonly profiles: ReadonlyMap<string, InventoryProfile>
}

/** Reads the applications, at most as many as the bound allows. */
export async function readApplications(
  source: InventorySource,
  signal: AbortSignal,
): Promise<readonly InventoryApplication[]> {
  const found: InventoryApplication[] = []
  for await (const application of source.applications()) {
    demandTime(signal)
    found.push(application)
    demandRoom(found.length, INVENTORY_BOUNDS.applications, 'applications')
  }
  return found
}

/** Reads the devices of these applications, and with `withProfiles` the profiles they have. */
export async function readInventory(
  source: InventorySource,
  applicationIds: readonly string[],
  { withProfiles, signal }: { readonly withProfiles: boolean; readonly signal: AbortSignal },
): Promise<Inventory> {
  const devices = new Map<string, Inventory['devices'][number]>()
  const profiles = new Map<string, InventoryProfile>()
  const asked = new Set<string>()
  let characters = 0
  for (const applicationId of applicationIds) {
    for await (const device of source.devices(applicationId)) {
      demandTime(signal)
      devices.set(device.devEui, { ...device, applicationId })
      demandRoom(devices.size, INVENTORY_BOUNDS.devices, 'devices in the applications that are imported')
      if (!withProfiles || device.profileId === '' || asked.has(device.profileId)) continue
      asked.add(device.profileId)
      demandRoom(asked.size, INVENTORY_BOUNDS.profiles, 'device profiles')
      const profile = await source.profile(device.profileId, applicationId)
      if (profile === undefined) continue
      characters += profile.payloadDecoderScript.length + profile.payloadEncoderScript.length
      demandRoom(characters, INVENTORY_BOUNDS.characters, 'characters of scripts')
      profiles.set(profile.id, profile)
    }
  }
  demandTime(signal)
  return { devices: [...devices.values()], profiles }
}

function demandRoom(count: number, bound: number, things: string): void {
  if (count <= bound) return
  throw new InventoryUnreadable('inventory_too_large', `the network server has more than ${bound} ${things}`)
}

function demandTime(signal: AbortSignal): void {
  if (!signal.aborted) return
  throw new InventoryUnreadable('inventory_too_slow', 'the network server did not list its inventory in time')
}
