/** The history of a device in buckets of time over HTTP, for plots. */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../clock.ts'
import { given } from '../../given.ts'
import { BUCKET_KINDS, HistoryBuckets, MAXIMUM_PATHS } from '../../lorawan/buckets/history-buckets.ts'
import { MAXIMUM_PATH_UNITS } from '../../lorawan/buckets/event-facts.ts'
import type { Bucket } from '../../lorawan/buckets/history-buckets.ts'
import { EXACT_COUNT } from '../../lorawan/buckets/spread.ts'
import type { EventQuery, StoredEvent } from '../../lorawan/uplinks/event-history.ts'
import type { Access } from '../api/access.ts'
import { invalidArgument } from '../api/errors.ts'
import { eventsOfDevice } from '../api/event-access.ts'
import { choice, DevEui, DevEuiInput, responses, Timestamp, timestamp } from '../api/fields.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { DOCUMENTED, NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'
import { time } from './reading-desk.ts'
import type { Branch, ReadingDesk } from './reading-desk.ts'

/** Buckets of one answer. */
const MAXIMUM_BUCKETS = 1_000
/** The service chooses the shortest bucket that makes no more buckets than this. */
const CHOSEN_BUCKETS = 200
/**
 * Bounds of one answer. At a bound the answer ends with the newest events, and says so: an answer
 * holds up no other request, and costs its organization some seconds of its turns at most.
 */
