/**
 * Downlink commands (specification §2.8): a JSON object from an integrator, read strictly. Wrong
 * types are faults, not things to be converted: `"confirmed": "true"` is not true, and an fPort of
 * 300 is not 44.
 */
import { memberOf, objectOf } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { decodeBase64, MAXIMUM_DATA_BYTES } from '../base64.ts'

/** A command that can be put into a device's downlink queue. */
export interface Command {
  readonly confirmed: boolean
  /** 1 to 255. */
  readonly fPort: number
  /** At most 242 bytes, in plaintext; undefined where only `object` is given. */
  readonly data: Buffer | undefined
  /**
   * For the application's codec, whose shape it must have (`objectFault`); undefined where only
   * `data` is given.
   */
  readonly object: CommandObject | undefined
  /** What the sender calls the command: 1 to 64 visible ASCII characters. */
  readonly id: string | undefined
  /** Milliseconds since 1970 after which the command must not be sent any more. */
  readonly expiresAtMs: number | undefined
  /** What newer network servers want in the message; lower case. It must agree with the topic. */
  readonly devEui: string | undefined
  /**
   * Of the commands that wait for one device those of a higher priority go first; 0 where the
   * sender says nothing.
   */
  readonly priority: number
  /** The commands that wait for the device are cancelled in favour of this one. */
  readonly replace: boolean
}

/**
 * What a codec makes bytes of. Members as the sender wrote them; a name may be anything,
 * `__proto__` among it.
 */
export type CommandObject = Readonly<Record<string, unknown>>

/** How an application's payloads are coded; empty for not at all. */
export type PayloadCodec = '' | 'CAYENNE_LPP' | 'CUSTOM_JS'

/**
 * What is wrong with a command. `message` names the member and the fault; it repeats no text of the
 * payload.
 */
export interface CommandFault {
  readonly ok: false
  /** The command's id, where it has one that can be read. */
  readonly id?: string | undefined
  /** The member at fault; undefined where the payload as a whole is. */
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
/** Either side of 0: more levels than anybody sorts commands into. */
const MAXIMUM_PRIORITY = 1_000

const NOT_A_TIME = 'is not a time by RFC 3339'
const CHANNEL = /^(?:0|[1-9]\d{0,2})$/
/**
 * A command's id, as an expression of JSON Schema. It goes into topics' payloads, logs, keys and
 * paths as it is: no space, no control character.
 */
export const COMMAND_ID_PATTERN = '^[!-~]{1,64}$'
const ID = new RegExp(COMMAND_ID_PATTERN)
const DEV_EUI = /^[0-9a-f]{16}$/i
/** RFC 3339 with seconds and an offset; the fraction is optional. */
const TIME = /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i
/**
 * Names of members that may be shown in a message; others could carry anything into logs and reason
 * strings.
 */
const SHOWABLE = /^[\w.-]{1,40}$/

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads the payload of a message on a command topic. Never throws. Unknown members are ignored;
 * where a member is there twice, the last one counts. `null` is a value of the wrong type, not an
 * absent member.
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
  } catch (error) {
    // The engine's own message quotes the payload; only the place is taken from it.
    const place = error instanceof Error ? /at position (\d+)/.exec(error.message)?.[1] : undefined
    return fault(
      undefined,
      'invalid_json',
      `the payload is not JSON${place === undefined ? '' : ` at position ${place}`}`,
    )
  }
  const object = objectOf(message)
  if (object !== undefined) return readCommand(object)
  return fault(undefined, 'not_an_object', `the payload is ${typeName(message)}, not a JSON object`)
}

/**
 * Reads a command that is a JSON object already: of the HTTP interface, in the same words. Never
 * throws.
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
    fPortFault(fPort) ??
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
      fPort: fPort as number,
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
 * The fault of data that has more bytes than LoRaWAN carries, whether they were sent or made by a
 * codec.
 */
export function dataLengthFault(data: Buffer): CommandFault | undefined {
  if (data.length <= MAXIMUM_DATA_BYTES) return undefined
  return fault('data', 'data_too_long', `${data.length} bytes are more than ${MAXIMUM_DATA_BYTES}`)
}

/**
 * What is wrong with the shape of an object, by the codec of its application. A script takes any;
 * elsewhere it is a map of sensor names to maps of channel indexes to numbers (specification §2.8),
 * or to axes and the like where a sensor of Cayenne LPP has several.
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

/** Of a text of the right shape: the engine would take the 30th of February for a day in March. */
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
