/**
 * The subscriptions of an event stream: one Topic Filter for each application, each with the
 * position from which its events are to come.
 */
import { FieldgateError } from './errors.ts'
import type { EventKind } from './event.ts'
import type { HttpApi } from './http-api.ts'
import type { Link } from './link.ts'
import type { Log } from './log.ts'
import { placeOf } from './positions.ts'
import type { Position, PositionStore } from './positions.ts'
import { Track } from './track.ts'

/** Topic Filters of one SUBSCRIBE: the service's maximum. */
const MAXIMUM_TOPIC_FILTERS = 1000
const LARGEST_IDENTIFIER = 268_435_455
const NOT_AUTHORIZED = 0x87

/** The events that the program wants. */
export interface SubscriptionChoice {
  /** Undefined: all applications of the organization, new ones included. */
  readonly applicationId: string | undefined
  /** Undefined: all devices. */
  readonly devEui: string | undefined
  readonly kinds: ReadonlySet<EventKind> | undefined
}

/** The questions that subscriptions ask the service. */
export interface SubscriptionsApi extends Pick<HttpApi, 'newestEventId'> {
  /** The ids of all applications of the organization. */
  applicationIds(): Promise<readonly string[]>
}

interface SubscriptionsParts {
  readonly api: SubscriptionsApi
  readonly store: PositionStore
  readonly choice: SubscriptionChoice
  /** RFC 3339: a session that has no position yet begins here. */
  readonly since: () => Promise<string>
  readonly log: Log
}

/** One connection, as its subscriptions see it. */
interface Connection {
  readonly link: Link
  /**
   * Marks the events that the replays of this connection bring. Events with another mark, or
   * without one, are left over from before.
   */
  readonly identifier: number
  /** Tracks that are replayed on this connection. */
  readonly replayed: Set<Track>
}

export class Subscriptions {
  readonly #api: SubscriptionsApi
  readonly #store: PositionStore
  readonly #choice: SubscriptionChoice
  readonly #log: Log
  readonly #tracks = new Map<string, Track>()
  #isLoaded = false
  readonly #askSince: () => Promise<string>
  #since = ''
  /** Topic Filters that the session has, and that are not wanted any more. */
  #outdated: readonly string[] = []
  readonly #connections = new WeakMap<Link, Connection>()

  constructor({ api, store, choice, since, log }: SubscriptionsParts) {
    this.#api = api
    this.#store = store
    this.#choice = choice
    this.#askSince = since
    this.#log = log
  }

  trackOf(applicationId: string): Track | undefined {
    return this.#tracks.get(applicationId)
  }

  /** Whether an event with this Subscription Identifier belongs to the connection. */
  isOfConnection(track: Track, link: Link, identifier: number | readonly number[] | undefined): boolean {
    const connection = this.#connectionOf(link)
    if (!connection.replayed.has(track)) return true
    return [identifier].flat().includes(connection.identifier)
  }

