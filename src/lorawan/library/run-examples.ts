/** Runs the examples of profiles through the codecs, with all their bounds. */
import { isDeepStrictEqual } from 'node:util'
import type { Codecs } from '../codecs/codecs.ts'
import type { LibraryProfile, TestVector } from './library-profile.ts'

/** The part of the codecs that examples need. */
export type ExampleCodecs = Pick<Codecs, 'decodeUplink' | 'encodeDownlink'>

/** An example whose result is not the published one. */
export interface Difference {
  readonly direction: TestVector['direction']
  /** The name of the example. */
  readonly name: string
  /** The published result, as JSON. */
  readonly expected: string
  /** The result here, as JSON, or the fault in words. */
  readonly actual: string
}

/** The outcome of the examples of one profile. */
export interface ExampleOutcome {
  readonly equal: number
  readonly differences: readonly Difference[]
}

/** Characters of a result that a difference shows. */
const SHOWN = 500

/** The parts of a time below its milliseconds, which a Date has not. */
const TIME = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})\d+Z/g

/**
 * Runs all examples of a profile, one after the other. `lane` names the runs: two profiles that run
 * at the same time have different lanes. An example without a time is received at `nowMs`.
 */
export async function runExamples(
  codecs: ExampleCodecs,
  profile: LibraryProfile,
  lane: string,
  nowMs: number,
): Promise<ExampleOutcome> {
  let equal = 0
  const differences: Difference[] = []
  for (const vector of profile.testVectors) {
    const difference = await differenceOf(codecs, profile, vector, lane, nowMs)
    if (difference === undefined) equal += 1
    else differences.push(difference)
  }
  return { equal, differences }
}

async function differenceOf(
  codecs: ExampleCodecs,
  profile: LibraryProfile,
  vector: TestVector,
  lane: string,
  nowMs: number,
): Promise<Difference | undefined> {
  const { direction, name, fPort } = vector
  const common = { applicationId: lane, codec: profile.payloadCodec, fPort, isTrial: true } as const
  const told = (expected: unknown, actual: unknown): Difference => {
    return { direction, name, expected: shown(expected), actual: shown(actual) }
  }
  if (vector.direction === 'down') {
    const { object, expectedBytes, expectedFPort } = vector
    const script = profile.payloadEncoderScript
    const encoded = await codecs.encodeDownlink({ ...common, script, object, variables: {} })
    const expected = { bytes: expectedBytes, ...(expectedFPort === undefined ? {} : { fPort: expectedFPort }) }
    if (!encoded.ok) return told(expected, encoded.message)
    const actual = {
      bytes: encoded.data.toString('hex'),
      ...(expectedFPort === undefined ? {} : { fPort: encoded.fPort }),
    }
    return isDeepStrictEqual(actual, expected) ? undefined : told(expected, actual)
  }
  const { bytes, recvTime, variables = {}, expected } = vector
  const decoded = await codecs.decodeUplink({
    ...common,
    script: profile.payloadDecoderScript,
    bytes: Buffer.from(bytes, 'hex'),
    recvTimeMs: recvTime === undefined ? nowMs : Date.parse(recvTime),
    variables,
  })
  if (!decoded.ok) {
    const isExpected = 'errors' in expected && decoded.reason === 'script_errors'
    return isExpected && decoded.message === expected.errors.join('; ') ? undefined : told(expected, decoded.message)
  }
  const actual: unknown = comparable(decoded.json)
  const isEqual = 'data' in expected && isDeepStrictEqual(actual, comparable(JSON.stringify(expected.data)))
  return isEqual ? undefined : told(expected, { data: actual })
}

function comparable(json: string): unknown {
  return JSON.parse(json.replaceAll(TIME, '$1Z')) as unknown
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}…`
}
