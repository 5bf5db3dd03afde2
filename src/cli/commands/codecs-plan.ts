/** The device profile that a profile of a collection becomes, and the one that it became before. */
import { boundedProfile, deviceFieldsOf, lineOf, toldChanges } from '../../identity/devices/library-rules.ts'
import type { ToldMembers } from '../../identity/devices/library-rules.ts'
import { PROFILE_BOUNDS } from '../../identity/devices/profile-rules.ts'
import { objectAt, textAt } from '../../json.ts'
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
  const { fPortRules: _, ...members } = deviceFieldsOf(boundedProfile(profile), region)
  return members
}

/**
 * The members of an existing device profile, as the service writes it, that the collection has
 * otherwise, with the collection's values.
 */
export function changesTo(existing: JsonObject, profile: LibraryProfile, region?: string): JsonObject {
  return toldChanges(existing as unknown as ToldMembers, boundedProfile(profile), region)
}

/** The changes that can make a test vector of today fail. */
export function codecChanges(changes: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(changes).filter(([member]) => OF_CODEC.has(member)))
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
