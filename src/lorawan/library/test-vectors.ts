/** Reads the examples of the three layouts into test vectors. */
import { given } from '../../given.ts'
import { isObject, memberOf, objectOf, textAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import type { DownlinkVector, TestVector, UplinkVector } from './library-profile.ts'

/** Examples of a profile. The most that was seen is 160. */
const MAXIMUM_VECTORS = 500
/** Bytes of an example; a frame carries far fewer. */
const MAXIMUM_BYTES = 1024

/** An example in a file. */
export interface Example {
  readonly direction: TestVector['direction']
  readonly name: unknown
  readonly input: unknown
  /** The answer by TS013: `data` or `errors` for an uplink, `bytes` for a command. */
  readonly output: unknown
}

/** The vector of an example, or undefined for one that tells too little. */
function vectorOf({ direction, name, input, output }: Example): TestVector | undefined {
  const from = objectOf(input)
  const answer = objectOf(output)
  if (from === undefined || answer === undefined) return undefined
  const common = { name: typeof name === 'string' ? name.slice(0, 200) : '', fPort: portOf(from) ?? 1 }
  return direction === 'up' ? uplinkOf(common, from, answer) : downlinkOf(common, from, answer)
}

/** The vectors of a list of examples, and how many of it tell too little or are too many. */
export function vectorsOf(examples: readonly Example[]): { readonly vectors: TestVector[]; readonly unread: number } {
  const vectors = examples.map(vectorOf).filter((vector) => vector !== undefined)
  const kept = vectors.slice(0, MAXIMUM_VECTORS)
  return { vectors: kept, unread: examples.length - kept.length }
}

type Common = Pick<TestVector, 'name' | 'fPort'>

function uplinkOf(common: Common, input: JsonObject, output: JsonObject): UplinkVector | undefined {
  const bytes = bytesOf(memberOf(input, 'bytes'))
  const errors = memberOf(output, 'errors')
  const hasErrors = Array.isArray(errors) && errors.length > 0
  const data = memberOf(output, 'data')
  if (bytes === undefined || (!hasErrors && data === undefined)) return undefined
  return {
    direction: 'up',
    ...common,
    bytes,
    ...given({ recvTime: timeOf(memberOf(input, 'recvTime')), variables: variablesOf(memberOf(input, 'variables')) }),
    expected: hasErrors ? { errors: errors.map(String) } : { data },
  }
}

function downlinkOf(common: Common, input: JsonObject, output: JsonObject): DownlinkVector | undefined {
  const object = memberOf(input, 'data')
  const expectedBytes = bytesOf(memberOf(output, 'bytes'))
  if (object === undefined || expectedBytes === undefined) return undefined
  return { direction: 'down', ...common, object, expectedBytes, ...given({ expectedFPort: portOf(output) }) }
}

/** The port of a frame with application data, RP002: 1 to 255 here, as events have it. */
function portOf(object: JsonObject): number | undefined {
  const port = memberOf(object, 'fPort')
  return typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 255 ? port : undefined
}

/** Bytes are numbers, or hexadecimal digits with or without spaces. */
function bytesOf(value: unknown): string | undefined {
  if (typeof value === 'string') {
    const digits = value.replaceAll(/\s|0x/gi, '').toLowerCase()
    return /^(?:[0-9a-f]{2})*$/.test(digits) && digits.length <= 2 * MAXIMUM_BYTES ? digits : undefined
  }
  if (!Array.isArray(value) || value.length > MAXIMUM_BYTES) return undefined
  const areBytes = value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255)
  return areBytes ? Buffer.from(value as number[]).toString('hex') : undefined
}

function timeOf(value: unknown): string | undefined {
  const time = value instanceof Date ? value.toISOString() : value
  return typeof time === 'string' && !Number.isNaN(Date.parse(time)) ? time : undefined
}

function variablesOf(value: unknown): Readonly<Record<string, string>> | undefined {
  if (!isObject(value)) return undefined
  return Object.fromEntries(
    Object.keys(value).flatMap((name) => {
      const text = textAt(value, name)
      return text === undefined ? [] : [[name, text]]
    }),
  )
}
