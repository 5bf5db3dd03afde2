/**
 * Cayenne Low Power Payload: an object of sensor name to channel to value ⇄ bytes,
 * `[channel][type][value]...`, big-endian. Values are rounded to the sensor's resolution, never
 * truncated. A value that does not fit is refused, never wrapped.
 */
import { isObject } from '../../json.ts'

/**
 * Decoded sensors: sensor name to channel (`"0"` to `"255"`) to a number, or to numbers by axis.
 */
export type CayenneObject = Record<string, Record<string, number | Record<string, number>>>

export type CayenneFaultCode =
  | 'not_an_object'
  | 'unknown_sensor'
  | 'unknown_type'
  | 'invalid_channel'
  | 'wrong_type'
  | 'member_missing'
  | 'unknown_member'
  | 'out_of_range'
  | 'trailing_bytes'

/** A fault, with its sensor and channel: `temperatureSensor.1: 4000 is above 3276.7`. */
export interface CayenneFault {
  readonly ok: false
  readonly code: CayenneFaultCode
  readonly message: string
}

/**
 * A number in the payload: its width, its sign, and the factor by which the value is multiplied.
 */
interface Field {
  /** The axis or the member; '' for a sensor with a single number. */
  readonly member: string
  readonly bytes: 1 | 2 | 3 | 4
  readonly isSigned: boolean
  readonly factor: number
}

interface Sensor {
  readonly name: string
  readonly type: number
  readonly fields: readonly Field[]
}

const MAXIMUM_CHANNEL = 255
const CHANNEL = /^(?:0|[1-9]\d{0,2})$/
/** Names that a message may show. Other names could carry anything into logs and Reason Strings. */
const SHOWABLE = /^[\w-]{1,40}$/

const uint8 = (factor = 1, member = ''): Field => ({ member, bytes: 1, isSigned: false, factor })
const uint16 = (factor = 1): Field => ({ member: '', bytes: 2, isSigned: false, factor })
const int16 = (factor = 1, member = ''): Field => ({ member, bytes: 2, isSigned: true, factor })
const int24 = (factor: number, member: string): Field => ({ member, bytes: 3, isSigned: true, factor })
const uint32 = (factor = 1): Field => ({ member: '', bytes: 4, isSigned: false, factor })

const sensor = (name: string, type: number, ...fields: Field[]): Sensor => ({ name, type, fields })

/** All sensors, in the order in which they are encoded. */
export const CAYENNE_SENSORS: readonly Sensor[] = [
  sensor('digitalInput', 0, uint8()),
  sensor('digitalOutput', 1, uint8()),
  sensor('analogInput', 2, int16(100)),
  sensor('analogOutput', 3, int16(100)),
  sensor('genericSensor', 100, uint32()),
  sensor('illuminanceSensor', 101, uint16()),
  sensor('presenceSensor', 102, uint8()),
  sensor('temperatureSensor', 103, int16(10)),
  sensor('humiditySensor', 104, uint8(2)),
  sensor('accelerometer', 113, int16(1000, 'x'), int16(1000, 'y'), int16(1000, 'z')),
  sensor('barometer', 115, uint16(10)),
  sensor('voltage', 116, uint16(100)),
  sensor('current', 117, uint16(1000)),
  sensor('frequency', 118, uint32()),
  sensor('percentage', 120, uint8()),
  sensor('altitude', 121, int16()),
  sensor('concentration', 125, uint16()),
  sensor('power', 128, uint16()),
  sensor('distance', 130, uint32(1000)),
  sensor('energy', 131, uint32(1000)),
  sensor('direction', 132, uint16()),
  sensor('unixTime', 133, uint32()),
  sensor('gyrometer', 134, int16(100, 'x'), int16(100, 'y'), int16(100, 'z')),
  sensor('colour', 135, uint8(1, 'r'), uint8(1, 'g'), uint8(1, 'b')),
  sensor('gpsLocation', 136, int24(10_000, 'latitude'), int24(10_000, 'longitude'), int24(100, 'altitude')),
  sensor('switch', 142, uint8()),
]

const SENSOR_OF_NAME = new Map(CAYENNE_SENSORS.map((one) => [one.name, one]))
/** The names by which ChirpStack v4 knows some sensors. An object to be encoded may use either. */
const OTHER_NAMES: Readonly<Record<string, string>> = { unixTime: 'unix_time', colour: 'color' }
const OTHERS = new Set(Object.values(OTHER_NAMES))
const SENSOR_OF_TYPE = new Map(CAYENNE_SENSORS.map((one) => [one.type, one]))

/**
 * Decodes the sensors in a payload. If a sensor and channel is there twice, the last one counts.
 * Refuses unknown types, whose length is not known, and bytes that are left over.
 */
