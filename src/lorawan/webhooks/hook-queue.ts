/**
 * The events of one webhook between the log and its receiver. Events of one device are delivered
 * one after the other; events of different devices go on beside each other.
 */
import { createHash } from 'node:crypto'
import type { Message } from '../../broker/ports/message.ts'
import type { SteadyMs } from '../../clock.ts'
import { later } from '../../clock.ts'
import type { WebhookBatch } from '../../webhook-settings.ts'
import type { Backoff } from '../network-servers/adapter/backoff.ts'
import type { AnyEventKind } from '../topics.ts'
import type { HookBranch } from './hook-branch.ts'

/** An event that its receiver does not have yet. */
export interface QueuedEvent {
  /** Knows its place in the log. Its payload must not be changed. */
  readonly message: Message
  readonly devEui: string
  readonly kind: AnyEventKind
  readonly branch: HookBranch
  readonly addedAtMs: SteadyMs
}

/** Events that one request carries, through all its tries. */
export interface Delivery {
  /** The same for each try: the event's id, or a text that follows from all ids of a batch. */
  readonly id: string
  readonly events: readonly QueuedEvent[]
  readonly backoff: Backoff
  tries: number
  /** How often the receiver said that it will not take exactly these events. */
  refusals: number
  /** The first failure; undefined: there was none yet. */
  failedSinceMs: SteadyMs | undefined
  /** The next try is not before this moment. */
  readyAtMs: SteadyMs
}

/** Bounds of one webhook's memory: an organization has a bounded number of webhooks. */
const MAXIMUM_EVENTS = 256
const MAXIMUM_BYTES = 262_144
/** About what an event takes beside its payload. */
const OVERHEAD_BYTES = 256

export class HookQueue {
  readonly #batch: WebhookBatch | undefined
  readonly #createBackoff: () => Backoff
  /** Events that are in no delivery, in the order of the log. */
  #waiting = new Set<QueuedEvent>()
  /** Events that a refused batch had: each is delivered alone. */
  readonly #alone = new Set<QueuedEvent>()
  /** Devices with an event in a delivery. */
  readonly #busy = new Set<string>()
  readonly #retrying = new Set<Delivery>()
  #events = 0
  #bytes = 0

  constructor(batch: WebhookBatch | undefined, createBackoff: () => Backoff) {
    this.#batch = batch
    this.#createBackoff = createBackoff
  }

  /** Events that the receiver does not have yet. */
  get size(): number {
    return this.#events
  }

  get bytes(): number {
    return this.#bytes
  }

  /** True: one more event may be added. An empty queue takes an event of any size. */
  get hasRoom(): boolean {
    const { maximumEvents = 0, maximumBytes = 0 } = this.#batch ?? {}
    const isWithin =
      this.#events < Math.max(MAXIMUM_EVENTS, 2 * maximumEvents) &&
      this.#bytes < Math.max(MAXIMUM_BYTES, 2 * maximumBytes)
    return isWithin || this.#events === 0
  }

  /** Events that there is room for, if each has `bytes` bytes; at least one. */
  roomFor(bytes: number): number {
    const { maximumEvents = 0, maximumBytes = 0 } = this.#batch ?? {}
    const events = Math.max(MAXIMUM_EVENTS, 2 * maximumEvents) - this.#events
    const free = Math.max(MAXIMUM_BYTES, 2 * maximumBytes) - this.#bytes
    return Math.max(1, Math.min(events, Math.floor(free / (bytes + OVERHEAD_BYTES))))
  }

  add(event: QueuedEvent): void {
    this.#waiting.add(event)
    this.#events += 1
    this.#bytes += bytesOf(event)
  }

  /** The events that are to be delivered now: first those that failed before. */
  take(now: SteadyMs): Delivery | undefined {
    for (const delivery of this.#retrying) {
      if (delivery.readyAtMs > now) continue
      this.#retrying.delete(delivery)
      return delivery
    }
    const events = this.#next(now)
    if (events.length === 0) return undefined
    for (const event of events) {
      this.#waiting.delete(event)
      this.#alone.delete(event)
      this.#busy.add(event.devEui)
    }
    const id = events.length === 1 ? (events[0] as QueuedEvent).message.id : idOfBatch(events)
    const backoff = this.#createBackoff()
    return { id, events, backoff, tries: 0, refusals: 0, failedSinceMs: undefined, readyAtMs: now }
  }

  /** When `take` may give more, if no event is added and none is done. Undefined: not at all. */
  readyAtMs(): SteadyMs | undefined {
    let earliest: SteadyMs | undefined
    const note = (atMs: SteadyMs): void => {
      if (earliest === undefined || atMs < earliest) earliest = atMs
    }
    for (const { readyAtMs } of this.#retrying) note(readyAtMs)
    if (this.#batch !== undefined) {
      const first = this.#free().next().value
      if (first !== undefined) note(later(first.addedAtMs, this.#batch.waitMs))
    }
    return earliest
  }

  /** The receiver has the events, or they are passed over. */
  done(delivery: Delivery): void {
    for (const event of delivery.events) {
      event.branch.done(event.message.offset)
      this.#busy.delete(event.devEui)
      this.#events -= 1
      this.#bytes -= bytesOf(event)
    }
  }

  /** The delivery is tried again from `readyAtMs` on. Its devices wait for it. */
  retry(delivery: Delivery, readyAtMs: SteadyMs): void {
    delivery.readyAtMs = readyAtMs
    this.#retrying.add(delivery)
  }

  /** Takes a batch apart: each event has a request of its own from here on. */
  split(delivery: Delivery): void {
    this.#waiting = new Set([...delivery.events, ...this.#waiting])
    for (const event of delivery.events) {
      this.#alone.add(event)
      this.#busy.delete(event.devEui)
    }
  }

  /** The receiver is back: deliveries that failed while it was away are tried at once. */
  hurry(now: SteadyMs): void {
    for (const delivery of this.#retrying) if (delivery.refusals === 0) delivery.readyAtMs = now
  }

  #next(now: SteadyMs): readonly QueuedEvent[] {
    const batch = this.#batch
    const events: QueuedEvent[] = []
    let bytes = 0
    for (const event of this.#free()) {
      if (batch === undefined || this.#alone.has(event)) return events.length === 0 ? [event] : events
      if (events.length > 0 && bytes + bytesOf(event) > batch.maximumBytes) return events
      events.push(event)
      bytes += bytesOf(event)
      if (events.length >= batch.maximumEvents) return events
    }
    const [first] = events
    if (batch === undefined || first === undefined) return []
    return now >= later(first.addedAtMs, batch.waitMs) ? events : []
  }

  /** Waiting events whose devices have no delivery. A batch may have several events of a device. */
  *#free(): Generator<QueuedEvent, undefined> {
    const passed = new Set<string>()
    for (const event of this.#waiting) {
      if (this.#busy.has(event.devEui) || passed.has(event.devEui)) continue
      // An event that goes alone holds up the later events of its device.
      if (this.#alone.has(event)) passed.add(event.devEui)
      yield event
    }
    return undefined
  }
}

/** Bytes that the event holds, about. */
function bytesOf({ message }: QueuedEvent): number {
  return message.payload.length + OVERHEAD_BYTES
}

function idOfBatch(events: readonly QueuedEvent[]): string {
  const ids = events.map(({ message }) => message.id).join(' ')
  return `batch-${createHash('sha256').update(ids).digest('hex').slice(0, 32)}`
}
