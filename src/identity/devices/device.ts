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

/** A device. */
export interface Device extends DeviceFields {
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
  /** Sorted by name, regardless of case; `search` looks into name and DevEUI. */
  list(
    viewer: Viewer,
    page: Page & { readonly applicationId?: string; readonly organizationId?: string },
  ): Promise<Listed<Device>>
  /**
   * Notes signs of life, in batches of 100 as `createMany`. Unknown devices are passed over; an
   * older time never replaces a newer one; a level or margin that is not given stays.
   */
  recordSeen(seen: readonly DeviceSeen[]): Promise<void>
}