export function decodeCayenneLpp(bytes: Buffer): { readonly ok: true; readonly object: CayenneObject } | CayenneFault {
  const object: CayenneObject = {}
  let offset = 0
  while (offset < bytes.length) {
    const channel = bytes.readUInt8(offset)
    if (offset + 1 === bytes.length) return fault('trailing_bytes', `byte ${offset}: a channel without a type`)
    const type = bytes.readUInt8(offset + 1)
    const found = SENSOR_OF_TYPE.get(type)
    if (found === undefined) {
      return fault('unknown_type', `byte ${offset + 1}: ${type} is no sensor type (channel ${channel})`)
    }
    offset += 2
    const needed = widthOf(found)
    const left = bytes.length - offset
    if (left < needed) {
      return fault('trailing_bytes', `${found.name}.${channel}: needs ${needed} bytes, ${left} are left`)
    }
    const channels = (object[found.name] ??= {})
    channels[channel] = readValue(found, bytes, offset)
    offset += needed
  }
  return { ok: true, object }
}

/**
 * Encodes an object: sensors in the order of the table, channels ascending. Values are rounded to
 * the sensor's resolution, halves away from zero.
 */
export function encodeCayenneLpp(object: unknown): { readonly ok: true; readonly data: Buffer } | CayenneFault {
  if (!isObject(object)) return fault('not_an_object', 'the object must be a map of sensor names')
  const unknown = Object.keys(object).find((name) => !SENSOR_OF_NAME.has(name) && !OTHERS.has(name))
  if (unknown !== undefined) return fault('unknown_sensor', `${shown(unknown, 'the object')}: is no known sensor`)
  const data: number[] = []
  for (const one of CAYENNE_SENSORS) {
    for (const name of [one.name, OTHER_NAMES[one.name]]) {
      if (name === undefined || !Object.hasOwn(object, name)) continue
      const wrong = writeSensor(name === one.name ? one : { ...one, name }, object[name], data)
      if (wrong !== undefined) return wrong
    }
  }
  return { ok: true, data: Buffer.from(data) }
}

function widthOf(found: Sensor): number {
  return found.fields.reduce((sum, { bytes }) => sum + bytes, 0)
}

function readValue(found: Sensor, bytes: Buffer, start: number): number | Record<string, number> {
  const members: Record<string, number> = {}
  let offset = start
  for (const { member, bytes: width, isSigned, factor } of found.fields) {
    const scaled = isSigned ? bytes.readIntBE(offset, width) : bytes.readUIntBE(offset, width)
    if (member === '') return scaled / factor
    members[member] = scaled / factor
    offset += width
  }
  return members
}

function writeSensor(one: Sensor, channels: unknown, data: number[]): CayenneFault | undefined {
  if (!isObject(channels)) return fault('wrong_type', `${one.name}: must be a map of channels`)
  const wrong = Object.keys(channels).find((channel) => !CHANNEL.test(channel) || Number(channel) > MAXIMUM_CHANNEL)
  if (wrong !== undefined) {
    const path = shown(wrong, one.name, `${one.name}.`)
    return fault('invalid_channel', `${path}: a channel is a whole number from 0 to ${MAXIMUM_CHANNEL}`)
  }
  for (const channel of Object.keys(channels).toSorted((left, right) => Number(left) - Number(right))) {
    data.push(Number(channel), one.type)
    const found = writeValue(one, `${one.name}.${channel}`, channels[channel], data)
    if (found !== undefined) return found
  }
  return undefined
}

function writeValue(one: Sensor, path: string, value: unknown, data: number[]): CayenneFault | undefined {
  const [first] = one.fields
  if (first?.member === '') return writeNumber(first, path, value, data)
  const names = one.fields.map(({ member }) => member)
  if (!isObject(value)) return fault('wrong_type', `${path}: must be an object with ${names.join(', ')}`)
  const unknown = Object.keys(value).find((name) => !names.includes(name))
  if (unknown !== undefined) {
    return fault('unknown_member', `${shown(unknown, path, `${path}.`)}: is not one of ${names.join(', ')}`)
  }
  for (const field of one.fields) {
    const inner = `${path}.${field.member}`
    if (!Object.hasOwn(value, field.member)) return fault('member_missing', `${inner}: is missing`)
    const wrong = writeNumber(field, inner, value[field.member], data)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

function writeNumber(field: Field, path: string, value: unknown, data: number[]): CayenneFault | undefined {
  if (typeof value !== 'number' || Number.isNaN(value)) return fault('wrong_type', `${path}: must be a number`)
  const span = 2 ** (8 * field.bytes)
  const lowest = field.isSigned ? -span / 2 : 0
  const highest = lowest + span - 1
  const scaled = rounded(value, field.factor)
  if (scaled > highest) return fault('out_of_range', `${path}: ${value} is above ${highest / field.factor}`)
  if (scaled < lowest) return fault('out_of_range', `${path}: ${value} is below ${lowest / field.factor}`)
  for (let shift = field.bytes - 1; shift >= 0; shift -= 1) {
    // A division, because a shift has fewer bits than a uint32.
    data.push(Math.floor(scaled / 2 ** (8 * shift)) & 0xff)
  }
  return undefined
}

/** 4.35 × 100 is 434.99999999999994 in binary: the nearest step is 435. */
function rounded(value: number, factor: number): number {
  const steps = Math.round(Math.abs(value) * factor)
  return value < 0 ? -steps : steps
}

/** The name below its path; or the path alone when the name could carry anything. */
function shown(name: string, path: string, prefix = ''): string {
  return SHOWABLE.test(name) ? `${prefix}${name}` : path
}

function fault(code: CayenneFaultCode, message: string): CayenneFault {
  return { ok: false, code, message }
}
