/**
 * The readings of stored events: who may read, how far, how many at the same time, and in whose
 * turns.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Clock } from '../../clock.ts'
import type { EventHistory, EventPage, EventQuery } from '../../lorawan/uplinks/event-history.ts'
import type { Registry } from '../../identity/registry.ts'
import type { Scope } from '../../identity/tokens/scope.ts'
import type { Device } from '../../identity/devices/device.ts'
import type { Application } from '../../identity/tenants/applications.ts'
import { callerOf } from '../api/authenticate.ts'
import type { AuthenticationRegistry } from '../api/authenticate.ts'
import type { Access } from '../api/access.ts'
import { invalidArgument, objectNotFound, RequestRefused } from '../api/errors.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { ALSO_ACCEPTS, DOCUMENTED } from '../api/schema-keywords.ts'
import type { Turns } from '../shares/work-turns.ts'

/** The parts of the registry that history needs. */
export type HistoryRegistry = OwnershipRegistry & AuthenticationRegistry & Pick<Registry, 'taggedDevices'>

/** Where stored events come from. */
export type StoredEvents = Pick<EventHistory, 'pages' | 'isOfApplication'>

/** Readings at the same time: each holds about a megabyte, and the disk. The next one hears 429. */
const MAXIMUM_READERS_OF_ORGANIZATION = 8
const MAXIMUM_READERS = 128

/** How often a reading checks whether its reader still has the right to read. */
const RIGHTS_CHECK_MS = 1000

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i

/** A time of a query, as RFC 3339 writes it. */
export const time = (description: string) =>
  Type.Optional(
    Type.String({
      maxLength: 64,
      description,
      examples: ['2026-01-31T08:00:00Z'],
      [DOCUMENTED]: { type: 'string', format: 'date-time', [ALSO_ACCEPTS]: ['empty'] },
    }),
  )
/** The application whose events are read, or the one device of it. */
export interface Branch {
  /** Older events than the application belong to an earlier application with the same id. */
  readonly application: Pick<Application, 'id' | 'organizationId' | 'createdAtMs'>
  readonly device?: Pick<Device, 'devEui'>
  /** The limits of the reader's token. Undefined: none. */
  readonly scope: Scope | undefined
}

/** The span and the kinds of events that a reader asks for. */
export interface Asked {
  readonly from: string | undefined
  readonly to: string | undefined
  /** Undefined: all kinds. */
  readonly kinds: EventQuery['kinds']
  readonly after: string | undefined
  readonly order: EventQuery['order']
  readonly maximumEvents: number
}

/**
 * Reads events. Counts the readers, and checks again and again whether each one still has the right
 * to read.
 */
export class ReadingDesk {
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

  /** Each part of an answer is read and written in a turn of its own. */
  async *inTurns<Part>(turnsOf: string, parts: AsyncGenerator<Part, void, void>): AsyncGenerator<Part, void, void> {
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

  /** The pages of events, for as long as the caller has the right to read them. */
  async *pagesWhileAllowed(
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

  /** The query for events of the branch that the reader's token may read. Refuses what is wrong. */
  async queryOf({ application, device, scope }: Branch, asked: Asked): Promise<EventQuery> {
    const fromMs = timeOf('from', asked.from) ?? 0
    const toMs = timeOf('to', asked.to) ?? Infinity
    if (fromMs > toMs) throw invalidArgument('from: must not be later than to')
    const after = asked.after === '' ? undefined : asked.after
    if (after !== undefined && !this.#history.isOfApplication(application.id, after)) {
      throw invalidArgument('after: must be the id of an event of this application, or a nextCursor')
    }
    return {
      applicationId: application.id,
      devEui: device?.devEui,
      kinds: kindsWithin(scope, asked.kinds),
      reaches: await this.#reachedDevices(scope, application.organizationId),
      fromMs: Math.max(fromMs, application.createdAtMs),
      toMs,
      after,
      order: asked.order,
      maximumEvents: asked.maximumEvents,
    }
  }

  /**
   * The devices whose events the token may read, as they are at each moment; undefined for all.
   */
  async #reachedDevices(scope: Scope | undefined, organizationId: string): Promise<EventQuery['reaches']> {
    if (scope?.devEuis === undefined && scope?.tags === undefined) return undefined
    const { devEuis, tags } = scope
    const tagged = tags && (await this.#registry.taggedDevices.taggedWith(organizationId, tags))
    return (devEui) => (devEuis?.includes(devEui) ?? true) && (tagged?.has(devEui) ?? true)
  }

  /**
   * Takes a seat for one reading of the organization's events. The returned function gives it back.
   */
  seat(organizationId: string): () => void {
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

function timeOf(member: string, text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  const ms = TIME.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) {
    const hint = text.includes(' ') ? '; a + is written %2B in a URL' : ''
    throw invalidArgument(`${member}: must be a time as in RFC 3339, like 2026-01-31T08:00:00Z${hint}`)
  }
  return ms
}

/** The kinds that are asked for and that the scope lets through. Refuses where none is both. */
function kindsWithin(scope: Scope | undefined, asked: EventQuery['kinds']): EventQuery['kinds'] {
  if (scope?.eventKinds === undefined) return asked
  const kinds = new Set(scope.eventKinds.filter((kind) => asked?.has(kind) ?? true))
  if (kinds.size > 0) return kinds
  const message = 'the token is not for these kinds of event'
  throw new RequestRefused('permission_denied', message, 'token_outside_scope')
}
