/**
 * Stored events of a device or an application over HTTP: in pages, or as a stream of JSON lines.
 */
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Static } from 'typebox'
import type { Clock } from '../../clock.ts'
import { STORED_EVENT_KINDS } from '../../lorawan/uplinks/event-history.ts'
import type { EventHistory, EventPage, EventQuery } from '../../lorawan/uplinks/event-history.ts'
import type { Device } from '../../identity/devices/device.ts'
import type { Application } from '../../identity/tenants/applications.ts'
import { callerOf } from '../api/authenticate.ts'
import type { AuthenticationRegistry } from '../api/authenticate.ts'
import { eventsOfApplication, eventsOfDevice } from '../api/access.ts'
import type { Access } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { ErrorBodySchema, invalidArgument, objectNotFound, RequestRefused } from '../api/errors.ts'
import { textOfEvents } from './event-text.ts'
import { applicationId, choice, DevEui, DevEuiInput, Timestamp } from '../api/fields.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { ALSO_ACCEPTS, DOCUMENTED, NAME } from '../api/schema-keywords.ts'
import type { Turns } from '../shares/work-turns.ts'
import { RULE } from '../api/validate.ts'

/** The parts of the registry that history needs. */
export type HistoryRegistry = OwnershipRegistry & AuthenticationRegistry

/** Where stored events come from. */
export type StoredEvents = Pick<EventHistory, 'pages' | 'isOfApplication'>

const DEFAULT_LIMIT = 100
const MAXIMUM_LIMIT = 10_000

/**
 * The longest answer that is not a stream, in bytes; a longer page ends early, because its reader
 * parses it as a whole.
 */
const MAXIMUM_ANSWER_BYTES = 16 * 1024 * 1024

/**
 * Shares of work of one answer that is not a stream. A search for rare events ends early by this
 * bound, and names the cursor at which to go on.
 */
const MAXIMUM_SEARCHES = 256

/**
 * The longest part that is written at once, in bytes: a longer one would hold up all other
 * requests.
 */
const PART_BYTES = 256 * 1024

/** Readings at the same time: each holds about a megabyte, and the disk. The next one hears 429. */
const MAXIMUM_READERS_OF_ORGANIZATION = 8
const MAXIMUM_READERS = 128

/** How often a reading checks whether its reader still has the right to read. */
const RIGHTS_CHECK_MS = 1000

/** The life of one stream. A slower reader asks again, from the last line that it got. */
const STREAM_TIMEOUT_MS = 3_600_000

const NDJSON = 'application/x-ndjson'
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i

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

const time = (description: string) =>
  Type.Optional(
    Type.String({
      maxLength: 64,
      description,
      examples: ['2026-01-31T08:00:00Z'],
      [DOCUMENTED]: { type: 'string', format: 'date-time', [ALSO_ACCEPTS]: ['empty'] },
    }),
  )
const limitRule = `must be an integer from 1 to ${MAXIMUM_LIMIT}`
const kindRule = `must be one or more of ${STORED_EVENT_KINDS.join(', ')}`

const Query = Type.Object({
  from: time('RFC 3339; events that the service took then or later.'),
  to: time('RFC 3339; events that the service took before.'),
  kind: Type.Optional(
    Type.Union([Type.String({ maxLength: 200 }), Type.Array(Type.String({ maxLength: 200 }), { maxItems: 32 })], {
      description: 'Only these kinds, given repeatedly or with commas.',
      [RULE]: kindRule,
      [DOCUMENTED]: { type: 'array', maxItems: 32, items: Kind },
    }),
  ),
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

/** The application whose events are read, or the one device of it. */
interface Branch {
  /** Older events than the application belong to an earlier application with the same id. */
  readonly application: Pick<Application, 'id' | 'organizationId' | 'createdAtMs'>
  readonly device?: Pick<Device, 'devEui'>
}

/** The routes of the history of devices and of applications. */
export function historyRoutes(
  registry: HistoryRegistry,
  history: StoredEvents,
  clock: Pick<Clock, 'steady'>,
  turns: Turns,
): readonly Route[] {
  const desk = new ReadingDesk(registry, history, clock, turns)
  return resource('Events', [applicationEvents(desk), deviceEvents(desk)])
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
      const { type, body } = await desk.answer(request, request.query, found, may)
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
      const { type, body } = await desk.answer(request, request.query, found, may)
      return reply.type(type).send(body)
    },
  })
}

/**
 * Reads events. Counts the readers, and checks again and again whether each one still has the right
 * to read.
 */
class ReadingDesk {
  readonly #registry: HistoryRegistry
  readonly #history: StoredEvents
  readonly #clock: Pick<Clock, 'steady'>
  readonly #turns: Turns
  readonly #readers = new Map<string, number>()
  #allReaders = 0

  constructor(registry: HistoryRegistry, history: StoredEvents, clock: Pick<Clock, 'steady'>, turns: Turns) {
    this.#registry = registry
    this.#history = history
    this.#clock = clock
    this.#turns = turns
  }

  async answer(
    request: FastifyRequest,
    given: Static<typeof Query>,
    branch: Branch,
    may: Access<Branch>,
  ): Promise<{ readonly type: string; readonly body: Answer }> {
    const asLines = acceptsLines(request.headers.accept)
    const query = this.#queryOf(given, branch, asLines)
    const type = asLines ? NDJSON : 'application/json; charset=utf-8'
    if (request.method === 'HEAD') return { type, body: '' }
    const release = this.#seat(branch.application.organizationId)
    const pages = this.#pagesWhileAllowed(request, may, branch, query)
    const parts = this.#inTurns(request.turnsOf, asLines ? lines(pages) : list(pages))
    const body = Readable.from(parts, { objectMode: false, highWaterMark: PART_BYTES })
    // `close` also comes when the client has gone before the first part.
    body.once('close', release)
    return { type, body }
  }

