/**
 * Downlink commands (specification §2.8): a JSON object from an integrator, read strictly. A value
 * of a wrong type is a fault and is never converted: `"confirmed": "true"` is not true, and an
 * fPort of 300 is not 44.
 */
import { jsonFaultOf } from '../../json-fault.ts'
import { memberOf, objectOf } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { decodeBase64, MAXIMUM_DATA_BYTES } from '../base64.ts'

/** A command that can be put into a device's downlink queue. */
export interface Command {
  readonly confirmed: boolean
  /** From 1 to 255; undefined when the command has only `object`, and its codec names the port. */
  readonly fPort: number | undefined
  /** At most 242 bytes, in plaintext; undefined when the command has only `object`. */
  readonly data: Buffer | undefined
  /**
   * The input of the application's codec, which also defines its shape (`objectFault`); undefined
   * when the command has only `data`.
   */
  readonly object: CommandObject | undefined
  /** The sender's own id of the command: 1 to 64 visible ASCII characters. */
  readonly id: string | undefined
  /** Milliseconds since 1970 after which the command must not be sent any more. */
  readonly expiresAtMs: number | undefined
  /**
   * Newer network servers want the DevEUI in the message; lower case. It must agree with the topic.
   */
  readonly devEui: string | undefined
  /**
   * Among the commands that wait for a device, the highest priority goes first; 0 when the sender
   * gives none.
   */
  readonly priority: number
  /** True: the commands that wait for the device are cancelled in favour of this one. */
  readonly replace: boolean
}

/**
 * The input from which a codec makes bytes. The members are as the sender wrote them; a name may be
 * anything, also `__proto__`.
 */
export type CommandObject = Readonly<Record<string, unknown>>

/** The kind of an application's codec; empty for none. */
export type PayloadCodec = '' | 'CAYENNE_LPP' | 'CUSTOM_JS'

/**
 * A fault of a command. `message` names the member and the fault; it repeats no text of the
 * payload.
 */
export interface CommandFault {
  readonly ok: false
  /** The command's id, if it can be read. */
  readonly id?: string | undefined
  /** The member at fault; undefined when the payload as a whole is. */
  readonly member: string | undefined
  readonly code: CommandFaultCode
  readonly message: string
}

export type CommandFaultCode =
  | 'payload_too_large'
  | 'invalid_utf8'
  | 'invalid_json'
  | 'not_an_object'
  | 'member_missing'
  | 'wrong_type'
  | 'not_an_integer'
  | 'out_of_range'
  | 'invalid_base64'
  | 'data_too_long'
  | 'invalid_channel'
  | 'invalid_id'
  | 'invalid_time'
  | 'invalid_dev_eui'

export type CommandResult = { readonly ok: true; readonly command: Command } | CommandFault

/**
 * The largest payload that is read, in bytes. A command of 242 bytes needs some 400; an object with
 * many sensors a few thousand. Stops megabytes of JSON from being parsed on the event loop.
 */
export const MAXIMUM_COMMAND_BYTES = 65_536

const MAXIMUM_FPORT = 255
const MAXIMUM_CHANNEL = 255
/** The highest priority, and the lowest with a minus sign: more levels than anybody needs. */
const MAXIMUM_PRIORITY = 1_000

const NOT_A_TIME = 'is not a time by RFC 3339'
const CHANNEL = /^(?:0|[1-9]\d{0,2})$/
/**
 * The shape of a command's id, as a pattern of JSON Schema. Ids go unchanged into payloads, logs,
 * keys and paths, so that spaces and control characters are not allowed.
 */
export const COMMAND_ID_PATTERN = '^[!-~]{1,64}$'
const ID = new RegExp(COMMAND_ID_PATTERN)
const DEV_EUI = /^[0-9a-f]{16}$/i
/** RFC 3339 with seconds and an offset; the fraction is optional. */
const TIME = /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i
/**
 * Names of members that a message may repeat. Other names could carry anything into logs and reason
 * strings.
 */
const SHOWABLE = /^[\w.-]{1,40}$/

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads the payload of a message on a command topic. Never throws. Unknown members are ignored; of
 * two members with one name the last one counts. `null` is a value of a wrong type, not an absent
 * member.
 */
