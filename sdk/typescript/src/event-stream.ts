/**
 * A stream of events: subscribes, keeps the order, drops what came before, and acknowledges each
 * event when it is handled.
 */
import type { IPublishPacket } from 'mqtt'
import { asFieldgateError, FieldgateError } from './errors.ts'
import { isEventKind, objectOf, readEvent, readTopic } from './event.ts'
import type { FieldgateEvent } from './event.ts'
import type { Link } from './link.ts'
import type { Log } from './log.ts'
import type { PositionStore } from './positions.ts'
import { Subscriptions } from './subscriptions.ts'
import type { SubscriptionChoice, SubscriptionsApi } from './subscriptions.ts'
import type { Entry } from './track.ts'

const MISSED = '$notice/missed'
/**
 * Events of QoS 0 are bounded by no window. With more than so many times the prefetch in the
 * program, it reads nothing more from the connection until some are handled.
 */
const QOS_0_FACTOR = 2
/** The same bound while the answers to SUBSCRIBE are awaited, in events. */
const MAXIMUM_WHILE_SUBSCRIBING = 10_000

export interface EventStreamParts {
  readonly api: SubscriptionsApi
  readonly store: PositionStore
  readonly choice: SubscriptionChoice
  /** RFC 3339: a session that has no position yet begins here. */
  readonly since: () => Promise<string>
  readonly prefetch: number
  readonly log: Log
  /** Told that the service has lost events before they came, with their greatest number. */
  readonly onMissed: (atMost: number) => void
  /** Ends the stream's connection. */
  readonly end: () => void
}

/**
 * `for await (const event of stream)`: an event is acknowledged when the next one is asked for. An
 * event whose loop body ends by `break` or by an exception counts as not handled, and comes again.
 */
export class EventStream implements AsyncIterableIterator<FieldgateEvent>, AsyncDisposable {
  readonly #parts: EventStreamParts
  readonly #subscriptions: Subscriptions
  /** Events that came and are not handed over. */
  readonly #queue: Entry[] = []
  readonly #released = new Set<() => void>()
  #wake: () => void = () => {}
  #current: Entry | undefined = undefined
  #isOver = false
  #error: unknown = undefined
  #saving: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined = undefined
  #outstanding = 0
  #isSubscribing = false

