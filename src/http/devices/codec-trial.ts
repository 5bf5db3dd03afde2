/**
 * Tries an application's codec on sample bytes or a sample object. Nothing is sent, and nothing is
 * stored.
 */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import type { Application } from '../../identity/tenants/applications.ts'
import type { Clock } from '../../clock.ts'
import { BASE64_PATTERN, decodeBase64 } from '../../lorawan/base64.ts'
import type { CodecFault, Codecs, Decoded, DecodeRequest, Encoded } from '../../lorawan/codecs/codecs.ts'
import { invalidArgument } from '../api/errors.ts'
import { applicationId, choice, PayloadCodecSchema, responses, ruledText, text } from '../api/fields.ts'
import { onApplication } from '../api/access.ts'
import { resource, route, SCRIPTS_LIMIT_BYTES } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { given } from '../../given.ts'
import { DOCUMENTED, NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'

/** The part of the codecs that trials use. */
export type CodecTrials = Pick<Codecs, 'decodeUplink' | 'decodeDownlink' | 'encodeDownlink' | 'checkScript'>

/** Bytes of a sample; a frame carries far fewer. */
const MAXIMUM_SAMPLE_BYTES = 1024

/** Pairs of hexadecimal digits. */
const HEX_PATTERN = '^(?:[0-9a-fA-F]{2})*$'
const HEX = new RegExp(HEX_PATTERN)

const SCRIPT_LENGTH = 512 * 1024

const Sample = Type.Object({
  payloadCodec: Type.Optional(PayloadCodecSchema),
  payloadDecoderScript: Type.Optional(text(SCRIPT_LENGTH, 'The application’s own when not given.')),
  payloadEncoderScript: Type.Optional(text(SCRIPT_LENGTH, 'The application’s own when not given.')),
  fPort: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 255,
      description: '1 when not given.',
      [RULE]: 'must be an integer from 1 to 255',
    }),
  ),
  data: Type.Optional(ruledText(2 * MAXIMUM_SAMPLE_BYTES, 'Bytes to decode, in base64.', { pattern: BASE64_PATTERN })),
  hex: Type.Optional(
    ruledText(2 * MAXIMUM_SAMPLE_BYTES, 'Bytes to decode, in hexadecimal digits.', { pattern: HEX_PATTERN }),
  ),
  direction: Type.Optional(
    choice(['up', 'down'], {
      description: 'Whose bytes they are: an uplink’s, as when not given, or a downlink’s (decodeDownlink).',
      [RULE]: 'must be "up" or "down"',
    }),
  ),
  object: Type.Optional(Type.Unsafe<unknown>({ description: 'An object to encode.' })),
  variables: Type.Optional(
    Type.Record(Type.String({ maxLength: 100 }), Type.String({ maxLength: 1000 }), {
      description: 'Variables of the device, for scripts.',
      [RULE]: 'must be an object of strings',
      [DOCUMENTED]: {
        type: 'object',
        propertyNames: { type: 'string', maxLength: 100 },
        additionalProperties: { type: 'string', maxLength: 1000 },
      },
    }),
  ),
})

const Outcome = {
  warnings: Type.Array(Type.String()),
  console: Type.Array(Type.String(), { description: 'What the script wrote to its console.' }),
  error: Type.Union(
    [
      Type.Object(
        {
          code: choice(['UPLINK_CODEC', 'DOWNLINK_CODEC'], { description: 'As in the error event.' }),
          reason: Type.String({ description: 'Stable code, see docs/errors.md.' }),
          message: Type.String(),
          line: Type.Union([Type.Integer(), Type.Null()], { description: 'Line of the script; null when unknown.' }),
        },
        { description: 'Why a codec failed', [NAME]: 'CodecFault' },
      ),
      Type.Null(),
    ],
    { description: 'Why it failed; null when it did not.' },
  ),
  durationMs: Type.Number({ description: 'How long the script ran, loading included.' }),
}

const Answer = Type.Object(
  {
    decoded: Type.Optional(
      Type.Object(
        { object: Type.Unsafe<unknown>({ description: 'null when it failed.' }), ...Outcome },
        { [NAME]: 'DecodedSample' },
      ),
    ),
    encoded: Type.Optional(
      Type.Object(
        {
          data: Type.String({ contentEncoding: 'base64', description: '"" when it failed.' }),
          hex: Type.String(),
          fPort: Type.Union([Type.Integer(), Type.Null()], { description: 'Where the script chose one.' }),
          ...Outcome,
        },
        { [NAME]: 'EncodedSample' },
      ),
    ),
  },
  { [NAME]: 'CodecTestResult' },
)

