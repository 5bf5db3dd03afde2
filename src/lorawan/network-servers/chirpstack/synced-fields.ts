/**
 * Fits names, descriptions and tags of another system into the rules of the registry: too long
 * values are cut, never refused.
 */
import type { ChirpStackDevice } from './chirpstack-api.ts'
import type { SyncedDeviceFields } from './synced-registry.ts'

/** The variable of a device that ChirpStack no longer lists: the time since then, RFC 3339. */
export const GONE_SINCE = 'chirpstackGoneSince'

/** The registry's bounds, in characters. */
const NAME_LENGTH = 100
const DESCRIPTION_LENGTH = 1000
const MAXIMUM_TAGS = 32
const TAG_LENGTH = 1000

/** A name on one line; the id when nothing of the name is left. */
export function nameOf(name: string, id: string): string {
  const line = name
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ')
    .trim()
  return line === '' ? id : cut(line, NAME_LENGTH)
}

/** A text that may have several lines. */
export function descriptionOf(text: string): string {
  return cut(paragraphOf(text), DESCRIPTION_LENGTH)
}

/** The fields of a device as the registry keeps them. */
export function deviceFieldsOf(device: ChirpStackDevice): SyncedDeviceFields {
  const tags = Object.entries(device.tags)
    .filter(([key]) => key !== '' && key === nameOf(key, ''))
    .slice(0, MAXIMUM_TAGS)
    .map(([key, value]) => [key, cut(paragraphOf(value), TAG_LENGTH)] as const)
  return {
    name: nameOf(device.name, device.devEui),
    description: descriptionOf(device.description),
    deviceProfileId: device.deviceProfileId,
    deviceProfileName: nameOf(device.deviceProfileName, device.deviceProfileId),
    tags: Object.fromEntries(tags),
  }
}

/** True when the device has these fields already. */
export function isSame(device: SyncedDeviceFields, wanted: SyncedDeviceFields): boolean {
  return (
    device.name === wanted.name &&
    device.description === wanted.description &&
    device.deviceProfileId === wanted.deviceProfileId &&
    device.deviceProfileName === wanted.deviceProfileName &&
    textOf(device.tags) === textOf(wanted.tags)
  )
}

function textOf(tags: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(tags).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

function paragraphOf(text: string): string {
  return text.toWellFormed().replaceAll(/(?![\t\n\r])\p{Cc}/gu, ' ')
}

/** Cuts by code points, so that no surrogate pair is split. */
function cut(text: string, length: number): string {
  return text.length <= length ? text : Array.from(text).slice(0, length).join('')
}
