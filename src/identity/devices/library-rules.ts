/** The rules of library profiles, and the way from one to an organization's device profile. */
import { isDeepStrictEqual } from 'node:util'
import { given } from '../../given.ts'
import type { Refusal } from '../store/result.ts'
import type { DeviceProfileFields, TestVector } from './device-profile.ts'
import type { LibraryProfileFields } from './library-profile.ts'
import { checkProfile, PROFILE_BOUNDS } from './profile-rules.ts'

/** The bounds of the library. They stop a hostile collection from filling the disk. */
export const LIBRARY_BOUNDS = {
  /** The largest public collection has 1,200 profiles. */
  profiles: 20_000,
  /** All profiles together, in characters. Scripts that are the same text count once. */
  characters: 134_217_728,
  /** Regions of one profile. */
  regions: 50,
  /** The longest name of a region, in characters. */
  region: 100,
} as const

/** A profile as a collection tells it, without any bound. */
export interface ToldProfile extends Omit<LibraryProfileFields, 'fPortRules' | 'testVectors'> {
  readonly fPortRules?: LibraryProfileFields['fPortRules']
  readonly testVectors: readonly (TestVector & { readonly direction?: string })[]
}

/** The members of a device profile that a collection tells. All others are the organization's. */
export const TOLD_MEMBERS = [
  'description',
  'region',
  'deviceClass',
  'payloadCodec',
  'payloadDecoderScript',
  'payloadEncoderScript',
  'testVectors',
  'source',
] as const satisfies readonly (keyof DeviceProfileFields)[]

/** The told members of a device profile. */
export type ToldMembers = Pick<DeviceProfileFields, (typeof TOLD_MEMBERS)[number]>

/**
 * The profile within the bounds of texts and vectors: what is longer is cut, and vectors without a
 * name get one. Its scripts stay as they are.
 */
export function boundedProfile(told: ToldProfile): LibraryProfileFields {
  const { source, payloadCodec, payloadDecoderScript, payloadEncoderScript } = told
  return {
    vendor: lineOf(told.vendor),
    model: lineOf(told.model),
    firmwareVersion: lineOf(told.firmwareVersion),
    description: cut(told.description, PROFILE_BOUNDS.description),
    regions: told.regions.slice(0, LIBRARY_BOUNDS.regions).map(({ region, deviceClass }) => {
      return { region: lineOf(region, LIBRARY_BOUNDS.region), deviceClass }
    }),
    fPortRules: told.fPortRules ?? [],
    payloadCodec,
    payloadDecoderScript,
    payloadEncoderScript,
    testVectors: boundedVectors(told.testVectors),
    source: {
      name: lineOf(source.name),
      licence: lineOf(source.licence),
      url: lineOf(source.url),
      version: lineOf(source.version),
    },
  }
}

/**
 * The members of a device profile for a region. Without a region the first one counts, and a
 * profile without regions has none.
 */
export function deviceFieldsOf(
  profile: LibraryProfileFields,
  region?: string,
): Omit<DeviceProfileFields, 'name' | 'library' | OwnMember> {
  const { vendor, model, firmwareVersion, description, fPortRules, source, testVectors } = profile
  const { payloadCodec, payloadDecoderScript, payloadEncoderScript } = profile
  const chosen = profile.regions.find((one) => region === undefined || one.region === region)
  return {
    description,
    vendor,
    model,
    firmwareVersion,
    region: chosen?.region ?? '',
    deviceClass: chosen?.deviceClass ?? 'A',
    payloadCodec,
    payloadDecoderScript,
    payloadEncoderScript,
    fPortRules,
    testVectors,
    source,
  }
}

/** The members that no collection tells. */
type OwnMember = 'expectedIntervalSeconds' | 'batteryLimitPercent' | 'marginLimitDb' | 'tags' | 'variables'

/**
 * The told members of a device profile that the collection has otherwise, with the collection's
 * values. Test vectors of the organization stay: those whose name the collection has not. The
 * region stays, where the profile is for it and `region` names no other.
 */
export function toldChanges(
  existing: ToldMembers,
  profile: LibraryProfileFields,
  region?: string,
): Partial<ToldMembers> {
  const keeps = profile.regions.some((one) => one.region === existing.region)
  const fresh = deviceFieldsOf(profile, region ?? (keeps ? existing.region : undefined))
  const names = new Set(fresh.testVectors.map(({ name }) => name))
  const own = existing.testVectors.filter(({ name }) => !names.has(name))
  const kept = fresh.testVectors.slice(0, Math.max(0, PROFILE_BOUNDS.vectors - own.length))
  const wanted: ToldMembers = { ...fresh, testVectors: [...kept, ...own] }
  const other = TOLD_MEMBERS.filter((member) => !isDeepStrictEqual(plain(wanted[member]), plain(existing[member])))
  return Object.fromEntries(other.map((member) => [member, wanted[member]]))
}

/** The refusal of a profile whose members break a rule; undefined if they are right. */
export function checkLibraryProfile(profile: LibraryProfileFields): Refusal | undefined {
  return checkProfile({
    ...deviceFieldsOf(profile),
    name: profile.model === '' ? 'profile' : cut(profile.model, PROFILE_BOUNDS.name),
    expectedIntervalSeconds: 0,
    batteryLimitPercent: null,
    marginLimitDb: null,
    tags: {},
    variables: {},
    library: null,
  })
}

/** The text on one line, without the characters that a line of the registry refuses. */
export function lineOf(text: string, maximum: number = PROFILE_BOUNDS.line): string {
  return cut(text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' '), maximum)
}

/** As many vectors from the first on as a device profile takes. */
function boundedVectors(vectors: ToldProfile['testVectors']): readonly TestVector[] {
  let characters = 2
  const named = vectors.slice(0, PROFILE_BOUNDS.vectors).map((vector, index): TestVector => {
    const { direction: _, ...members } = vector
    return Object.assign(members, { name: lineOf(vector.name, PROFILE_BOUNDS.name).trim() || `example ${index + 1}` })
  })
  return named.filter((vector) => {
    characters += JSON.stringify(vector).length + 1
    return characters <= PROFILE_BOUNDS.charactersOfVectors
  })
}

/** At most so many units of UTF-16. The registry counts code points, which are never more. */
function cut(text: string, maximum: number): string {
  // Half of a surrogate pair at the end, which the registry refuses, becomes U+FFFD.
  return text.slice(0, maximum).toWellFormed()
}

/** As it is after its way through JSON. */
export function plain(value: unknown): unknown {
  const text: string | undefined = JSON.stringify(given({ value }))
  return JSON.parse(text) as unknown
}