const MAXIMUM_BYTES = 64 * 1024 * 1024
const MAXIMUM_EVENTS = 200_000
const MAXIMUM_MS = 10_000

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** The buckets that the service chooses from, in seconds. */
const CHOICES = [
  [1, 2, 5, 10, 15, 30],
  [1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  [1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  [1, 2, 7, 28, 91, 364].map((days) => days * DAY),
].flat()
const UNITS: Readonly<Record<string, number>> = { s: 1, m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY }
const BUCKET = /^(\d{1,8})([smhdw]?)$/

const bucketRule = 'must be a duration of at least a second, like 30s, 15m, 1h, 1d or 1w'
const valuesRule = `must be at most ${MAXIMUM_PATHS} paths of at most ${MAXIMUM_PATH_UNITS} characters`

const SpreadSchema = Type.Object(
  {
    min: Type.Number({ description: 'The least number.' }),
    median: Type.Number({
      description:
        `The number in the middle; of an even count, the mean of the two in the middle. Above ${EXACT_COUNT} numbers ` +
        'it is an estimate, whose rank is wrong by 1 % at most.',
    }),
    max: Type.Number({ description: 'The greatest number.' }),
    count: Type.Integer({ minimum: 1, description: 'How many numbers there are.' }),
  },
  { description: 'The spread of numbers.', [NAME]: 'Spread' },
)

const counts = (description: string) =>
  Type.Record(Type.String(), Type.Integer({ minimum: 1 }), { description, examples: [{ 7: 12 }] })

const BucketSchema = Type.Object(
  {
    time: Timestamp,
    uplinks: Type.Integer({ minimum: 0, description: 'The number of uplinks.' }),
    lost: Type.Integer({
      minimum: 0,
      description:
        'The number of uplinks that never arrived: gaps of the frame counter, counted before the next uplink.',
    }),
    joins: Type.Integer({ minimum: 0, description: 'The number of joins. The frame counter begins again with each.' }),
    rssi: Type.Optional(SpreadSchema),
    snr: Type.Optional(SpreadSchema),
    battery: Type.Optional(SpreadSchema),
    margin: Type.Optional(SpreadSchema),
    spreadingFactors: counts('The number of uplinks by spreading factor, 5 to 12.'),
    dataRates: counts('The number of uplinks by data rate, the index of the region.'),
    values: Type.Record(Type.String(), SpreadSchema, {
      description: 'The decoded numbers by path: names of members, and places in lists, with dots between them.',
      examples: [{ 'temperatureSensor.1': { min: 20.5, median: 21, max: 22.5, count: 6 } }],
    }),
  },
  {
    description:
      'The events of one span of time. A bucket without events is left out, and so is a spread without numbers. rssi ' +
      '(dBm) and snr (dB) are those of the gateway that received an uplink with the highest RSSI. battery (percent) ' +
      'and margin (dB) come from status events.',
    [NAME]: 'EventBucket',
  },
)

const TRUNCATIONS = ['bytes', 'events', 'time', 'values'] as const

const BucketList = Type.Object(
  {
    devEUI: DevEui,
    from: Timestamp,
    to: Timestamp,
    bucketSeconds: Type.Integer({
      minimum: 1,
      description: 'The length of a bucket. Buckets begin at multiples of it, in UTC.',
    }),
    completeFrom: Type.Unsafe<string>({
      ...Timestamp,
      description: 'Events from this time on are in the buckets. It is later than from where truncated says why.',
    }),
    truncated: Type.Array(choice(TRUNCATIONS, { description: 'A bound of one answer.' }), {
      description:
        'The bounds that the answer has reached; empty: none. With bytes, events or time, older events are left out. ' +
        'With values, further paths are left out.',
    }),
    values: Type.Array(Type.String(), { description: 'The paths of all buckets, in the order of the alphabet.' }),
    result: Type.Array(BucketSchema, { description: 'The buckets that have events, the oldest first.' }),
  },
  { description: 'Stored events in buckets', [NAME]: 'EventBucketList' },
)

const Query = Type.Object({
  from: time('RFC 3339; events that the service took then or later. All that are stored when not given.'),
  to: time('RFC 3339; events that the service took before. Now when not given.'),
  bucket: Type.Optional(
    Type.String({
      pattern: String.raw`^(?:\d{1,8}[smhdw]?)?$`,
      description: `The length of a bucket: 30s, 15m, 1h, 1d or 1w. When not given, some ${CHOSEN_BUCKETS} buckets are made.`,
      examples: ['1h'],
      [RULE]: bucketRule,
    }),
  ),
  values: Type.Optional(
    Type.Union(
      [Type.String({ maxLength: 8_000 }), Type.Array(Type.String({ maxLength: 8_000 }), { maxItems: MAXIMUM_PATHS })],
      {
        description: `The paths of decoded numbers, given repeatedly or with commas. When not given, the first ${MAXIMUM_PATHS}.`,
        [RULE]: valuesRule,
        [DOCUMENTED]: {
          type: 'array',
          maxItems: MAXIMUM_PATHS,
          items: { type: 'string', maxLength: MAXIMUM_PATH_UNITS },
        },
      },
    ),
  ),
})

/** The route of the buckets of a device. */
export function eventBucketRoutes(desk: ReadingDesk, clock: Pick<Clock, 'now' | 'steady'>): readonly Route[] {
  const may = eventsOfDevice('params.devEui')
  return resource('Events', [
    route({
      method: 'GET',
      url: '/api/devices/:devEui/events/buckets',
      may,
      schema: {
        operationId: 'listDeviceEventBuckets',
        summary: 'Stored events of a device in buckets of time',
        description:
          'For plots: the spread of signal, battery and decoded numbers, the spreading factors, and the lost uplinks ' +
          `of the device within its present application. An answer has at most ${MAXIMUM_BUCKETS} buckets.`,
        params: Type.Object({ devEui: DevEuiInput }),
        querystring: Query,
        response: responses(BucketList),
      },
      handle: async (found, request) => {
        const reading = { desk, clock, request, may, branch: found, asked: request.query }
        const release = desk.seat(found.application.organizationId)
        try {
          return await new BucketReading(reading).answer()
        } finally {
          release()
        }
      },
    }),
  ])
}

interface BucketsAsked {
  readonly desk: ReadingDesk
  readonly clock: Pick<Clock, 'now' | 'steady'>
  readonly request: FastifyRequest
  readonly may: Access<Branch>
  readonly branch: Branch & { readonly device: { readonly devEui: string } }
  readonly asked: Static<typeof Query>
}

/** The reading of one answer. */
class BucketReading {
  readonly #reading: BucketsAsked
  readonly #startedAt: number
  #bytes = 0
  #events = 0

  constructor(reading: BucketsAsked) {
    this.#reading = reading
    this.#startedAt = reading.clock.steady()
  }

  async answer(): Promise<Static<typeof BucketList>> {
    const { branch, asked } = this.#reading
    const paths = pathsOf(asked.values)
    const bucketSeconds = secondsOf(asked.bucket)
    const query = await this.#query()
    const span = await this.#spanOf(query)
    const seconds = bucketSeconds ?? chosenSeconds(span)
    demandFew(seconds, span)
    const buckets = new HistoryBuckets(seconds * 1000, paths)
    const end = await this.#readInto(buckets, { ...query, ...span })
    const result = buckets.finish().map(bucketAnswer)
    return {
      devEUI: branch.device.devEui,
      from: timestamp(span.fromMs),
      to: timestamp(span.toMs),
      bucketSeconds: seconds,
      completeFrom: timestamp(end?.completeFromMs ?? span.fromMs),
      truncated: [...(end === undefined ? [] : [end.reason]), ...(buckets.leavesOutPaths ? ['values' as const] : [])],
      values: [...buckets.paths],
      result,
    }
  }

  async #query(): Promise<EventQuery> {
    const { desk, branch, asked } = this.#reading
    return await desk.queryOf(branch, {
      from: asked.from,
      to: asked.to,
      kinds: new Set(BUCKET_KINDS),
      after: undefined,
      order: 'newest',
      maximumEvents: Infinity,
    })
  }

  /** Without `from` the span begins with the oldest stored event. */
  async #spanOf(query: EventQuery): Promise<Span> {
    const { clock, asked } = this.#reading
    const isFromGiven = asked.from !== undefined && asked.from !== ''
    // The time of the newest event may be now, and `toMs` is exclusive.
    const toMs = query.toMs === Infinity ? Math.max(clock.now() + 1, query.fromMs) : query.toMs
    if (isFromGiven) return { fromMs: Math.min(query.fromMs, toMs), toMs }
    const oldest = await this.#oldest({ ...query, toMs, order: 'oldest', maximumEvents: 1 })
    return { fromMs: oldest?.timeMs ?? toMs, toMs }
  }

  async #oldest(query: EventQuery): Promise<StoredEvent | undefined> {
    const { desk, request, may, branch } = this.#reading
    const pages = desk.inTurns(request.turnsOf, desk.pagesWhileAllowed(request, may, branch, query))
    for await (const { events } of pages) {
      if (events.length > 0 || this.#isOutOfTime()) return events[0]
    }
    return undefined
  }

  /** Reads into the buckets. Returns the bound at which the reading ended, if it did. */
  async #readInto(buckets: HistoryBuckets, query: EventQuery): Promise<ReadingEnd | undefined> {
    const { desk, request } = this.#reading
    for await (const end of desk.inTurns(request.turnsOf, this.#steps(buckets, query))) {
      if (end !== undefined) return end
    }
    return undefined
  }

  /** Each step reads a page, and adds its events: both cost the organization its turn. */
  async *#steps(buckets: HistoryBuckets, query: EventQuery): AsyncGenerator<ReadingEnd | undefined, void, void> {
    const { desk, request, may, branch } = this.#reading
    let completeFromMs = query.toMs
    for await (const { events, nextAfter } of desk.pagesWhileAllowed(request, may, branch, query)) {
      for (const event of events) {
        buckets.add(event)
        this.#bytes += event.payload.length
        completeFromMs = Math.min(completeFromMs, event.timeMs)
      }
      this.#events += events.length
      const reason = nextAfter === undefined ? undefined : this.#bound()
      yield reason && { reason, completeFromMs }
    }
  }

  #bound(): (typeof TRUNCATIONS)[number] | undefined {
    if (this.#bytes >= MAXIMUM_BYTES) return 'bytes'
    if (this.#events >= MAXIMUM_EVENTS) return 'events'
    return this.#isOutOfTime() ? 'time' : undefined
  }

  #isOutOfTime(): boolean {
    return this.#reading.clock.steady() - this.#startedAt >= MAXIMUM_MS
  }
}

