/**
 * The stored events of an application or a device, page by page. Who may read them is the caller's
 * to know.
 */
import type { History } from '../../broker/delivery/history.ts'
import type { QoS } from '../../mqtt/packet.ts'
import { applicationPrefix, devicePrefix, EVENT_KINDS, parseTopic } from '../topics.ts'
import type { PublishedEventKind } from '../topics.ts'

/** Every kind of event that the log can hold. */
export const STORED_EVENT_KINDS: readonly PublishedEventKind[] = [...EVENT_KINDS, 'log', 'integration']

/** One event, as it was published. */
export interface StoredEvent {
  /** The same for as long as it is stored, and the `event-id` of its MQTT 5 readers. */
  readonly id: string
  /** When the log took it, ms since 1970. */
  readonly timeMs: number
  readonly applicationId: string
  readonly devEui: string
  readonly kind: PublishedEventKind
  /** That of its publisher. */
  readonly qos: QoS
  /** Not copied, and not to be changed: usually JSON in UTF-8. */
  readonly payload: Buffer
}

/** Whose events, and which. */
export interface EventQuery {
  readonly applicationId: string
  /** Of one device alone. */
  readonly devEui: string | undefined
  /** Undefined: all. */
  readonly kinds: ReadonlySet<PublishedEventKind> | undefined
  /**
   * ms since 1970, inclusive: never before the application became what it is, for an earlier one
   * may have had the same id.
   */
  readonly fromMs: number
  /** ms since 1970, exclusive; Infinity: all that is stored at present. */
  readonly toMs: number
  /** The id of an event of the application, or a page's `nextAfter`: goes on behind it. */
  readonly after: string | undefined
  readonly order: 'oldest' | 'newest'
  readonly maximumEvents: number
}

export interface EventPage {
  readonly events: readonly StoredEvent[]
  /** `after` of a query that goes on here; undefined when there is nothing behind. */
  readonly nextAfter: string | undefined
}

/** Messages of the first page read, whose sizes nobody knows yet. */
const FIRST_PAGE_MESSAGES = 16
const MAXIMUM_PAGE_MESSAGES = 512
/**
 * Bytes of payloads that a page aims at: a reader holds about this much, and its next turn comes
 * about a millisecond later.
 */
const PAGE_BYTES = 262_144

export class EventHistory {
  readonly #history: History

  constructor(history: History) {
    this.#history = history
  }

  /** True when an id can be one of the application's. */
  isOfApplication(applicationId: string, id: string): boolean {
    return this.#history.offsetOf(applicationPrefix(applicationId), id) !== undefined
  }

  /**
   * The events, in pages of some 256 KiB; a page may be empty, and the last one says so. What is
   * stored after the call is not read, so that a reader slower than the publishers comes to an end.
   * Throws when the disk fails.
   */
  async *pages(query: EventQuery): AsyncGenerator<EventPage, void, void> {
    const { applicationId, devEui, fromMs, toMs, order, after } = query
    const topicPrefix = devEui === undefined ? applicationPrefix(applicationId) : devicePrefix(applicationId, devEui)
    const end = this.#history.tail(topicPrefix)
    let afterOffset = after === undefined ? undefined : this.#history.offsetOf(topicPrefix, after)
    let left = query.maximumEvents
    let pageMessages = FIRST_PAGE_MESSAGES
    for (;;) {
      const { messages, nextAfterOffset } = await this.#history.page({
        topicPrefix,
        accepts: (topicName) => isWanted(topicName, query),
        fromMs,
        toMs,
        afterOffset,
        direction: order === 'oldest' ? 'oldest first' : 'newest first',
        maximumMessages: Math.min(left, pageMessages),
      })
      const events: StoredEvent[] = []
      let bytes = 0
      for (const { id, offset, ownedAtMs, topicName, qos, payload } of messages) {
        const topic = parseTopic(topicName)
        if (offset >= end || topic?.kind !== 'event') continue
        const { devEui: ofDevice, eventKind: kind } = topic
        events.push({ id, timeMs: ownedAtMs, applicationId, devEui: ofDevice, kind, qos, payload })
        bytes += payload.length
      }
      left -= events.length
      const isLast = nextAfterOffset === undefined || (order === 'oldest' && nextAfterOffset >= end - 1)
      yield { events, nextAfter: isLast ? undefined : this.#history.idOf(topicPrefix, nextAfterOffset) }
      if (isLast || left === 0) return
      afterOffset = nextAfterOffset
      if (events.length > 0) pageMessages = messagesOfNextPage(bytes / events.length)
    }
  }
}

function messagesOfNextPage(meanBytes: number): number {
  return Math.max(1, Math.min(MAXIMUM_PAGE_MESSAGES, Math.floor(PAGE_BYTES / Math.max(meanBytes, 1))))
}

function isWanted(topicName: string, { kinds }: EventQuery): boolean {
  const topic = parseTopic(topicName)
  return topic?.kind === 'event' && (kinds === undefined || kinds.has(topic.eventKind))
}
