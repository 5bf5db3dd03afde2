/** Reads, saves, tests and restores device profiles. */
import { useQuery } from '@tanstack/react-query'
import type { Codec, CodecKind } from './codecs.ts'
import type { Listed } from './list.ts'
import { request } from './request.ts'

/** The path of the profiles. It is also the first member of the key of their lists in the cache. */
export const DEVICE_PROFILES_PATH = '/api/device-profiles'

/** The first member of the cache keys of single profiles. */
export const DEVICE_PROFILE = 'device-profile'

/** A profile as a list has it. */
export interface ListedDeviceProfile {
  readonly id: string
  readonly name: string
  readonly vendor: string
  readonly model: string
  readonly firmwareVersion: string
  readonly payloadCodec: CodecKind
  /** The library has a newer revision of the profile that it was made of. */
  readonly hasLibraryUpdate: boolean
}

/** The members of a profile that its page changes. */
export interface DeviceProfileFields extends Codec {
  readonly name: string
  readonly description: string
  readonly vendor: string
  readonly model: string
  readonly firmwareVersion: string
  readonly region: string
  readonly deviceClass: string
  /** 0: no uplink is expected. */
  readonly expectedIntervalSeconds: number
  readonly batteryLimitPercent: number | null
  readonly marginLimitDb: number | null
  readonly tags: Readonly<Record<string, string>>
  readonly variables: Readonly<Record<string, string>>
  readonly testVectors: readonly unknown[]
  readonly fPortRules: readonly FPortRule[]
}

/** Whether uplinks on an FPort are decoded, or go on as they came. */
export interface FPortRule {
  readonly fPort: number
  readonly use: 'DECODE' | 'PASS'
}

/** The collection that a profile comes from. */
export interface ProfileSource {
  readonly name: string
  readonly licence: string
  readonly url: string
  readonly version: string
}

/** A profile by itself. */
export interface DeviceProfileDetail {
  readonly deviceProfile: DeviceProfileFields & {
    readonly id: string
    readonly organizationID: string
    readonly codecVersion: number
    readonly updatedAt: string
    readonly hasLibraryUpdate: boolean
    /** Null for a profile that was written here. */
    readonly source: ProfileSource | null
  }
  readonly deviceCount: number
}

/** A kept version of a codec. */
export interface ProfileVersion {
  readonly version: number
  readonly payloadCodec: CodecKind
  /** The length of both scripts together. */
  readonly characters: number
  /** Empty where an API key or nobody saved it. */
  readonly userID: string
  /** Empty where a user or nobody saved it. */
  readonly apiKeyID: string
  readonly createdAt: string
}

/** The outcome of a test vector. `expected` and `got` are JSON or a sentence. */
export interface VectorOutcome {
  readonly name: string
  readonly ok: boolean
  readonly expected: string
  readonly got: string
}

/** The path of one profile. */
export function deviceProfilePath(id: string): string {
  return `${DEVICE_PROFILES_PATH}/${encodeURIComponent(id)}`
}

/** The profiles of an organization, by name. */
export function useDeviceProfiles(organizationId: string) {
  return useQuery({
    queryKey: [DEVICE_PROFILES_PATH, 'all', organizationId],
    queryFn: ({ signal }) =>
      request<Listed<ListedDeviceProfile>>('GET', DEVICE_PROFILES_PATH, {
        query: { limit: 1000, organizationID: organizationId },
        signal,
      }),
  })
}

/** One profile. */
export function useDeviceProfile(id: string) {
  return useQuery({
    queryKey: [DEVICE_PROFILE, id],
    // A profile that somebody is editing must not be replaced by a newer answer.
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    queryFn: ({ signal }) => request<DeviceProfileDetail>('GET', deviceProfilePath(id), { signal }),
  })
}

/** The kept versions of a profile's codec, the newest first. */
export function useProfileVersions(id: string) {
  return useQuery({
    queryKey: [DEVICE_PROFILE, id, 'versions'],
    queryFn: ({ signal }) => request<Listed<ProfileVersion>>('GET', `${deviceProfilePath(id)}/versions`, { signal }),
  })
}

/** Saves the fields. With `force` also a codec that breaks a test vector. */
export function saveDeviceProfile(id: string, deviceProfile: DeviceProfileFields, force: boolean): Promise<unknown> {
  return request('PUT', deviceProfilePath(id), { body: { deviceProfile, force } })
}

/** Makes a version the newest one. With `force` also one that breaks a test vector. */
export function restoreVersion(id: string, version: number, force: boolean): Promise<unknown> {
  return request('POST', `${deviceProfilePath(id)}/restore`, { body: { version, force } })
}

/** Runs the test vectors of a draft. Nothing is stored. */
export async function testDeviceProfile(id: string, draft: DeviceProfileFields): Promise<readonly VectorOutcome[]> {
  const { name: _, ...deviceProfile } = draft
  const path = `${deviceProfilePath(id)}/test`
  return (await request<{ readonly outcomes: VectorOutcome[] }>('POST', path, { body: { deviceProfile } })).outcomes
}
