/**
 * The vocabulary of the schemas: ids, DevEUIs, timestamps and paging as this API family writes them
 * (the JSON mapping of Protocol Buffers: 64-bit integers are strings on output, strings or numbers
 * on input).
 */
import { Type } from 'typebox'
import type { Static, TSchema } from 'typebox'
import { DEV_EUI_PATTERN, parseDevEui } from '../../identity/devices/eui.ts'
import type { Listed, Page } from '../../identity/store/result.ts'
import { LINE_PATTERN, NAME_PATTERN, PARAGRAPH_PATTERN, TRIMMED_LINE_PATTERN } from '../../identity/store/text-rules.ts'
import { BOUND_NAMES } from '../../organization-bounds.ts'
import { ErrorBodySchema, invalidArgument } from './errors.ts'
import { ALSO_ACCEPTS, DOCUMENTED, NAME } from './schema-keywords.ts'
import { RULE } from './validate.ts'

/** The most items of one page. 999, which clients of the specification ask for, fits. */
const MAXIMUM_LIMIT = 1000

/** How many items a list gives when `limit` is not given. */
const DEFAULT_LIMIT = 100

/** Beyond it a list would only count past items that nobody pages to. */
const MAXIMUM_OFFSET = 100_000_000

const DIGITS_RULE = 'must be a string of digits'

const DIGITS = '^[0-9]{1,19}$'

/** An id on output, and in a path or query: a string of digits. */
export function id(description: string) {
  return Type.String({ pattern: DIGITS, description, examples: ['1'], [RULE]: DIGITS_RULE })
}

/** An id on output of a thing that there may not be: then `""`. */
export function idOrNothing(description: string) {
  return Type.String({ pattern: '^[0-9]{0,19}$', description, examples: ['1'] })
}

/** A number on output that may be beyond what JSON's readers keep exactly: a string of digits. */
export function digits(description: string) {
  return Type.String({ pattern: '^[0-9]+$', description, examples: ['1'] })
}

/** An id in a body: a string of digits, or a number. `idText` gives it one spelling. */
export function idInBody(description: string) {
  const asText = Type.String({ pattern: DIGITS })
  // 2^53 - 1: a larger number would already have lost its last digits in the client's JSON.
  const number = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
  return Type.Union([asText, number], {
    description,
    examples: ['1'],
    [RULE]: DIGITS_RULE,
    [DOCUMENTED]: { type: 'string', pattern: DIGITS, [ALSO_ACCEPTS]: ['integer'] },
  })
}

const APPLICATION_ID = '[0-9]{1,19}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const APPLICATION_ID_PATTERN = `^(?:${APPLICATION_ID})$`
const APPLICATION_ID_RULE = 'must be a string of digits, or a UUID in lower case'

/**
 * The id of an application, in a path or query: digits, or the UUID of a network server that has
 * ids of its own.
 */
export function applicationId(description: string) {
  return Type.String({ pattern: APPLICATION_ID_PATTERN, description, examples: ['1'], [RULE]: APPLICATION_ID_RULE })
}

/** The same in a body, where a number is taken as well. `idText` gives it one spelling. */
export function applicationIdInBody(description: string) {
  const number = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
  return Type.Union([applicationId(description), number], {
    description,
    examples: ['1'],
    [RULE]: APPLICATION_ID_RULE,
    [DOCUMENTED]: { type: 'string', pattern: APPLICATION_ID_PATTERN, [ALSO_ACCEPTS]: ['integer'] },
  })
}

/** The same where it may stay away: `""` and `"0"` mean the same as leaving it out. */
export function optionalApplicationId(description: string) {
  return Type.Optional(Type.String({ pattern: `^(?:${APPLICATION_ID}|)$`, description, [RULE]: APPLICATION_ID_RULE }))
}

/** The one spelling of an id that came as a string or a number. */
export function idText(value: string | number): string {
  return String(value)
}

/** An id that the service made out of letters, digits, `_` and `-`. */
export function opaqueId(description: string) {
  return Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description, [RULE]: 'must be letters, digits, _ and -' })
}

/** An id of a thing that may stay away: `""` and `"0"` mean the same as leaving it out. */
export function optionalId(description: string) {
  return Type.Optional(Type.String({ pattern: '^[0-9]{0,19}$', description, [RULE]: DIGITS_RULE }))
}

/** The id, or undefined where `optionalId` means none. */
export function givenId(value: string | undefined): string | undefined {
  return value === undefined || /^0*$/.test(value) ? undefined : value
}

/** Free text with a bound in characters. */
export function text(maxLength: number, description: string) {
  return Type.String({ maxLength, description, [RULE]: `must be a string of at most ${maxLength} characters` })
}