export function parseCommand(payload: Buffer): CommandResult {
  if (payload.length > MAXIMUM_COMMAND_BYTES) {
    const text = `the payload has ${payload.length} bytes, more than ${MAXIMUM_COMMAND_BYTES}`
    return fault(undefined, 'payload_too_large', text)
  }
  let text: string
  try {
    text = decoder.decode(payload)
  } catch {
    return fault(undefined, 'invalid_utf8', 'the payload is not UTF-8')
  }
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    // The engine's message quotes the payload, and is not shown.
    const place = jsonFaultOf(text)
    return fault(
      undefined,
      'invalid_json',
      `the payload is not JSON${place === undefined ? '' : ` at position ${place.position}`}`,
    )
  }
  const object = objectOf(message)
  if (object !== undefined) return readCommand(object)
  return fault(undefined, 'not_an_object', `the payload is ${typeName(message)}, not a JSON object`)
}

/**
 * Reads a command that is a JSON object already, as the HTTP interface has it. Its faults have the
 * same words. Never throws.
 */
export function readCommand(message: JsonObject): CommandResult {
  const confirmed = memberOf(message, 'confirmed')
  const fPort = memberOf(message, 'fPort')
  const base64 = memberOf(message, 'data')
  const data = typeof base64 === 'string' ? decodeBase64(base64) : undefined
  const object = memberOf(message, 'object')
  const id = memberOf(message, 'id')
  const expiresAt = memberOf(message, 'expiresAt')
  const devEui = memberOf(message, 'devEui')
  const priority = memberOf(message, 'priority')
  const replace = memberOf(message, 'replace')
  const found =
    confirmedFault(confirmed) ??
    (fPort === undefined && base64 === undefined && object !== undefined ? undefined : fPortFault(fPort)) ??
    dataFault(base64, data) ??
    (object === undefined || objectOf(object) !== undefined ? undefined : wrongType('object', 'an object', object)) ??
    contentFault(base64, object) ??
    textFault('id', id, ID, 'invalid_id', 'is not 1 to 64 visible ASCII characters') ??
    timeFault(expiresAt) ??
    textFault('devEui', devEui, DEV_EUI, 'invalid_dev_eui', 'is not 16 hexadecimal digits') ??
    priorityFault(priority) ??
    (replace === undefined || typeof replace === 'boolean' ? undefined : wrongType('replace', 'a boolean', replace))
  if (found !== undefined) return typeof id === 'string' && ID.test(id) ? { ...found, id } : found
  return {
    ok: true,
    command: {
      confirmed: confirmed as boolean,
      fPort: fPort as number | undefined,
      data,
      object: object as CommandObject | undefined,
      id: id as string | undefined,
      expiresAtMs: expiresAt === undefined ? undefined : Date.parse(expiresAt as string),
      devEui: (devEui as string | undefined)?.toLowerCase(),
      priority: (priority as number | undefined) ?? 0,
      replace: replace === true,
    },
  }
}

/**
 * The fault of data with more bytes than LoRaWAN carries, whether the sender or a codec made them.
 */
export function dataLengthFault(data: Buffer): CommandFault | undefined {
  if (data.length <= MAXIMUM_DATA_BYTES) return undefined
  return fault('data', 'data_too_long', `${data.length} bytes are more than ${MAXIMUM_DATA_BYTES}`)
}

/**
 * The fault in the shape of an object, by the codec of its application. A script takes any object.
 * For other codecs it is a map from sensor names to maps from channel indexes to numbers
 * (specification §2.8); a sensor of Cayenne LPP with several values has a map of numbers in the
 * place of the number.
 */
export function objectFault(object: CommandObject, codec: PayloadCodec): CommandFault | undefined {
  if (codec === 'CUSTOM_JS') return undefined
  for (const [name, channels] of Object.entries(object)) {
    const path = SHOWABLE.test(name) ? `object.${name}` : 'object'
    const map = objectOf(channels)
    if (map === undefined) return wrongType(path, 'a map of channel indexes', channels)
    const found = channelsFault(path, map, codec)
    if (found !== undefined) return found
  }
  return undefined
}

