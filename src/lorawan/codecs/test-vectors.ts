/**
 * Runs the test vectors of a codec through the codec itself, as trials: sample uplinks with their
 * objects, and sample commands with their bytes.
 */
import { isDeepStrictEqual } from 'node:util'
import { given } from '../../given.ts'
import type { Codecs, CodecFault, Decoded, Encoded } from './codecs.ts'

/** The codec that is tested, and the organization that pays with its time. */
export interface TestedCodec {
  readonly organizationId: string
  readonly payloadCodec: '' | 'CAYENNE_LPP' | 'CUSTOM_JS'
  readonly payloadDecoderScript: string
  readonly payloadEncoderScript: string
  readonly variables: Readonly<Record<string, string>>
}

/** A sample: an uplink where it has `bytes`, else a command. */
export interface CodecVector {
  readonly name: string
  readonly fPort?: number
  /** Hexadecimal digits. */
  readonly bytes?: string
  /** RFC 3339. */
  readonly recvTime?: string
  readonly variables?: Readonly<Record<string, string>>
  readonly expected?: { readonly data: unknown } | { readonly errors: readonly string[] }
  readonly object?: unknown
  /** Hexadecimal digits. */
  readonly expectedBytes?: string
  readonly expectedFPort?: number
}

/** The outcome of one vector. `expected` and `got` are JSON, or the sentence of a failure. */
export interface VectorOutcome {
  readonly name: string
  readonly ok: boolean
  readonly expected: string
  readonly got: string
}

/** The time that the vectors of one codec may take together. A handler of HTTP has 60 s. */
const MAXIMUM_MS = 20_000
/** The longest text of an outcome, in characters: a hundred of them go into one answer. */
const MAXIMUM_TEXT = 2_000

/** The parts that run vectors. */
export interface VectorRunner {
  readonly codecs: Pick<Codecs, 'decodeUplink' | 'encodeDownlink'>
  readonly clock: { now(): number; steady(): number }
}

/** The outcome of each vector, in order. Vectors for which no time is left fail. */
export async function runVectors(
  { codecs, clock }: VectorRunner,
  codec: TestedCodec,
  vectors: readonly CodecVector[],
): Promise<readonly VectorOutcome[]> {
  const endMs = clock.steady() + MAXIMUM_MS
  const outcomes: VectorOutcome[] = []
  for (const vector of vectors) {
    const isLate = clock.steady() > endMs
    const outcome = isLate ? lateOf(vector) : await runVector({ codecs, clock }, codec, vector)
    outcomes.push({ ...outcome, expected: cut(outcome.expected), got: cut(outcome.got) })
  }
  return outcomes
}

function lateOf({ name }: CodecVector): VectorOutcome {
  const got = `was not run: the vectors before it took more than ${MAXIMUM_MS / 1_000} s`
  return { name, ok: false, expected: '', got }
}

async function runVector({ codecs, clock }: VectorRunner, codec: TestedCodec, vector: CodecVector) {
  const { organizationId, payloadCodec, payloadDecoderScript, payloadEncoderScript } = codec
  const common = {
    applicationId: '',
    profile: { id: `profiles of ${organizationId}`, organizationId },
    codec: payloadCodec,
    fPort: vector.fPort ?? 1,
    variables: { ...codec.variables, ...vector.variables },
    isTrial: true,
  }
  if (vector.bytes === undefined) {
    const { object } = vector
    return judgeEncoded(vector, await codecs.encodeDownlink({ ...common, script: payloadEncoderScript, object }))
  }
  const recvTimeMs = vector.recvTime === undefined ? clock.now() : Date.parse(vector.recvTime)
  const bytes = Buffer.from(vector.bytes, 'hex')
  return judgeDecoded(vector, await codecs.decodeUplink({ ...common, script: payloadDecoderScript, bytes, recvTimeMs }))
}

function judgeDecoded({ name, expected = { data: null } }: CodecVector, decoded: Decoded | CodecFault): VectorOutcome {
  const got = decoded.ok ? decoded.json : sentenceOf(decoded)
  if ('errors' in expected) return { name, ok: !decoded.ok && isOfScript(decoded), expected: 'a failure', got }
  const text = JSON.stringify(expected.data)
  const ok = decoded.ok && isDeepStrictEqual(JSON.parse(decoded.json), JSON.parse(text))
  return { name, ok, expected: text, got }
}

function judgeEncoded(
  { name, expectedBytes = '', expectedFPort }: CodecVector,
  encoded: Encoded | CodecFault,
): VectorOutcome {
  const expected = { bytes: expectedBytes.toLowerCase(), ...given({ fPort: expectedFPort }) }
  if (!encoded.ok) return { name, ok: false, expected: JSON.stringify(expected), got: sentenceOf(encoded) }
  const fPort = expectedFPort === undefined ? undefined : encoded.fPort
  const got = { bytes: encoded.data.toString('hex'), ...given({ fPort }) }
  return { name, ok: isDeepStrictEqual(got, expected), expected: JSON.stringify(expected), got: JSON.stringify(got) }
}

/** False for a failure of the service, which says nothing about the codec. */
function isOfScript({ reason }: CodecFault): boolean {
  return reason !== 'codec_busy' && reason !== 'codec_time_used' && reason !== 'engine_failed'
}

function sentenceOf({ reason, message, line }: CodecFault): string {
  return `${reason}: ${message}${line === undefined ? '' : ` (line ${line})`}`
}

function cut(text: string): string {
  return text.length > MAXIMUM_TEXT ? `${text.slice(0, MAXIMUM_TEXT).toWellFormed()}…` : text
}