  /**
   * Reads the stored positions, and looks which applications there are. Events that the broker
   * sends right behind CONNACK need their positions.
   */
  async prepare(): Promise<void> {
    const { applicationId } = this.#choice
    const ids = applicationId === undefined ? await this.#api.applicationIds() : [applicationId]
    if (ids.length > MAXIMUM_TOPIC_FILTERS - 1) {
      const sentence = `the organization has ${ids.length} applications; a session takes ${MAXIMUM_TOPIC_FILTERS - 1}`
      throw new FieldgateError('too_many_applications', sentence)
    }
    const stored = new Map<string, Position>()
    if (!this.#isLoaded) {
      for (const position of await this.#store.load()) stored.set(position.topicFilter, position)
      this.#since = this.#beginningOf([...stored.values()]) ?? (await this.#askSince())
    }
    const outdated = new Set([...this.#outdated, ...stored.keys()])
    for (const id of this.#tracks.keys()) {
      if (ids.includes(id)) continue
      outdated.add(this.#filterOf(id))
      this.#tracks.delete(id)
    }
    for (const id of ids) {
      outdated.delete(this.#filterOf(id))
      if (this.#tracks.has(id)) continue
      const position = stored.get(this.#filterOf(id))
      const track = position === undefined ? this.#newTrack(id) : new Track(id, position)
      this.#tracks.set(id, track)
      // A process that dies before the first event is handled begins here again.
      if (position === undefined) await this.#store.save(track.position)
    }
    this.#isLoaded = true
    this.#outdated = [...outdated]
  }

  /**
   * Where a session with these positions began; undefined for a new one. An application that is
   * newer than the session is read from its first event.
   */
  #beginningOf(positions: readonly Position[]): string | undefined {
    const own = positions.filter(({ topicFilter }) => topicFilter === this.#filterOf(topicFilter.split('/')[1] ?? ''))
    return own.map(({ since }) => since).toSorted()[0]
  }

  /** Subscribes on a new connection. Call `prepare` before the connection is opened. */
  async begin(link: Link): Promise<void> {
    const outdated = this.#outdated
    const connection = this.#connectionOf(link)
    if (link.isSessionPresent) await link.unsubscribe(outdated)
    else await this.#forgetLostLogs()
    for (const topicFilter of outdated) await this.#store.remove(topicFilter)
    this.#outdated = []
    await link.subscribe(['$notice/missed'])
    await this.#subscribe(connection, [...this.#tracks.values()])
  }

  /** Subscribes to the applications that are new since. */
  async refresh(link: Link): Promise<void> {
    if (this.#choice.applicationId !== undefined) return
    const present = new Set(await this.#api.applicationIds())
    const added = [...present].filter((id) => !this.#tracks.has(id)).map((id) => this.#newTrack(id))
    for (const id of this.#tracks.keys()) if (!present.has(id)) this.#tracks.delete(id)
    const connection = this.#connectionOf(link)
    for (const track of added) {
      this.#tracks.set(track.applicationId, track)
      connection.replayed.add(track)
      await this.#store.save(track.position)
    }
    await this.#subscribe(connection, added)
  }

  /**
   * Replays what the Session has skipped; false where everything is being replayed already, so
   * that the skipped events are not stored any more.
   */
  async fill(link: Link): Promise<boolean> {
    const connection = this.#connectionOf(link)
    const tracks = [...this.#tracks.values()].filter((track) => !connection.replayed.has(track))
    if (tracks.length === 0) return false
    for (const track of tracks) connection.replayed.add(track)
    await this.#replay(connection, tracks, true)
    return true
  }

  /** The first packet of a connection decides which tracks it replays. */
  #connectionOf(link: Link): Connection {
    const known = this.#connections.get(link)
    if (known !== undefined) return known
    const tracks = [...this.#tracks.values()]
    const replayed = new Set(tracks.filter((track) => !link.isSessionPresent || track.needsReplay))
    const identifier = 1 + Math.floor(Math.random() * LARGEST_IDENTIFIER)
    const connection = { link, identifier, replayed }
    this.#connections.set(link, connection)
    return connection
  }

  #newTrack(applicationId: string): Track {
    const topicFilter = this.#filterOf(applicationId)
    return new Track(applicationId, { topicFilter, since: this.#since, after: undefined, done: [], qos0: 'unknown' })
  }

  /**
   * With several kinds, all kinds are subscribed to: one subscription keeps the order of events.
   */
  #filterOf(applicationId: string): string {
    const { devEui = '+', kinds } = this.#choice
    const [only = '+'] = kinds?.size === 1 ? kinds : []
    return `application/${applicationId}/device/${devEui}/event/${only}`
  }

  async #subscribe(connection: Connection, tracks: readonly Track[]): Promise<void> {
    const { link, replayed } = connection
    const kept = tracks.filter((track) => !replayed.has(track))
    await this.#asked(kept, () => link.subscribe(kept.map(({ topicFilter }) => topicFilter)))
    const behind = tracks.filter((track) => replayed.has(track))
    await this.#replay(connection, behind, link.isSessionPresent)
  }

  /**
   * `isSubscribed`: a Session that has asked for the same replay before would not begin it again.
   */
  async #replay({ link, identifier }: Connection, tracks: readonly Track[], isSubscribed: boolean): Promise<void> {
    if (isSubscribed) await link.unsubscribe(tracks.map(({ topicFilter }) => topicFilter))
    const groups = new Map<string, Track[]>()
    for (const track of tracks) groups.set(track.replayFrom, [...(groups.get(track.replayFrom) ?? []), track])
    for (const [replayFrom, group] of groups) {
      const options = { replayFrom, subscriptionIdentifier: identifier }
      const topicFilters = group.map(({ topicFilter }) => topicFilter)
      await this.#asked(group, () => link.subscribe(topicFilters, options))
    }
  }

  /** An application that was removed meanwhile is no fault of a program that reads all of them. */
  async #asked(tracks: readonly Track[], subscribe: () => Promise<void>): Promise<void> {
    try {
      await subscribe()
    } catch (error) {
      const isRemoved = error instanceof FieldgateError && error.reasonCode === NOT_AUTHORIZED
      if (!isRemoved || this.#choice.applicationId !== undefined) throw error
      const present = new Set(await this.#api.applicationIds())
      if (tracks.every(({ applicationId }) => present.has(applicationId))) throw error
      throw new FieldgateError('application_removed', error.message, { isTemporary: true, cause: error })
    }
  }

  /**
   * A service that keeps its log in memory begins with new ids after a restart. Positions of the
   * old log would hide its events.
   */
  async #forgetLostLogs(): Promise<void> {
    for (const track of this.#tracks.values()) {
      const last = track.lastHandledId === undefined ? undefined : placeOf(track.lastHandledId)
      if (last === undefined) continue
      const newest = await this.#api.newestEventId(track.applicationId)
      const place = newest === undefined ? undefined : placeOf(newest)
      if (place === undefined || place.part !== last.part || place.place >= last.place) continue
      this.#log({ level: 'warn', message: 'log.begun_anew', applicationId: track.applicationId })
      track.forget()
    }
  }
}