  constructor(parts: EventStreamParts) {
    this.#parts = parts
    this.#subscriptions = new Subscriptions(parts)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Acknowledges the event before, and resolves with the next one. */
  async next(): Promise<IteratorResult<FieldgateEvent, undefined>> {
    const before = this.#current
    this.#current = undefined
    if (before !== undefined) await this.handled(before)
    const entry = await this.take()
    if (entry === undefined) return { done: true, value: undefined }
    this.#current = entry
    return { done: false, value: entry.event as FieldgateEvent }
  }

  /** Ends the stream. The event that was handed over last is not acknowledged. */
  async return(): Promise<IteratorResult<FieldgateEvent, undefined>> {
    this.finish()
    this.#parts.end()
    await this.closeStore()
    return { done: true, value: undefined }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  /** Closes the store when its last position is saved. */
  async closeStore(): Promise<void> {
    await this.#saving.catch(() => {})
    await (this.#closing ??= this.#parts.store.close?.() ?? Promise.resolve())
  }

  /** The next event that waits; undefined at the end of the stream. Rejects with its error. */
  async take(): Promise<Entry | undefined> {
    for (;;) {
      if (this.#error !== undefined) throw this.#error
      if (this.#isOver) return undefined
      const entry = this.#queue.shift()
      if (entry !== undefined) return entry
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  /** The event is handled: stores the position, then acknowledges the event. */
  async handled(entry: Entry): Promise<void> {
    entry.isHandled = true
    this.#outstanding -= 1
    const { track } = entry
    if (track !== undefined) {
      track.advance()
      this.#saving = this.#saving.then(() => this.#parts.store.save(track.position))
      try {
        await this.#saving
      } catch (error) {
        const sentence = `the store did not keep the position: ${error instanceof Error ? error.message : String(error)}`
        this.finish(new FieldgateError('store_failed', sentence, { cause: error }))
        this.#parts.end()
        throw this.#error
      }
    }
    for (const { link, packetId } of entry.owed) link.acknowledge(packetId)
    this.#release()
  }

  /** Ends the stream, with an error where one is given. */
  finish(error?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#error = error
    this.#queue.length = 0
    for (const resolve of this.#released) resolve()
    this.#released.clear()
    this.#wake()
  }

  /** Call before each connection is opened. */
  async prepare(): Promise<void> {
    await this.#subscriptions.prepare()
  }

  /** Subscribes on a new connection. */
  async connected(link: Link): Promise<void> {
    this.#isSubscribing = true
    try {
      await this.#subscriptions.begin(link)
    } finally {
      this.#isSubscribing = false
    }
  }

  /** Looks for new applications, and subscribes to their events. */
  async refresh(link: Link): Promise<void> {
    await this.#subscriptions.refresh(link)
  }

  /** Takes a PUBLISH of the connection. A promise: nothing more is read until it resolves. */
  took(packet: IPublishPacket, link: Link): Promise<void> | undefined {
    const owed = packet.qos === 0 ? [] : [{ link, packetId: packet.messageId as number }]
    const drop = (): undefined => {
      for (const { packetId } of owed) link.acknowledge(packetId)
    }
    if (this.#isOver) return undefined
    if (packet.topic === MISSED) {
      drop()
      this.#missed(packet, link)
      return undefined
    }
    const topic = readTopic(packet.topic)
    const track = topic && this.#subscriptions.trackOf(topic.applicationId)
    if (topic === undefined || track === undefined || !isEventKind(topic.kind)) return drop()
    // An event that an earlier subscription brings: the replay of this connection brings it again,
    // in its order.
    if (!this.#subscriptions.isOfConnection(track, link, packet.properties?.subscriptionIdentifier)) return drop()
    const id = idOf(packet)
    const known = id === undefined ? 'new' : track.came(id)
    if (known === 'handled') return drop()
    if (known !== 'new') {
      known.owed.push(...owed)
      return undefined
    }
    track.noteQoS(packet.qos, topic.kind)
    const isWanted = this.#parts.choice.kinds?.has(topic.kind) ?? true
    const event = isWanted ? readEvent(topic, topic.kind, id, packet.payload as Uint8Array) : undefined
    return this.#enter({ track: id === undefined ? undefined : track, id, event, owed, isHandled: !isWanted }, drop)
  }

  #enter(entry: Entry, drop: () => undefined): Promise<void> | undefined {
    entry.track?.add(entry)
    if (entry.isHandled) {
      entry.track?.advance()
      return drop()
    }
    this.#outstanding += 1
    this.#queue.push(entry)
    this.#wake()
    // The window bounds the events of other QoS. The answers to SUBSCRIBE come behind events.
    const bound = this.#isSubscribing ? MAXIMUM_WHILE_SUBSCRIBING : this.#parts.prefetch * QOS_0_FACTOR
    if (entry.owed.length > 0 || this.#outstanding < bound) return undefined
    return new Promise<void>((resolve) => void this.#released.add(resolve))
  }

  #release(): void {
    if (this.#released.size === 0 || this.#outstanding >= this.#parts.prefetch) return
    for (const resolve of this.#released) resolve()
    this.#released.clear()
  }

  /** The service had to skip events of the Session: asks for those that are still stored. */
  #missed(packet: IPublishPacket, link: Link): void {
    const { missedAtMost } = objectOf(packet.payload as Uint8Array) ?? {}
    const atMost = typeof missedAtMost === 'number' ? missedAtMost : 0
    this.#parts.log({ level: 'warn', message: 'events.missed', atMost })
    this.#subscriptions.fill(link).then(
      // A replay that was under way already has begun with the oldest stored event.
      (isFilling) => {
        if (!isFilling) this.#parts.onMissed(atMost)
      },
      (error: unknown) => {
        this.#parts.log({ level: 'warn', message: 'replay.failed', reason: asFieldgateError(error).message })
        link.drop()
      },
    )
  }
}

/** The id of an event: the last User Property `event-id`. */
function idOf({ properties }: IPublishPacket): string | undefined {
  const given = properties?.userProperties?.['event-id']
  return Array.isArray(given) ? given.at(-1) : given
}
