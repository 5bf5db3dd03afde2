/** Device profiles as the other rooms see them. `device-profiles.ts` keeps them in a store. */
import type { Actor, Listed, Page, Result } from '../store/result.ts'

/** How the payloads of the devices are decoded and encoded; empty for not at all. */
export type PayloadCodec = '' | 'CAYENNE_LPP' | 'CUSTOM_JS'

/** The codec of a profile. Versions are kept of these members together. */
export interface ProfileCodec {
  /** Empty: payloads of the profile's devices are not decoded. */
  readonly payloadCodec: PayloadCodec
  readonly payloadDecoderScript: string
  readonly payloadEncoderScript: string
}

/** Whether uplinks on an FPort are decoded, or pass as they came. */
export interface FPortRule {
  /** 1 to 255. */
  readonly fPort: number
  readonly use: 'DECODE' | 'PASS'
}

/** A sample uplink with its object, or with `errors` where the codec must refuse the bytes. */
export interface UplinkVector {
  readonly name: string
  readonly fPort: number
  /** Pairs of hexadecimal digits. */
  readonly bytes: string
  /** RFC 3339. */
  readonly recvTime?: string
  readonly variables?: Readonly<Record<string, string>>
  readonly expected: { readonly data: unknown } | { readonly errors: readonly string[] }
}

/** A sample command with its bytes. */
export interface DownlinkVector {
  readonly name: string
  readonly object: unknown
  /** The FPort that the command names; 1 when it is not given. */
  readonly fPort?: number
  readonly variables?: Readonly<Record<string, string>>
  /** Pairs of hexadecimal digits. */
  readonly expectedBytes: string
  /** The FPort that the encoder must choose. */
  readonly expectedFPort?: number
}

/** A test of a profile's codec. */
export type TestVector = UplinkVector | DownlinkVector

/** Where a profile comes from. */
export interface ProfileSource {
  readonly name: string
  readonly licence: string
  readonly url: string
  readonly version: string
}

/** The profile of the library that a device profile was made of. */
export interface LibraryReference {
  /** Its id. The profile may be gone from the library. */
  readonly profileId: string
  /** The revision that the device profile has. */
  readonly revision: number
}

/** The members of a profile that a list has, and that may change. */
export interface ListedProfileFields {
  /** Unique within the organization. */
  readonly name: string
  readonly description: string
  readonly vendor: string
  readonly model: string
  readonly firmwareVersion: string
  readonly region: string
  readonly deviceClass: string
  readonly payloadCodec: PayloadCodec
  /** The time between two uplinks; 0: none is expected. */
  readonly expectedIntervalSeconds: number
  /** A battery level below it is low; null: no limit. */
  readonly batteryLimitPercent: number | null
  /** A demodulation margin below it is weak; null: no limit. */
  readonly marginLimitDb: number | null
  /** They go out with events, below the device's own. */
  readonly tags: Readonly<Record<string, string>>
  /** Scripts get them, below the device's own. */
  readonly variables: Readonly<Record<string, string>>
  readonly fPortRules: readonly FPortRule[]
  readonly source: ProfileSource | null
  /** Null when it was not chosen from the library. */
  readonly library: LibraryReference | null
}

/** All members of a profile that may change. */
export interface DeviceProfileFields extends ListedProfileFields, ProfileCodec {
  readonly testVectors: readonly TestVector[]
}

interface ProfilePlace {
  /** A UUID. */
  readonly id: string
  readonly organizationId: string
  /** The number of the codec's newest version, from 1. */
  readonly codecVersion: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** A profile as a list has it: without scripts and vectors, which may be long. */
export interface ListedDeviceProfile extends ListedProfileFields, ProfilePlace {}

/** A profile says what devices of one kind have in common. */
export interface DeviceProfile extends DeviceProfileFields, ProfilePlace {}

/** A version of a codec, with its author and its time. */
export interface ProfileVersion {
  readonly version: number
  readonly payloadCodec: PayloadCodec
  /** The sum of the lengths of both scripts. */
  readonly size: number
  readonly actorUserId: string | null
  readonly actorApiKeyId: string | null
  readonly createdAtMs: number
}

/** The device profiles of all organizations. */
export interface DeviceProfiles {
  /**
   * Refusals: organization_not_found, device_profile_exists, invalid_name, invalid_device_profile,
   * invalid_payload_codec, invalid_payload_script, invalid_tags, invalid_variables,
   * too_many_device_profiles, device_profiles_too_large.
   */
  create(organizationId: string, fields: DeviceProfileFields, actor: Actor): Promise<Result<{ readonly id: string }>>
  get(id: string): Promise<DeviceProfile | undefined>
  /**
   * Changes the fields that are given. Another codec is another version. Refusals:
   * device_profile_not_found, and those of `create`.
   */
  update(id: string, fields: Partial<DeviceProfileFields>, actor: Actor): Promise<Result<void>>
  /**
   * Removes the profile. While devices have it, it is refused with device_profile_in_use, unless
   * they are to be detached: they then have no profile. Refusal: device_profile_not_found.
   */
  remove(id: string, options: { readonly detach: boolean }, actor: Actor): Promise<Result<void>>
  /** Sorted by name; `search` looks into name, vendor and model. */
  list(organizationId: string, page: Page): Promise<Listed<ListedDeviceProfile>>
  /** How many devices have the profile. */
  deviceCount(id: string): Promise<number>
  /** The newest first, at most 20. */
  versions(id: string): Promise<readonly ProfileVersion[]>
  /** The codec of a version that is still kept. */
  version(id: string, version: number): Promise<ProfileCodec | undefined>
}