/** The bound at which a reading ended. */
interface ReadingEnd {
  readonly reason: (typeof TRUNCATIONS)[number]
  /** Older events are left out, ms since 1970. */
  readonly completeFromMs: number
}

interface Span {
  readonly fromMs: number
  readonly toMs: number
}

function chosenSeconds(span: Span): number {
  const wanted = (span.toMs - span.fromMs) / 1000 / CHOSEN_BUCKETS
  return CHOICES.find((seconds) => seconds >= wanted) ?? (CHOICES.at(-1) as number)
}

function demandFew(seconds: number, { fromMs, toMs }: Span): void {
  const first = Math.floor(fromMs / 1000 / seconds)
  const count = Math.ceil(toMs / 1000 / seconds) - first
  if (count <= MAXIMUM_BUCKETS) return
  const least = Math.ceil((toMs - fromMs) / 1000 / (MAXIMUM_BUCKETS - 1))
  throw invalidArgument(
    `bucket: must be at least ${least}s for this span, so that there are at most ${MAXIMUM_BUCKETS} buckets`,
  )
}

function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  const [, digits = '', unit = ''] = BUCKET.exec(text) ?? []
  const seconds = Number(digits) * (UNITS[unit] ?? 1)
  if (seconds < 1) throw invalidArgument(`bucket: ${bucketRule}`)
  return seconds
}

function pathsOf(texts: string | readonly string[] | undefined): readonly string[] | undefined {
  const paths = [texts ?? []]
    .flat()
    .flatMap((text) => text.split(','))
    .filter((path) => path !== '')
  const isRight = paths.length <= MAXIMUM_PATHS && paths.every((path) => path.length <= MAXIMUM_PATH_UNITS)
  if (!isRight) throw invalidArgument(`values: ${valuesRule}`)
  return paths.length === 0 ? undefined : paths
}

function bucketAnswer(bucket: Bucket): Static<typeof BucketSchema> {
  const { startMs, uplinks, lost, joins, rssi, snr, battery, margin, spreadingFactors, dataRates, values } = bucket
  const spreads = given({ rssi, snr, battery, margin })
  return { time: timestamp(startMs), uplinks, lost, joins, ...spreads, spreadingFactors, dataRates, values }
}
