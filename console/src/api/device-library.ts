/** Reads and fills the library of device profiles of the deployment. */
import { useQuery } from '@tanstack/react-query'
import type { CodecKind } from './codecs.ts'
import type { ProfileSource, VectorOutcome } from './device-profiles.ts'
import { DEVICE_PROFILES_PATH, deviceProfilePath } from './device-profiles.ts'
import type { Listed } from './list.ts'
import { request } from './request.ts'
import { upload } from './upload.ts'

/** The library. It is also the first member of the keys in the cache of all that is read of it. */
export const DEVICE_LIBRARY_PATH = '/api/device-library'

/** The path of the profiles. It is also the first member of the key of their lists in the cache. */
export const LIBRARY_PROFILES_PATH = `${DEVICE_LIBRARY_PATH}/profiles`

/** The first member of the cache keys of updates. */
export const LIBRARY_UPDATE = 'library-update'

/** A profile of the library as a list has it. */
export interface LibraryProfile {
  readonly id: string
  readonly vendor: string
  readonly model: string
  readonly firmwareVersion: string
  readonly description: string
  readonly regions: readonly { readonly region: string; readonly deviceClass: string }[]
  readonly payloadCodec: CodecKind
  readonly vectorCount: number
  /** Its own examples that the codec breaks. */
  readonly failedExamples: number
  readonly source: ProfileSource
}

/** The library as a whole. */
export interface LibraryOverview {
  readonly profileCount: number
  readonly regions: readonly string[]
  readonly sources: readonly (Pick<ProfileSource, 'name' | 'licence' | 'version'> & {
    readonly profileCount: number
  })[]
}

/** A vendor, with the number of its profiles. */
export interface LibraryVendor {
  readonly vendor: string
  readonly profileCount: number
}

/** The report of an import. */
export interface LibraryReport {
  readonly dryRun: boolean
  readonly layout: string
  readonly createdCount: number
  readonly changedCount: number
  readonly unchangedCount: number
  readonly keptCount: number
  readonly refusedCount: number
  /** All but the unchanged ones. */
  readonly profiles: readonly {
    readonly vendor: string
    readonly model: string
    readonly firmwareVersion: string
    readonly outcome: 'created' | 'changed' | 'kept' | 'refused'
    readonly members?: readonly string[]
    readonly message?: string
  }[]
  readonly problems: readonly { readonly path: string; readonly reason: string }[]
}

/** The newer revision of the library for a device profile. */
export interface LibraryUpdate {
  readonly isThere: boolean
  readonly members: readonly string[]
  readonly breaks: readonly VectorOutcome[]
}

/** The library as a whole. */
export function useLibrary() {
  return useQuery({
    queryKey: [DEVICE_LIBRARY_PATH, 'overview'],
    queryFn: ({ signal }) => request<LibraryOverview>('GET', DEVICE_LIBRARY_PATH, { signal }),
  })
}

/** All vendors, by name. */
export function useLibraryVendors() {
  return useQuery({
    queryKey: [DEVICE_LIBRARY_PATH, 'vendors'],
    queryFn: ({ signal }) =>
      request<Listed<LibraryVendor>>('GET', `${DEVICE_LIBRARY_PATH}/vendors`, { query: { limit: 1000 }, signal }),
  })
}

/** The profiles of a vendor, by model and firmware; nothing is asked for without a vendor. */
export function useProfilesOfVendor(vendor: string | null) {
  return useQuery({
    queryKey: [DEVICE_LIBRARY_PATH, 'profiles of', vendor],
    enabled: vendor !== null,
    queryFn: ({ signal }) =>
      request<Listed<LibraryProfile>>('GET', LIBRARY_PROFILES_PATH, {
        query: { limit: 1000, vendor: vendor ?? '' },
        signal,
      }),
  })
}

/** Makes a device profile of a profile of the library. Answers its id. */
export async function createFromLibrary(
  deviceProfile: {
    readonly name: string
    readonly organizationID: string
    readonly libraryProfileID: string
    readonly region?: string
  },
  force: boolean,
): Promise<string> {
  const body = { deviceProfile, force }
  return (await request<{ readonly id: string }>('POST', DEVICE_PROFILES_PATH, { body })).id
}

/** The newer revision for a device profile. The question runs the test vectors. */
export function useLibraryUpdate(profileId: string) {
  return useQuery({
    queryKey: [LIBRARY_UPDATE, profileId],
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) =>
      request<LibraryUpdate>('GET', `${deviceProfilePath(profileId)}/library-update`, { signal }),
  })
}

/** Takes the newer revision. With `force` also a codec that breaks a test vector. */
export function takeLibraryUpdate(profileId: string, force: boolean): Promise<unknown> {
  return request('POST', `${deviceProfilePath(profileId)}/library-update`, { body: { force } })
}

interface ArchiveOptions {
  readonly file: File
  /** Nothing is written. */
  readonly isTrial: boolean
  readonly isUpdate: boolean
  readonly isForced: boolean
  readonly signal: AbortSignal
  readonly onProgress: (part: number) => void
}

/** Imports a zip archive with a collection. */
export function importArchive(options: ArchiveOptions): Promise<LibraryReport> {
  const { file, isTrial, isUpdate, isForced, signal, onProgress } = options
  const query = { dryRun: String(isTrial), update: String(isUpdate), force: String(isForced) }
  const contentType = 'application/zip'
  return upload(`${DEVICE_LIBRARY_PATH}/import`, { query, contentType, content: file, signal, onProgress })
}
