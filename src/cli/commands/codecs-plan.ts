/** The device profile that a profile of a collection becomes, and the one that it became before. */
import { isDeepStrictEqual } from 'node:util'
import { PROFILE_BOUNDS } from '../../identity/devices/profile-rules.ts'
import { objectAt, objectsAt, textAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { deviceProfileOf } from '../../lorawan/library/device-profile-text.ts'
import type { LibraryProfile } from '../../lorawan/library/library-profile.ts'

/** A profile of a collection, and the device profile that was made of it. */
export interface PlannedProfile {
  readonly profile: LibraryProfile
  /** As a list of device profiles writes it; undefined for a profile that is new. */
  readonly existing: JsonObject | undefined
  /** The name of the existing device profile, or a free one. */
  readonly name: string
}

/** The members that a collection tells. All others, and the name, are the organization's. */
const TOLD = [
  'description',
  'region',
  'deviceClass',
  'payloadCodec',
  'payloadDecoderScript',
  'payloadEncoderScript',
  'testVectors',
  'source',
] as const

/** The members that decide what a codec gives. */
const OF_CODEC: ReadonlySet<string> = new Set(['payloadCodec', 'payloadDecoderScript', 'payloadEncoderScript'])

/**
 * Finds for each profile the device profile with its source, vendor, model, firmware and region, or
 * else a name that no device profile has.
 */
export function planImport(
  profiles: readonly LibraryProfile[],
  existing: readonly JsonObject[],
): readonly PlannedProfile[] {
  const free = new Map<string, JsonObject[]>()
  for (const one of existing) {
    const key = keyOf(one, textAt(objectAt(one, 'source'), 'name') ?? '')
    free.set(key, [...(free.get(key) ?? []), one])
  }
  const names = new Set(existing.map((one) => textAt(one, 'name') ?? ''))
  return profiles.map((profile) => {
    const candidates = free.get(keyOf(membersOf(profile), profile.source.name)) ?? []
    const at = candidates.findIndex((one) => isOfRegion(profile, textAt(one, 'region') ?? ''))
    const [found] = at === -1 ? [] : candidates.splice(at, 1)
    if (found !== undefined) return { profile, existing: found, name: textAt(found, 'name') ?? '' }
    const name = freeName(profile, names)
    names.add(name)
    return { profile, existing: undefined, name }
  })
}

/** The members of the device profile within the bounds of the service, without its name. */
export function membersOf(profile: LibraryProfile, region?: string): JsonObject {
  const { name: _, ...members } = deviceProfileOf(profile, region)
  const { description, source } = profile
  const { name, licence, url, version } = source
  return {
    ...members,
    description: cut(description, PROFILE_BOUNDS.description),
    vendor: lineOf(profile.vendor),
    model: lineOf(profile.model),
    firmwareVersion: lineOf(profile.firmwareVersion),
    source: { name: lineOf(name), licence: lineOf(licence), url: lineOf(url), version: lineOf(version) },
    testVectors: objectsAt(members, 'testVectors')
      .slice(0, PROFILE_BOUNDS.vectors)
      .map((vector, index) => Object.assign({}, vector, { name: vectorName(vector, index) })),
  }
}

/**
 * The members of an existing device profile that the collection has otherwise, with the
 * collection's values. Test vectors of the organization stay: those whose name the collection has
 * not. The region stays, where the profile is for it and `region` names no other.
 */
export function changesTo(existing: JsonObject, profile: LibraryProfile, region?: string): JsonObject {
  const today = textAt(existing, 'region')
  const keeps = profile.regions.some((one) => one.region === today)
  const members = membersOf(profile, region ?? (keeps ? today : undefined))
  const fresh = objectsAt(members, 'testVectors')
  const names = new Set(fresh.map(({ name }) => name))
  const own = objectsAt(existing, 'testVectors').filter(({ name }) => !names.has(name))
  const wanted: JsonObject = {
    ...members,
    testVectors: [...fresh.slice(0, PROFILE_BOUNDS.vectors - own.length), ...own],
  }
  const other = TOLD.filter((member) => !isDeepStrictEqual(plain(wanted[member]), plain(existing[member])))
  return Object.fromEntries(other.map((member) => [member, wanted[member]]))
}

/** The changes that can make a test vector of today fail. */
export function codecChanges(changes: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(changes).filter(([member]) => OF_CODEC.has(member)))
}

function vectorName(vector: JsonObject, index: number): string {
  return lineOf(textAt(vector, 'name') ?? '', PROFILE_BOUNDS.name).trim() || `example ${index + 1}`
}

/** As it is after its way through JSON. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown
}

function keyOf(profile: JsonObject, source: string): string {
  return JSON.stringify([lineOf(source), profile['vendor'], profile['model'], profile['firmwareVersion']])
}

function isOfRegion({ regions }: LibraryProfile, region: string): boolean {
  return regions.length === 0 || regions.some((one) => one.region === region)
}

/** Vendor, model and firmware; with the region, or with a number, where that name is taken. */
function freeName(profile: LibraryProfile, taken: ReadonlySet<string>): string {
  const start = String(deviceProfileOf(profile)['name'])
  const name = nameWith(start, '')
  if (!taken.has(name)) return name
  const inRegion = nameWith(start, ` ${profile.regions[0]?.region ?? ''}`)
  for (let number = 1; ; number += 1) {
    const tried = number === 1 ? inRegion : nameWith(inRegion, ` (${number})`)
    if (!taken.has(tried)) return tried
  }
}

function nameWith(start: string, end: string): string {
  const bounded = lineOf(end, PROFILE_BOUNDS.name).trimEnd()
  return lineOf(start, PROFILE_BOUNDS.name - bounded.length).trim() + bounded || 'profile'
}

/** The text on one line, without the characters that a line of the registry refuses. */
function lineOf(text: string, maximum: number = PROFILE_BOUNDS.line): string {
  return cut(text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' '), maximum)
}

/** At most so many units of UTF-16. The registry counts code points, which are never more. */
function cut(text: string, maximum: number): string {
  // Half of a surrogate pair at the end, which the registry refuses, becomes U+FFFD.
  return text.slice(0, maximum).toWellFormed()
}