  /** Each part of an answer is read and written in a turn of its own. */
  async *#inTurns(turnsOf: string, parts: AsyncGenerator<Buffer, void, void>): AsyncGenerator<Buffer, void, void> {
    try {
      for (;;) {
        const { value, done } = await this.#turns.run(turnsOf, () => parts.next())
        if (done === true) return
        yield value
      }
    } finally {
      await parts.return()
    }
  }

  async *#pagesWhileAllowed(
    request: FastifyRequest,
    may: Access<Branch>,
    { application: { id, organizationId, createdAtMs } }: Branch,
    query: EventQuery,
  ): AsyncGenerator<EventPage, void, void> {
    let checkedAtMs = this.#clock.steady()
    for await (const page of this.#history.pages(query)) {
      const elapsedMs = this.#clock.steady()
      if (elapsedMs - checkedAtMs >= RIGHTS_CHECK_MS) {
        checkedAtMs = elapsedMs
        const registry = this.#registry
        const caller = await callerOf(request, 'sessionOrBrokerAccess', registry)
        const { application: now } = await may.check({ registry, request, caller })
        const isSame = now.organizationId === organizationId && now.id === id && now.createdAtMs === createdAtMs
        if (!isSame) throw objectNotFound()
      }
      yield page
      // A log in memory answers within the same turn: other requests need a turn as well.
      await turn()
    }
  }

  #queryOf(given: Static<typeof Query>, { application, device }: Branch, asLines: boolean): EventQuery {
    const fromMs = timeOf('from', given.from) ?? 0
    const toMs = timeOf('to', given.to) ?? Infinity
    if (fromMs > toMs) throw invalidArgument('from: must not be later than to')
    const after = given.after === '' ? undefined : given.after
    if (after !== undefined && !this.#history.isOfApplication(application.id, after)) {
      throw invalidArgument('after: must be the id of an event of this application, or a nextCursor')
    }
    return {
      applicationId: application.id,
      devEui: device?.devEui,
      kinds: kindsOf(given.kind),
      fromMs: Math.max(fromMs, application.createdAtMs),
      toMs,
      after,
      order: given.order ?? 'newest',
      maximumEvents: given.limit ?? (asLines ? Infinity : DEFAULT_LIMIT),
    }
  }

  /**
   * Takes a seat for one reading of the organization's events. The returned function gives it back.
   */
  #seat(organizationId: string): () => void {
    const own = this.#readers.get(organizationId) ?? 0
    if (own >= MAXIMUM_READERS_OF_ORGANIZATION || this.#allReaders >= MAXIMUM_READERS) {
      const headers = { 'retry-after': '5' }
      throw new RequestRefused('resource_exhausted', 'too many readings of stored events at once', 'history_busy', {
        headers,
      })
    }
    this.#readers.set(organizationId, own + 1)
    this.#allReaders += 1
    return () => {
      const left = (this.#readers.get(organizationId) ?? 1) - 1
      if (left === 0) this.#readers.delete(organizationId)
      else this.#readers.set(organizationId, left)
      this.#allReaders -= 1
    }
  }
}

async function* lines(pages: AsyncIterable<EventPage>): AsyncGenerator<Buffer, void, void> {
  for await (const { events } of pages) {
    for (const part of partsOf(events)) yield textOfEvents(part, { before: '', between: '\n', behind: '\n' })
  }
}

async function* list(pages: AsyncIterable<EventPage>): AsyncGenerator<Buffer, void, void> {
  let before = '{"result":['
  let searches = 0
  let bytes = 0
  let nextCursor = ''
  for await (const { events, nextAfter = '' } of pages) {
    for (const part of partsOf(events)) {
      const text = textOfEvents(part, { before, between: ',', behind: '' })
      before = ','
      bytes += text.length
      yield text
    }
    searches += 1
    nextCursor = nextAfter
    if (bytes > MAXIMUM_ANSWER_BYTES || searches === MAXIMUM_SEARCHES) break
  }
  yield Buffer.from(`${before === ',' ? '' : before}],"nextCursor":"${nextCursor}"}`)
}

/** Runs of events. Each run has at most about 256 KiB, or is one event. */
function* partsOf(events: EventPage['events']): Generator<EventPage['events']> {
  let start = 0
  let bytes = 0
  for (const [index, { payload }] of events.entries()) {
    if (index > start && bytes + payload.length > PART_BYTES) {
      yield events.slice(start, index)
      start = index
      bytes = 0
    }
    bytes += payload.length
  }
  if (start < events.length) yield events.slice(start)
}

/** True where the header names the type of JSON lines. */
function acceptsLines(accept: string | undefined): boolean {
  return accept?.split(',').some((range) => range.split(';')[0]?.trim().toLowerCase() === NDJSON) ?? false
}

function timeOf(member: string, text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  const ms = TIME.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) {
    const hint = text.includes(' ') ? '; a + is written %2B in a URL' : ''
    throw invalidArgument(`${member}: must be a time as in RFC 3339, like 2026-01-31T08:00:00Z${hint}`)
  }
  return ms
}

function kindsOf(given: string | string[] | undefined): EventQuery['kinds'] {
  if (given === undefined || given === '') return undefined
  const words = [given].flat().flatMap((text) => text.split(','))
  const kinds = STORED_EVENT_KINDS.filter((kind) => words.includes(kind))
  if (words.some((word) => !kinds.some((kind) => kind === word))) throw invalidArgument(`kind: ${kindRule}`)
  return new Set(kinds)
}