function channelsFault(path: string, channels: CommandObject, codec: PayloadCodec): CommandFault | undefined {
  for (const [channel, value] of Object.entries(channels)) {
    if (!CHANNEL.test(channel) || Number(channel) > MAXIMUM_CHANNEL) {
      return fault(path, 'invalid_channel', `a channel index is a whole number from 0 to ${MAXIMUM_CHANNEL}`)
    }
    const axes = codec === 'CAYENNE_LPP' ? objectOf(value) : undefined
    const at = `${path}.${channel}`
    const found = axes === undefined ? numberFault(at, value) : axesFault(at, axes)
    if (found !== undefined) return found
  }
  return undefined
}

function axesFault(path: string, axes: CommandObject): CommandFault | undefined {
  for (const [name, value] of Object.entries(axes)) {
    const found = numberFault(SHOWABLE.test(name) ? `${path}.${name}` : path, value)
    if (found !== undefined) return found
  }
  return undefined
}

function numberFault(path: string, value: unknown): CommandFault | undefined {
  if (typeof value !== 'number') return wrongType(path, 'a number', value)
  // JSON has no infinity, but 1e999 becomes one.
  return Number.isFinite(value) ? undefined : fault(path, 'out_of_range', 'is too large a number')
}

function confirmedFault(value: unknown): CommandFault | undefined {
  if (value === undefined) return fault('confirmed', 'member_missing', 'is missing')
  return typeof value === 'boolean' ? undefined : wrongType('confirmed', 'a boolean', value)
}

function fPortFault(value: unknown): CommandFault | undefined {
  if (value === undefined) return fault('fPort', 'member_missing', 'is missing')
  if (typeof value !== 'number') return wrongType('fPort', 'a number', value)
  if (value < 1) return fault('fPort', 'out_of_range', `${value} is below 1`)
  if (value > MAXIMUM_FPORT) return fault('fPort', 'out_of_range', `${value} is above ${MAXIMUM_FPORT}`)
  return Number.isInteger(value) ? undefined : fault('fPort', 'not_an_integer', `${value} is not an integer`)
}

function dataFault(value: unknown, decoded: Buffer | undefined): CommandFault | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string') return wrongType('data', 'a string', value)
  return decoded === undefined
    ? fault('data', 'invalid_base64', 'is not base64 (RFC 4648 §4)')
    : dataLengthFault(decoded)
}

function contentFault(data: unknown, object: unknown): CommandFault | undefined {
  if (data !== undefined || object !== undefined) return undefined
  return fault('data', 'member_missing', 'is missing, and object as well')
}

function priorityFault(value: unknown): CommandFault | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number') return wrongType('priority', 'a number', value)
  if (value < -MAXIMUM_PRIORITY) return fault('priority', 'out_of_range', `${value} is below -${MAXIMUM_PRIORITY}`)
  if (value > MAXIMUM_PRIORITY) return fault('priority', 'out_of_range', `${value} is above ${MAXIMUM_PRIORITY}`)
  return Number.isInteger(value) ? undefined : fault('priority', 'not_an_integer', `${value} is not an integer`)
}

function timeFault(value: unknown): CommandFault | undefined {
  const wrong = textFault('expiresAt', value, TIME, 'invalid_time', NOT_A_TIME)
  if (wrong !== undefined || value === undefined) return wrong
  return isTime(value as string) ? undefined : fault('expiresAt', 'invalid_time', NOT_A_TIME)
}

/**
 * True for a day that exists. Without this check the engine would take February 30 for a day in
 * March.
 */
function isTime(text: string): boolean {
  const date = text.slice(0, 10)
  const midnight = Date.parse(`${date}T00:00:00Z`)
  return !Number.isNaN(Date.parse(text)) && new Date(midnight).toISOString().startsWith(date)
}

function textFault(
  member: string,
  value: unknown,
  shape: RegExp,
  code: CommandFaultCode,
  text: string,
): CommandFault | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'string') return wrongType(member, 'a string', value)
  return shape.test(value) ? undefined : fault(member, code, text)
}

function wrongType(member: string, wanted: string, value: unknown): CommandFault {
  return fault(member, 'wrong_type', `must be ${wanted}, not ${typeName(value)}`)
}

function fault(member: string | undefined, code: CommandFaultCode, text: string): CommandFault {
  return { ok: false, member, code, message: member === undefined ? text : `${member}: ${text}` }
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