/** Registers the route. */
export function codecTrialRoutes(codecs: CodecTrials, clock: Pick<Clock, 'now'>): readonly Route[] {
  const testRoute = route({
    method: 'POST',
    url: '/api/applications/:id/codec/test',
    bodyLimit: SCRIPTS_LIMIT_BYTES,
    may: onApplication('codec.write', 'params.id'),
    schema: {
      operationId: 'testCodec',
      summary: 'Try a codec',
      description:
        'Decodes data or hex, encodes object, or both, by the application’s codec or by ' +
        'the one in the body. Nothing is sent or stored. A codec that fails is a success of this request: the answer tells why.',
      params: Type.Object({ id: applicationId('Application id.') }),
      body: Sample,
      response: responses(Answer),
    },
    handle: async ({ application }, request) => {
      return testCodec(application, request.body, codecs, clock.now())
    },
  })
  return resource('Applications', [testRoute])
}

/** The result of a trial, as the route answers it. */
export type CodecTrial = Static<typeof Answer>

/** The members of an application that a trial uses where the sample has none of its own. */
export type TriedCodec = Pick<Application, 'id' | 'payloadCodec' | 'payloadDecoderScript' | 'payloadEncoderScript'>

/**
 * Tries a codec. Throws RequestRefused for a sample that can't be read. The failure of a codec is
 * part of the result.
 */
export async function testCodec(
  application: TriedCodec,
  sample: Static<typeof Sample>,
  codecs: CodecTrials,
  recvTimeMs: number,
): Promise<CodecTrial> {
  const bytes = bytesOf(sample)
  const { object, direction = 'up' } = sample
  if (bytes === undefined && object === undefined) {
    throw invalidArgument('data: is missing, and hex and object as well')
  }
  const common = {
    applicationId: application.id,
    codec: sample.payloadCodec ?? application.payloadCodec,
    fPort: sample.fPort ?? 1,
    variables: sample.variables ?? {},
    isTrial: true,
  }
  const encoder = sample.payloadEncoderScript ?? application.payloadEncoderScript
  const decoder = direction === 'down' ? encoder : (sample.payloadDecoderScript ?? application.payloadDecoderScript)
  const decode = (request: DecodeRequest): Promise<Decoded | CodecFault> =>
    direction === 'down' ? codecs.decodeDownlink(request) : codecs.decodeUplink(request)
  const [decoded, encoded] = await Promise.all([
    bytes === undefined ? undefined : decode({ ...common, script: decoder, bytes, recvTimeMs }),
    object === undefined ? undefined : codecs.encodeDownlink({ ...common, script: encoder, object }),
  ])
  return given({ decoded: decoded && decodedItem(decoded), encoded: encoded && encodedItem(encoded) })
}

function bytesOf({ data, hex }: Static<typeof Sample>): Buffer | undefined {
  if (data !== undefined && hex !== undefined) throw invalidArgument('hex: is given, and data as well')
  if (hex !== undefined) {
    if (!HEX.test(hex)) throw invalidArgument('hex: must be pairs of hexadecimal digits')
    return Buffer.from(hex, 'hex')
  }
  if (data === undefined) return undefined
  const bytes = decodeBase64(data)
  if (bytes === undefined) throw invalidArgument('data: must be base64')
  return bytes
}

function decodedItem(outcome: Decoded | CodecFault) {
  const object: unknown = outcome.ok ? JSON.parse(outcome.json) : null
  return { object, ...outcomeItem(outcome) }
}

function encodedItem(outcome: Encoded | CodecFault) {
  const data = outcome.ok ? outcome.data : Buffer.alloc(0)
  const fPort = outcome.ok ? (outcome.fPort ?? null) : null
  return { data: data.toString('base64'), hex: data.toString('hex'), fPort, ...outcomeItem(outcome) }
}

function outcomeItem(outcome: Decoded | Encoded | CodecFault) {
  const { console, durationMs } = outcome
  if (outcome.ok) return { warnings: [...outcome.warnings], console: [...console], error: null, durationMs }
  const { code, reason, message, line = null } = outcome
  return { warnings: [], console: [...console], error: { code, reason, message, line }, durationMs }
}
