/**
 * Reads members of received events for the shapes. A number that is left out is 0, and a text is
 * empty, as in the JSON of Protocol Buffers. A value of another type makes the event unreadable.
 */
import { memberOf, objectOf } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { JsonText } from './event-facts.ts'
import type { PlaceFacts, ReceivedEvent } from './event-facts.ts'

/** An event that can't be read into facts. The message names the member and what it must be. */
export class UnreadableEvent extends Error {}

/** The number of a member; 0 for a member that is not there. */
export function numberIn(members: JsonObject | undefined, name: string): number {
  return optionalNumber(members, name) ?? 0
}

export function optionalNumber(members: JsonObject | undefined, name: string): number | undefined {
  return valueIn(members, name, 'number', 'a number') as number | undefined
}

/** The text of a member; empty for a member that is not there. */
export function textIn(members: JsonObject | undefined, name: string): string {
  return optionalText(members, name) ?? ''
}

export function optionalText(members: JsonObject | undefined, name: string): string | undefined {
  return valueIn(members, name, 'string', 'a text') as string | undefined
}

export function optionalBoolean(members: JsonObject | undefined, name: string): boolean | undefined {
  return valueIn(members, name, 'boolean', 'true or false') as boolean | undefined
}

/** The object of a member; undefined for a member that is not there. */
export function objectIn(members: JsonObject | undefined, name: string): JsonObject | undefined {
  const value = memberOf(members, name) ?? undefined
  const object = objectOf(value)
  if (value !== undefined && object === undefined) throw new UnreadableEvent(`${name}: must be an object`)
  return object
}

/** The objects of a list; empty for a member that is not there. */
export function objectsIn(members: JsonObject, name: string): readonly JsonObject[] {
  const value = memberOf(members, name) ?? []
  const objects = Array.isArray(value) ? value.map(objectOf) : [undefined]
  if (objects.includes(undefined)) throw new UnreadableEvent(`${name}: must be a list of objects`)
  return objects as readonly JsonObject[]
}

/** The texts of an object, by name. Other values are passed over. */
export function textsIn(members: JsonObject | undefined, name: string): Readonly<Record<string, string>> {
  const entries = Object.entries(objectIn(members, name) ?? {})
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

/** The value of a member as it was written; undefined for `null` and for no value. */
export function jsonIn({ members, textOf }: ReceivedEvent, name: string): JsonText | undefined {
  const text = (memberOf(members, name) ?? undefined) === undefined ? undefined : textOf(name)
  return text === undefined ? undefined : new JsonText(text)
}

export function placeIn(place: JsonObject): PlaceFacts {
  return {
    latitude: numberIn(place, 'latitude'),
    longitude: numberIn(place, 'longitude'),
    altitude: numberIn(place, 'altitude'),
    source: optionalText(place, 'source'),
    accuracy: optionalNumber(place, 'accuracy'),
  }
}

/** The place of a gateway; undefined for one that tells no place, or an empty one. */
export function optionalPlace(members: JsonObject): PlaceFacts | undefined {
  const place = objectIn(members, 'location')
  return place === undefined || Object.keys(place).length === 0 ? undefined : placeIn(place)
}

/**
 * An EUI or an address in lower-case hexadecimal digits. ChirpStack v3 writes the bytes in base64
 * in one of its formats. Another text stays as it is.
 */
export function hexadecimal(text: string, bytes: 4 | 8): string {
  if (text.length === 2 * bytes && /^[0-9a-f]+$/i.test(text)) return text.toLowerCase()
  const decoded = Buffer.from(text, 'base64')
  return decoded.length === bytes && decoded.toString('base64') === text ? decoded.toString('hex') : text
}

function valueIn(members: JsonObject | undefined, name: string, type: string, wanted: string): unknown {
  const value = memberOf(members, name) ?? undefined
  if (value !== undefined && typeof value !== type) throw new UnreadableEvent(`${name}: must be ${wanted}`)
  return value
}