/**
 * A text whose full rule the registry enforces, in words of its own; the document shows that rule.
 */
export function ruledText(maxLength: number, description: string, rule: TextRule) {
  return Type.String({
    maxLength,
    description,
    [RULE]: `must be a string of at most ${maxLength} characters`,
    [DOCUMENTED]: { type: 'string', ...rule, maxLength: Math.min(maxLength, rule.maxLength ?? maxLength) },
  })
}

/** The registry's rule for a text. */
interface TextRule {
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern: string
}

/** The rule of `isName`. */
export const A_NAME: TextRule = { minLength: 1, pattern: NAME_PATTERN }

/** The same where nothing means that the service chooses one. */
export const A_NAME_OR_NOTHING: TextRule = { pattern: `^$|${NAME_PATTERN}` }

/** The rule of `isLine`. */
export const A_LINE: TextRule = { pattern: LINE_PATTERN }

/** The rule of `isTrimmedLine`. */
export const A_TRIMMED_LINE: TextRule = { minLength: 1, pattern: TRIMMED_LINE_PATTERN }

/** The rule of `isParagraph`. */
export const A_PARAGRAPH: TextRule = { pattern: PARAGRAPH_PATTERN }

/** A text that is one of the given words. */
export function choice<const Value extends string>(
  values: readonly Value[],
  options: Readonly<Record<string, unknown>>,
) {
  return Type.Unsafe<Value>({ type: 'string', enum: values, ...options })
}

/** How an application's payloads are coded. */
export const PayloadCodecSchema = choice(['', 'CAYENNE_LPP', 'CUSTOM_JS'], {
  description: 'How payloads become objects and back; "" for not at all.',
  'x-enum-varnames': ['NoCodec', 'CayenneLpp', 'CustomJs'],
  [NAME]: 'PayloadCodec',
  [RULE]: 'must be "", "CAYENNE_LPP" or "CUSTOM_JS"',
})

/** The shape in which an application's events go out. */
export const EventShapeSchema = choice(['', 'V3', 'V4', 'NORMALIZED'], {
  description:
    'The shape of the application’s events: "" as received, "V3" as ChirpStack v3 writes them, "V4" as ChirpStack v4 does, ' +
    'or "NORMALIZED", one spelling for all network servers. A change counts from the next event.',
  'x-enum-varnames': ['AsReceived', 'V3', 'V4', 'Normalized'],
  [NAME]: 'EventShape',
  [RULE]: 'must be "", "V3", "V4" or "NORMALIZED"',
})

/** The encoder of commands with an object. */
export const ObjectCommandsSchema = choice(['', 'NETWORK_SERVER'], {
  description:
    'The encoder of the `object` of a command for which the application has no codec. "": only a network server that is known ' +
    'to have a codec; other commands are refused. "NETWORK_SERVER": the command is passed on with its object.',
  'x-enum-varnames': ['KnownCodecs', 'NetworkServer'],
  [NAME]: 'ObjectCommands',
  [RULE]: 'must be "" or "NETWORK_SERVER"',
})

/** Whether the last events of an application's devices are retained. */
export const RetainsLastEventsSchema = flag(
  'Whether the last event `up` and the last event `state` of each device are retained: a new subscription gets them at once, ' +
    'with RETAIN set. It counts from the next event; the bounds of retained messages hold.',
)

/** The name of a bound of organizations. */
export const BoundNameSchema = choice(BOUND_NAMES, { description: 'Name of a bound.', [NAME]: 'BoundName' })

/** The unit of a bound. */
export const BoundUnitSchema = choice(['count', 'bytes', 'per second', 'bytes per second', 'ms per second'], {
  description: 'Unit of a bound and of its use.',
  'x-enum-varnames': ['Count', 'Bytes', 'PerSecond', 'BytesPerSecond', 'MsPerSecond'],
  [NAME]: 'BoundUnit',
})

/** A boolean; `"true"` is not one. */
export function flag(description: string) {
  return Type.Boolean({ description, [RULE]: 'must be true or false' })
}

const DEV_EUI_RULE = 'must be 16 hexadecimal digits'

/** By what a client is connected. */
export const Listener = choice(['tls', 'websocket', 'tcp'], {
  description: 'By what the client is connected.',
  [NAME]: 'Listener',
})

/** A DevEUI on input; `devEuiOf` normalizes it. */
export const DevEuiInput = Type.String({
  pattern: DEV_EUI_PATTERN,
  description: 'DevEUI: 16 hexadecimal digits, in any case, with or without 0x in front.',
  examples: ['0101010101010101'],
  [RULE]: DEV_EUI_RULE,
})

