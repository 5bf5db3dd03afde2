/** The registry's port for the import of an inventory. The service composes it. */
import type { InventoryProfile } from './inventory.ts'

/** The members of a device that an import may change. */
export interface ImportedFields {
  readonly name: string
  readonly description: string
  readonly applicationId: string
  readonly deviceProfileId: string
  readonly deviceProfileName: string
  readonly tags: Readonly<Record<string, string>>
  readonly variables: Readonly<Record<string, string>>
}

export interface KnownDevice extends ImportedFields {
  readonly devEui: string
  readonly organizationId: string
}

/** A device to be. */
export interface NewImportedDevice extends ImportedFields {
  readonly devEui: string
  readonly isDisabled: boolean
}

/** The members of a profile that come from a network server. */
export type ImportedProfile = Omit<InventoryProfile, 'id'>

/** Where a profile comes from: `name` is the network server's, `version` its id of the profile. */
export interface ImportedSource {
  readonly name: string
  readonly licence: string
  readonly url: string
  readonly version: string
}

/** A profile of the organization. */
export interface KnownProfile {
  readonly id: string
  readonly name: string
  readonly source: ImportedSource | null
}

/** A change that was done, or refused because of the registry's contents. */
export type Outcome = { readonly ok: true } | { readonly ok: false; readonly reason: string; readonly message: string }

/** An outcome that brings the id of the new thing. */
export type Creation = { readonly ok: true; readonly id: string } | Exclude<Outcome, { readonly ok: true }>

export interface InventoryRegistry {
  applicationsOf(organizationId: string): Promise<readonly { readonly id: string; readonly name: string }[]>
  createApplication(application: {
    readonly organizationId: string
    /** Undefined: the registry gives a number. */
    readonly id: string | undefined
    readonly name: string
    readonly description: string
  }): Promise<Creation>
  /** The devices of the application, by their DevEUIs. */
  devicesOf(applicationId: string): Promise<ReadonlyMap<string, KnownDevice>>
  /** The device, of whichever organization. */
  device(devEui: string): Promise<KnownDevice | undefined>
  /** Answers for each device, in the same order. */
  createDevices(devices: readonly NewImportedDevice[]): Promise<readonly Outcome[]>
  updateDevice(devEui: string, changes: Partial<ImportedFields>): Promise<Outcome>
  removeDevice(devEui: string): Promise<Outcome>
  profilesOf(organizationId: string): Promise<readonly KnownProfile[]>
  /** The members of a profile that differ from the wanted ones. */
  profileChanges(id: string, wanted: ImportedProfile): Promise<Partial<ImportedProfile>>
  createProfile(organizationId: string, profile: ImportedProfile, source: ImportedSource): Promise<Creation>
  updateProfile(id: string, changes: Partial<ImportedProfile>): Promise<Outcome>
  /** A sentence on the fault of a script that is no JavaScript; undefined where it may be saved. */
  scriptFault(organizationId: string, script: string): Promise<string | undefined>
}
