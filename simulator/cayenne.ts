/**
 * Cayenne LPP as the simulated devices speak it: `[channel][type][value]...`, big-endian, values in
 * fixed point.
 */
import { objectOf } from '../src/json.ts'

/**
 * `{sensorName: {channel: value}}`, as network servers decode it; a value of three axes is an
 * object.
 */
export type CayenneObject = Readonly<Record<string, Readonly<Record<string, CayenneValue>>>>

type CayenneValue = number | Readonly<Record<string, number>>

/**
 * The encoded bytes, and the object with the values that the bytes carry, rounded to the type's
 * resolution.
 */
export type CayenneEncoding =
  | { readonly ok: true; readonly bytes: Buffer; readonly object: CayenneObject }
  | { readonly ok: false; readonly message: string }

interface CayenneField {
  /**
   * The name of one part of a value of several parts; undefined: the value is the number itself.
   */
  readonly member: string | undefined
  readonly bytes: 1 | 2 | 3 | 4
  readonly signed: boolean
  readonly scale: number
}

interface CayenneType {
  readonly type: number
  readonly fields: readonly CayenneField[]
}

/** The types, in the order in which an object is encoded. */
const TYPES: ReadonlyMap<string, CayenneType> = new Map([
  ['digitalInput', single(0, 1, false, 1)],
  ['digitalOutput', single(1, 1, false, 1)],
  ['analogInput', single(2, 2, true, 100)],
  ['analogOutput', single(3, 2, true, 100)],
  ['genericSensor', single(100, 4, false, 1)],
  ['illuminanceSensor', single(101, 2, false, 1)],
  ['presenceSensor', single(102, 1, false, 1)],
  ['temperatureSensor', single(103, 2, true, 10)],
  ['humiditySensor', single(104, 1, false, 2)],
  ['barometer', single(115, 2, false, 10)],
  ['voltage', single(116, 2, false, 100)],
  ['current', single(117, 2, false, 1000)],
  ['percentage', single(120, 1, false, 1)],
  ['concentration', single(125, 2, false, 1)],
  ['power', single(128, 2, false, 1)],
  ['distance', single(130, 4, false, 1000)],
  ['energy', single(131, 4, false, 1000)],
  ['direction', single(132, 2, false, 1)],
  [
    'gpsLocation',
    {
      type: 136,
      fields: [
        { member: 'latitude', bytes: 3, signed: true, scale: 10_000 },
        { member: 'longitude', bytes: 3, signed: true, scale: 10_000 },
        { member: 'altitude', bytes: 3, signed: true, scale: 100 },
      ],
    },
  ],
  ['switch', single(142, 1, false, 1)],
])

/**
 * Encodes an object. A value that the type's resolution and range can't carry is refused, not
 * wrapped.
 */
export function encodeCayenne(object: unknown): CayenneEncoding {
  const sensors = objectOf(object)
  if (sensors === undefined) return { ok: false, message: 'the object is not a JSON object' }
  const unknown = Object.keys(sensors).find((name) => !TYPES.has(name))
  if (unknown !== undefined) return { ok: false, message: `Cayenne LPP has no sensor named ${JSON.stringify(unknown)}` }
  const parts: Buffer[] = []
  const carried: Record<string, Record<string, CayenneValue>> = {}
  for (const [name, type] of TYPES) {
    if (!Object.hasOwn(sensors, name)) continue
    const channels = objectOf(sensors[name])
    if (channels === undefined) return { ok: false, message: `${name} is not a map of channels` }
    const values: Record<string, CayenneValue> = {}
    // A JSON object has its integer-like members in ascending order, which is the order of the
    // channels.
    for (const [channel, value] of Object.entries(channels)) {
      const encoded = encodeValue(name, type, channel, value)
      if (!encoded.ok) return encoded
      parts.push(encoded.bytes)
      values[channel] = encoded.value
    }
    carried[name] = values
  }
  return { ok: true, bytes: Buffer.concat(parts), object: carried }
}

function encodeValue(
  name: string,
  type: CayenneType,
  channel: string,
  value: unknown,
): { ok: true; bytes: Buffer; value: CayenneValue } | { ok: false; message: string } {
  if (!/^\d{1,3}$/.test(channel) || Number(channel) > 255) {
    return { ok: false, message: `${name}: a channel is a number from 0 to 255` }
  }
  const size = type.fields.reduce((sum, field) => sum + field.bytes, 2)
  const bytes = Buffer.alloc(size)
  bytes[0] = Number(channel)
  bytes[1] = type.type
  let offset = 2
  const members: Record<string, number> = {}
  let scalar = 0
  for (const field of type.fields) {
    const part = field.member === undefined ? value : objectOf(value)?.[field.member]
    if (typeof part !== 'number') return { ok: false, message: `${name} ${channel}: not a number` }
    const fixed = Math.round(part * field.scale)
    const span = 2 ** (8 * field.bytes)
    const [low, high] = field.signed ? [-span / 2, span / 2 - 1] : [0, span - 1]
    if (!(fixed >= low && fixed <= high)) return { ok: false, message: `${name} ${channel}: out of range` }
    bytes.writeUIntBE(fixed < 0 ? fixed + span : fixed, offset, field.bytes)
    offset += field.bytes
    scalar = fixed / field.scale
    if (field.member !== undefined) members[field.member] = scalar
  }
  return { ok: true, bytes, value: type.fields.length === 1 ? scalar : members }
}

function single(type: number, bytes: 1 | 2 | 3 | 4, signed: boolean, scale: number): CayenneType {
  return { type, fields: [{ member: undefined, bytes, signed, scale }] }
}