/** A DevEUI on output. */
export const DevEui = Type.String({
  pattern: '^[0-9a-f]{16}$',
  description: 'DevEUI: 16 hexadecimal digits in lower case.',
  examples: ['0101010101010101'],
})

/** The DevEUI in its one spelling; refuses, naming the member, what is none. */
export function devEuiOf(member: string, value: string): string {
  const devEui = parseDevEui(value)
  if (devEui === undefined) throw invalidArgument(`${member}: ${DEV_EUI_RULE}`)
  return devEui
}

/** RFC 3339 in UTC with a fraction. */
export const Timestamp = Type.String({
  format: 'date-time',
  description: 'RFC 3339, UTC, with a fraction.',
  examples: ['2026-01-15T12:00:00.000Z'],
})

/** A moment in milliseconds since 1970 as `Timestamp`. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}

/** The times of a thing that was created and may be changed. */
export const Times = { createdAt: Timestamp, updatedAt: Timestamp }

/** The times of a thing, as `Times`. */
export function timesOf(thing: { readonly createdAtMs: number; readonly updatedAtMs: number }) {
  return { createdAt: timestamp(thing.createdAtMs), updatedAt: timestamp(thing.updatedAtMs) }
}

/** A moment that may never have been. */
export const TimestampOrNull = Type.Union([Timestamp, Type.Null()], { description: 'As a timestamp, or null.' })

/** Query members of every list. */
export const PagingQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAXIMUM_LIMIT,
      description: `At most so many items, up to ${MAXIMUM_LIMIT}; ${DEFAULT_LIMIT} when not given; 0 for the count alone.`,
      [RULE]: `must be an integer from 0 to ${MAXIMUM_LIMIT}`,
    }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAXIMUM_OFFSET,
      description: 'So many items are skipped.',
      [RULE]: `must be an integer from 0 to ${MAXIMUM_OFFSET}`,
    }),
  ),
  search: Type.Optional(text(200, 'Only items that contain this text, in any case.')),
}

/**
 * The page that a query asks for. A limit that is not given is the default page, an explicit 0 the
 * count alone.
 */
export function pageOf(query: {
  readonly limit?: number | undefined
  readonly offset?: number | undefined
  readonly search?: string | undefined
}): Page {
  const page = { limit: query.limit ?? DEFAULT_LIMIT, offset: query.offset ?? 0 }
  return query.search === undefined || query.search === '' ? page : { ...page, search: query.search }
}

/** The schema of a list, by its name among the components: `OrganizationList`. */
export function listOf<Item extends TSchema>(item: Item, name: string) {
  return Type.Object(
    {
      totalCount: digits('How many items there are in all, whatever limit and offset say.'),
      result: Type.Array(item),
    },
    { description: 'A page of a list.', [NAME]: name },
  )
}

/** The member that `missingNodes` writes. */
export const MissingNodes = Type.Optional(
  Type.Array(Type.String(), {
    description: 'The nodes of the deployment that did not answer in time: nothing of them is in the answer.',
  }),
)

/** The response of a list of things that each node has in its memory. */
export function listOfNodes<Item extends TSchema>(item: Item, name: string) {
  return Type.Object(
    {
      ...listOf(item, name).properties,
      missingNodes: MissingNodes,
    },
    { description: 'A page of a list.', [NAME]: name },
  )
}

/** Names the nodes without an answer; no member when all have answered. */
export function missingNodes(missing: readonly string[]): { readonly missingNodes?: string[] } {
  return missing.length === 0 ? {} : { missingNodes: [...missing] }
}

/** A list as it is written. */
export function written<T, Item>(listed: Listed<T>, write: (item: T) => Item): { totalCount: string; result: Item[] } {
  return { totalCount: String(listed.totalCount), result: listed.items.map((item) => write(item)) }
}

/** The answer that has nothing to tell. */
export const Empty = Type.Object({}, { description: 'Done: there is nothing to tell.', [NAME]: 'Empty' })

/** The answer to what has made a thing. */
export const Created = Type.Object(
  { id: id('The id of what was made.') },
  { description: 'Created', [NAME]: 'Created' },
)

/** Response schemas of a route: its success, and the error body for every status it may answer. */
export function responses<Success extends TSchema>(success: Success) {
  const described = Type.Unsafe<Static<Success>>({ description: 'Success', ...success })
  return { 200: described, '4xx': ErrorBodySchema, '5xx': ErrorBodySchema }
}

/** Response schemas of a route whose success is a text of another media type than JSON. */
export function textAnswer(mediaType: string, description: string) {
  const content = { [mediaType]: { schema: Type.String({ description }) } }
  return { 200: { description, content }, '4xx': ErrorBodySchema, '5xx': ErrorBodySchema }
}
