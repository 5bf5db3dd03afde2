/**
 * The library of device profiles as the other rooms see it: profiles of the whole deployment that
 * organizations choose from. `library-profiles.ts` keeps them in a store.
 */
import type { Actor, Listed, Page, Result } from '../store/result.ts'
import type { FPortRule, PayloadCodec, ProfileCodec, ProfileSource, TestVector } from './device-profile.ts'

/** A region of a model, with the class of the device there. */
export interface LibraryRegion {
  /** As the collection writes it: `EU868`, `EU863-870`. */
  readonly region: string
  readonly deviceClass: string
}

/** The members of a library profile that a list has. */
export interface ListedLibraryFields {
  readonly vendor: string
  readonly model: string
  readonly firmwareVersion: string
  readonly description: string
  /** Empty where the collection knows none. */
  readonly regions: readonly LibraryRegion[]
  /** Empty where the collection tells nothing of FPorts. */
  readonly fPortRules: readonly FPortRule[]
  readonly payloadCodec: PayloadCodec
  readonly source: ProfileSource
}

/** All members of a library profile, as a collection tells them. */
export interface LibraryProfileFields extends ListedLibraryFields, ProfileCodec {
  readonly testVectors: readonly TestVector[]
}

interface LibraryPlace {
  /** A UUID, which stays when the profile changes. */
  readonly id: string
  /** 1 at first. Each change adds 1, unless the version of the source alone is another one. */
  readonly revision: number
  /** Its own examples that the codec broke when it was saved. */
  readonly failedExamples: number
  readonly vectorCount: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** A library profile as a list has it: without scripts and vectors, which may be long. */
export interface ListedLibraryProfile extends ListedLibraryFields, LibraryPlace {}

/** A model of a device with one version of its firmware and one codec. */
export interface LibraryProfile extends LibraryProfileFields, LibraryPlace {}

/** Library profiles that are to be listed. An absent member chooses all. */
export interface LibraryChoice {
  readonly vendor?: string
  readonly model?: string
  /** As the collection writes it. */
  readonly region?: string
  /** The name of the source. */
  readonly source?: string
}

/** A vendor, with the number of its profiles. */
export interface LibraryVendor {
  readonly vendor: string
  readonly profiles: number
}

/** A collection of which the library has profiles. */
export interface LibrarySourceCount {
  readonly name: string
  /** The licence and the version of its newest profile. */
  readonly licence: string
  readonly version: string
  readonly profiles: number
  readonly updatedAtMs: number
}

/** The profile of the library that is the same model, and the members that are otherwise. */
export interface LibraryComparison {
  readonly id: string
  /** Empty where both say the same, apart from the version of the source. */
  readonly members: readonly string[]
  /** The version of the source is another one. Most versions change few models. */
  readonly isOtherVersion: boolean
  readonly failedExamples: number
}

/** The library of the deployment. */
export interface DeviceLibrary {
  /** Sorted by vendor, model and firmware; `search` looks into vendor, model and description. */
  list(choice: LibraryChoice, page: Page): Promise<Listed<ListedLibraryProfile>>
  /** Sorted by name. */
  vendors(choice: LibraryChoice, page: Page): Promise<Listed<LibraryVendor>>
  /** The regions of all profiles, sorted. */
  regions(): Promise<readonly string[]>
  sources(): Promise<readonly LibrarySourceCount[]>
  get(id: string): Promise<LibraryProfile | undefined>
  /** The revisions of those of the profiles that there are, by their ids. */
  revisions(ids: readonly string[]): Promise<ReadonlyMap<string, number>>
  /**
   * Finds the profile of the same source, vendor, model and firmware that has one of the regions.
   * Undefined when there is none.
   */
  compare(fields: LibraryProfileFields): Promise<LibraryComparison | undefined>
  /**
   * Creates the profile, or changes the one that `compare` finds. Refusals:
   * invalid_device_profile, invalid_payload_script, too_many_library_profiles, library_too_large.
   */
  save(fields: LibraryProfileFields, failedExamples: number, actor: Actor): Promise<Result<{ readonly id: string }>>
  /** Removes all profiles of the source. Refusal: library_source_not_found. */
  removeSource(name: string, actor: Actor): Promise<Result<{ readonly removed: number }>>
}
