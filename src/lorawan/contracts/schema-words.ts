/**
 * The words of the schemas of messages. A part with a `title` becomes a definition of its document,
 * so that generators make one type of it, under this name.
 */
import { Type } from 'typebox'
import type { TSchema } from 'typebox'

/** The highest frame counter; it has 32 bits. */
const MAXIMUM_FRAME_COUNTER = 4_294_967_295

/** An application's id, as it stands in topics. */
export function applicationIdText(description: string) {
  return Type.String({ description, pattern: '^[A-Za-z0-9-]{1,64}$' })
}

/** A DevEUI on output. */
export function devEuiText() {
  return Type.String({ description: 'The device’s DevEUI: 16 hexadecimal digits in lower case.', pattern: EUI })
}

/** The pattern of an EUI of 64 bits: 16 hexadecimal digits in lower case. */
export const EUI = '^[0-9a-f]{16}$'

/** The device's address in its network. */
export function devAddrText() {
  return Type.String({
    description: 'The device’s address: 8 hexadecimal digits in lower case.',
    pattern: '^[0-9a-f]{8}$',
  })
}

/** A time by RFC 3339. Network servers write up to nine digits of a second. */
export function time(description: string) {
  return Type.String({ description, format: 'date-time' })
}

/** Bytes as text (RFC 4648 §4). */
export function base64(description: string) {
  return Type.String({ description, contentEncoding: 'base64' })
}

/** One of a closed list of words: no other word can come without a new version. */
export function word<const Word extends string>(words: readonly Word[], description: string) {
  return Type.Unsafe<Word>({ type: 'string', enum: words, description })
}

/** Texts by their names. */
export function texts(description: string) {
  return Type.Unsafe<Readonly<Record<string, string>>>({
    type: 'object',
    additionalProperties: { type: 'string' },
    description,
  })
}

/** A frame counter. */
export function frameCounter(description: string) {
  return Type.Integer({ description, minimum: 0, maximum: MAXIMUM_FRAME_COUNTER })
}

/** The port of an uplink; 0 is the port of commands of the network itself. */
export function uplinkPort() {
  return Type.Integer({ description: 'FPort. 0 has no application data.', minimum: 0, maximum: 255 })
}

/** The index of a data rate in its region. */
export function dataRate() {
  return Type.Integer({ description: 'Index of the data rate in the region.', minimum: 0, maximum: 15 })
}

/** The decoded payload. A script may give any value of JSON, and nearly all give an object. */
export function decodedObject() {
  return Type.Unknown({
    description:
      'The decoded payload, from the network server or from the application’s codec. Any value of JSON: nearly always an object.',
  })
}

/**
 * The measurements beside the decoded payload. The schema of the shape NORMALIZED has their units.
 */
export function measurements() {
  return Type.Array(Type.Unsafe<object>({ type: 'object' }), {
    description:
      'Measurements in the units of The Things Stack’s normalized payload, where a payload formatter gives them.',
  })
}

/** The id that Fieldgate adds to events about commands. */
export function commandId() {
  return Type.Optional(
    Type.String({ description: 'The id of the command that the event is about, where Fieldgate knows it.' }),
  )
}

/** A value that may be null. */
export function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}
