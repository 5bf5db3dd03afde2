/**
 * Stored events of a device or an application over HTTP: in pages, or as a stream of JSON lines.
 */
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Static } from 'typebox'
import { STORED_EVENT_KINDS } from '../../lorawan/uplinks/event-history.ts'
import type { EventQuery } from '../../lorawan/uplinks/event-history.ts'
import { eventsOfApplication, eventsOfDevice } from '../api/event-access.ts'
import type { Access } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { ErrorBodySchema, invalidArgument } from '../api/errors.ts'
import { lines, list, newest, PART_BYTES } from './event-answers.ts'
import { applicationId, choice, DevEui, DevEuiInput, Timestamp } from '../api/fields.ts'
import { DOCUMENTED, NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'
import { time } from './reading-desk.ts'
import type { Branch, ReadingDesk } from './reading-desk.ts'

type StoredKind = (typeof STORED_EVENT_KINDS)[number]

/** The kinds of which a reader of the newest events gets one, unless it names others. */
const LAST_KINDS = new Set<StoredKind>(['up', 'status', 'location', 'join'])

const DEFAULT_LIMIT = 100
const MAXIMUM_LIMIT = 10_000

/** The life of one stream. A slower reader asks again, from the last line that it got. */
const STREAM_TIMEOUT_MS = 3_600_000

const NDJSON = 'application/x-ndjson'
const JSON_TEXT = 'application/json; charset=utf-8'

const Kind = choice(STORED_EVENT_KINDS, { description: 'The kind of event.', [NAME]: 'EventKind' })

const EventItem = Type.Object(
  {
    id: Type.String({ description: 'The same as the User Property event-id of MQTT 5.' }),
    time: Timestamp,
    applicationID: applicationId('Application id.'),
    devEUI: DevEui,
    kind: Kind,
    qos: Type.Integer({ minimum: 0, maximum: 2 }),
    event: Type.Optional(Type.Unknown({ description: 'What was published, where that is JSON.' })),
    payload: Type.Optional(
      Type.String({ contentEncoding: 'base64', description: 'Base64 of what was published, where that is no JSON.' }),
    ),
  },
  { description: 'A stored event; it has either event or payload.', [NAME]: 'StoredEvent' },
)

const EventList = Type.Object(
  {
    result: Type.Array(EventItem),
    nextCursor: Type.String({ description: 'after of the next page; "" when there is nothing behind this one.' }),
  },
  { [NAME]: 'StoredEventList' },
)

const LastEvents = Type.Object(
  {
    result: Type.Array(EventItem),
    notFoundYet: Type.Array(Kind, {
      description: 'Kinds whose search ended early, because they are rare: their newest event may exist all the same.',
    }),
  },
  { [NAME]: 'LastDeviceEvents' },
)

/** The handler writes the text itself: the schemas are for the reference. */
type Answer = Readable | string

const Answers = {
  200: {
    description: 'A page of events, or with Accept: application/x-ndjson one event a line.',
    content: {
      'application/json': { schema: Type.Unsafe<Answer>(EventList) },
      [NDJSON]: { schema: Type.Unsafe<Answer>(EventItem) },
    },
  },
  '4xx': ErrorBodySchema,
  '5xx': ErrorBodySchema,
}

const limitRule = `must be an integer from 1 to ${MAXIMUM_LIMIT}`
const kindRule = `must be one or more of ${STORED_EVENT_KINDS.join(', ')}`

const KindQuery = Type.Optional(
  Type.Union([Type.String({ maxLength: 200 }), Type.Array(Type.String({ maxLength: 200 }), { maxItems: 32 })], {
    description: 'Only these kinds, given repeatedly or with commas.',
    [RULE]: kindRule,
    [DOCUMENTED]: { type: 'array', maxItems: 32, items: Kind },
  }),
)

const Query = Type.Object({
  from: time('RFC 3339; events that the service took then or later.'),
  to: time('RFC 3339; events that the service took before.'),
  kind: KindQuery,
  after: Type.Optional(
    Type.String({
      pattern: String.raw`^(?:\d{1,5}-\d{1,15})?$`,
      description: 'The id of an event, or a nextCursor: goes on behind it in the order asked for.',
      [RULE]: 'must be the id of an event of this application, or a nextCursor',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAXIMUM_LIMIT,
      description: `At most so many events; ${DEFAULT_LIMIT} when not given, and all of the span in a stream of lines.`,
      [RULE]: limitRule,
    }),
  ),
  order: Type.Optional(
    choice(['newest', 'oldest'], {
      description: 'Which come first; the newest when not given.',
      [RULE]: 'must be newest or oldest',
    }),
  ),
})

/** The routes of the history of devices and of applications. */
export function historyRoutes(desk: ReadingDesk): readonly Route[] {
  return resource('Events', [applicationEvents(desk), deviceEvents(desk), lastEvents(desk)])
}

const common = { querystring: Query, response: Answers }
const EVERY_LIST =
  'With Accept: application/x-ndjson one event a line, without limit the whole span. A page may end before its limit; ' +
  'nextCursor says whether there is more.'

function applicationEvents(desk: ReadingDesk): Route {
  const may = eventsOfApplication('params.id')
  return route({
    method: 'GET',
    url: '/api/applications/:id/events',
    may,
    handlerTimeout: STREAM_TIMEOUT_MS,
    schema: {
      ...common,
      operationId: 'listApplicationEvents',
      summary: 'Stored events of an application',
      description: `The events of all devices of the application. ${EVERY_LIST}`,
      params: Type.Object({ id: applicationId('Application id.') }),
    },
    handle: async (found, request, reply) => {
      const { type, body } = await answer(desk, request, request.query, found, may)
      return reply.type(type).send(body)
    },
  })
}

function deviceEvents(desk: ReadingDesk): Route {
  const may = eventsOfDevice('params.devEui')
  return route({
    method: 'GET',
    url: '/api/devices/:devEui/events',
    may,
    handlerTimeout: STREAM_TIMEOUT_MS,
    schema: {
      ...common,
      operationId: 'listDeviceEvents',
      summary: 'Stored events of a device',
      description: `The events of the device within its present application. ${EVERY_LIST}`,
      params: Type.Object({ devEui: DevEuiInput }),
    },
    handle: async (found, request, reply) => {
      const { type, body } = await answer(desk, request, request.query, found, may)
      return reply.type(type).send(body)
    },
  })
}

function lastEvents(desk: ReadingDesk): Route {
  const may = eventsOfDevice('params.devEui')
  return route({
    method: 'GET',
    url: '/api/devices/:devEui/last',
    may,
    handlerTimeout: STREAM_TIMEOUT_MS,
    schema: {
      operationId: 'listLastDeviceEvents',
      summary: 'The newest stored event of each kind of a device',
      description:
        'For a program that came late. Without kind: up, status, location and join. The events are those of the device ' +
        'within its present application.',
      params: Type.Object({ devEui: DevEuiInput }),
      querystring: Type.Object({ kind: KindQuery }),
      response: {
        200: {
          description: 'The newest event of each kind, in the order of the kinds.',
          content: { 'application/json': { schema: Type.Unsafe<Answer>(LastEvents) } },
        },
        '4xx': ErrorBodySchema,
        '5xx': ErrorBodySchema,
      },
    },
    handle: async (found, request, reply) => {
      const { type, body } = await answerLast(desk, request, request.query.kind, found, may)
      return reply.type(type).send(body)
    },
  })
}

async function answer(
  desk: ReadingDesk,
  request: FastifyRequest,
  given: Static<typeof Query>,
  branch: Branch,
  may: Access<Branch>,
): Promise<{ readonly type: string; readonly body: Answer }> {
  const asLines = acceptsLines(request.headers.accept)
  const query = await desk.queryOf(branch, {
    from: given.from,
    to: given.to,
    kinds: kindsOf(given.kind),
    after: given.after,
    order: given.order ?? 'newest',
    maximumEvents: given.limit ?? (asLines ? Infinity : DEFAULT_LIMIT),
  })
  const type = asLines ? NDJSON : JSON_TEXT
  const body = bodyOf(desk, request, branch, () => {
    const pages = desk.pagesWhileAllowed(request, may, branch, query)
    return asLines ? lines(pages) : list(pages)
  })
  return { type, body }
}

/** The newest event of each kind that is asked for and that the reader may read. */
async function answerLast(
  desk: ReadingDesk,
  request: FastifyRequest,
  kind: string | string[] | undefined,
  branch: Branch,
  may: Access<Branch>,
): Promise<{ readonly type: string; readonly body: Answer }> {
  const anyTime = { from: undefined, to: undefined, after: undefined, order: 'newest', maximumEvents: 1 } as const
  const query = await desk.queryOf(branch, { ...anyTime, kinds: kindsOf(kind) ?? LAST_KINDS })
  const searches = [...(query.kinds ?? LAST_KINDS)].map((one) => {
    const pages = desk.pagesWhileAllowed(request, may, branch, { ...query, kinds: new Set([one]) })
    return { kind: one, pages }
  })
  return { type: JSON_TEXT, body: bodyOf(desk, request, branch, () => newest(searches)) }
}

/** The text of an answer, read while its reader takes it. It has a seat until its end. */
function bodyOf(
  desk: ReadingDesk,
  request: FastifyRequest,
  { application: { organizationId } }: Branch,
  read: () => AsyncGenerator<Buffer, void, void>,
): Answer {
  if (request.method === 'HEAD') return ''
  const release = desk.seat(organizationId)
  const parts = desk.inTurns(request.turnsOf, read())
  const body = Readable.from(parts, { objectMode: false, highWaterMark: PART_BYTES })
  // `close` also comes when the client has gone before the first part.
  body.once('close', release)
  return body
}

/** True where the header names the type of JSON lines. */
function acceptsLines(accept: string | undefined): boolean {
  return accept?.split(',').some((range) => range.split(';')[0]?.trim().toLowerCase() === NDJSON) ?? false
}

function kindsOf(given: string | string[] | undefined): EventQuery['kinds'] {
  if (given === undefined || given === '') return undefined
  const words = [given].flat().flatMap((text) => text.split(','))
  const kinds = STORED_EVENT_KINDS.filter((kind) => words.includes(kind))
  if (words.some((word) => !kinds.some((kind) => kind === word))) throw invalidArgument(`kind: ${kindRule}`)
  return new Set(kinds)
}
