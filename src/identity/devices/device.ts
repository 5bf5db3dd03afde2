/** Devices as the other rooms see them. `devices.ts` keeps them in a store. */
import type { Actor, Listed, Page, Result, Viewer } from '../store/result.ts'

/** The fields of a device that may change. */
export interface DeviceFields {
  readonly name: string
  /** Another application of the same organization may be given to move the device. */
  readonly applicationId: string
  readonly description: string
  readonly deviceProfileId: string
  readonly deviceProfileName: string
  readonly tags: Readonly<Record<string, string>>
  readonly variables: Readonly<Record<string, string>>
  /** A disabled device's events and commands are refused. */
  readonly isDisabled: boolean
}

/** A device to be. Only the members that identify it are needed. */
export interface NewDevice extends Partial<DeviceFields> {
  /** In any spelling that `parseDevEui` takes. */
  readonly devEui: string
  readonly name: string
  readonly applicationId: string
}

/**
 * How a device is heard, by its interval: on time, late (two intervals without a sign of life),
 * silent (three intervals), or never so far.
 */
export const DEVICE_STATES = ['ON_TIME', 'LATE', 'SILENT', 'NEVER_HEARD'] as const

export type DeviceState = (typeof DEVICE_STATES)[number]

/** Faults of a device that somebody should look after, beside its state. */
export const DEVICE_FLAGS = ['lowBattery', 'weakSignal', 'losingFrames'] as const

export type DeviceFlag = (typeof DEVICE_FLAGS)[number]

/** Members that a list of devices may be ordered by. */
export const DEVICE_ORDERS = ['name', 'state', 'lastSeenAt', 'battery'] as const

export type DeviceOrder = (typeof DEVICE_ORDERS)[number]

/** The state of a device, with its flags and the numbers that they come from. */
export interface DeviceHealth extends Readonly<Record<DeviceFlag, boolean>> {
  readonly state: DeviceState
  /** When the state began; `null` for never heard. */
  readonly stateSinceMs: number | null
  /** The time between two uplinks; `null` when it is not known. */
  readonly intervalSeconds: number | null
  /** Uplinks that were sent and did not arrive, by the frame counter; `null` when not known. */
  readonly lossPercent: number | null
  /** dBm, at the gateway that heard the device best; `null` when not known. */
  readonly rssi: number | null
  /** dB, at the same gateway; `null` when not known. */
  readonly snr: number | null
}

/** A device. */
export interface Device extends DeviceFields, DeviceHealth {
  readonly devEui: string
  readonly organizationId: string
  /** The time of its last message, `null` for never. */
  readonly lastSeenAtMs: number | null
  /** Percent, 0 to 100; `null` when unknown. */
  readonly batteryLevel: number | null
  /** Demodulation margin in dB; `null` when unknown. */
  readonly margin: number | null
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** A sign of life. */
export interface DeviceSeen {
  readonly devEui: string
  readonly lastSeenAtMs: number
  readonly batteryLevel?: number
  readonly margin?: number
  readonly intervalSeconds?: number
  readonly lossPercent?: number
  readonly rssi?: number
  readonly snr?: number
  readonly lowBattery?: boolean
  readonly weakSignal?: boolean
  readonly losingFrames?: boolean
}

/** The devices that a list is asked for. */
export interface DevicePage extends Page {
  readonly applicationId?: string
  readonly organizationId?: string
  readonly state?: DeviceState
  readonly flag?: DeviceFlag
  /** `name` when not given. Devices of which the member is not known come last. */
  readonly orderBy?: DeviceOrder
}

/**
 * The number of devices that several calls of `createMany` have created together, and their entry
 * in the audit, by the id of the organization. The first call takes an empty map, and each call
 * brings the map up to date.
 */
export type CreatedTogether = Map<string, { readonly count: number; readonly entryId: number }>

/** The devices of all applications; a DevEUI belongs to one device in the whole deployment. */
export interface Devices {
  /**
   * Refusals: invalid_dev_eui, invalid_name, invalid_description, invalid_device_profile,
   * invalid_tags, invalid_variables, application_not_found, device_exists.
   */
  create(device: NewDevice, actor: Actor): Promise<Result<{ readonly devEui: string }>>
  /**
   * Creates many and tells the outcome of each, in order. Works in batches of 100; each batch is
   * one transaction, and the event loop gets a turn between two. The audit gets one entry for each
   * organization, also from several calls with the same `together`, one call after the other.
   */
  createMany(
    devices: readonly NewDevice[],
    actor: Actor,
    together?: CreatedTogether,
  ): Promise<readonly Result<{ readonly devEui: string }>[]>
  /** Takes any spelling of the DevEUI. */
  get(devEui: string): Promise<Device | undefined>
  /** Changes the fields that are given. Refusals: device_not_found, and those of `create`. */
  update(devEui: string, fields: Partial<DeviceFields>, actor: Actor): Promise<Result<void>>
  /** Refusal: device_not_found. */
  remove(devEui: string, actor: Actor): Promise<Result<void>>
  /**
   * Sorted by name, regardless of case; `search` looks into name and DevEUI. Another order needs a
   * list of at most `MAXIMUM_SORTED` devices: `isTooLong` says that there are more.
   */
  list(viewer: Viewer, page: DevicePage): Promise<Listed<Device> & { readonly isTooLong?: true }>
  /**
   * Notes signs of life, in batches with pauses between them; urgent ones without pauses. Unknown
   * devices are passed over; an older time never replaces a newer one; a member that is not given
   * stays. A device that was not on time is so again.
   */
  recordSeen(seen: readonly DeviceSeen[], isUrgent?: boolean): Promise<void>
}
