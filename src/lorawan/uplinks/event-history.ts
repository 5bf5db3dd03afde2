/**
 * The stored events of an application or a device, page by page. The caller checks who may read
 * them.
 */
import type { History } from '../../broker/delivery/history.ts'
import type { QoS } from '../../mqtt/packet.ts'
import { applicationPrefix, devicePrefix, EVENT_KINDS, parseTopic } from '../topics.ts'
import type { AnyEventKind } from '../topics.ts'

/** Every kind of event that the log can hold. */
export const STORED_EVENT_KINDS: readonly AnyEventKind[] = [...EVENT_KINDS, 'log', 'integration', 'state']

/** One event, as it was published. */
export interface StoredEvent {
  /** The event's id for as long as it is stored. MQTT 5 readers get the same id as `event-id`. */
  readonly id: string
  /** When the log took it, ms since 1970. */
  readonly timeMs: number
  readonly applicationId: string
  readonly devEui: string
  readonly kind: AnyEventKind
  /** The QoS of its publisher. */
  readonly qos: QoS
  /** The stored bytes, which must not be changed; usually JSON in UTF-8. */
  readonly payload: Buffer
}

/** The application or the device whose events are asked for, and the range. */
export interface EventQuery {
  readonly applicationId: string
  /** Only events of this device. Undefined: of all devices. */
  readonly devEui: string | undefined
  /** Only events of these kinds. Undefined: of all kinds. */
  readonly kinds: ReadonlySet<AnyEventKind> | undefined
  /** Only events of devices that it says true to. Undefined: of all devices. */
  readonly reaches?: ((devEui: string) => boolean) | undefined
  /**
   * ms since 1970, inclusive. Never before the application was made, because an earlier application
   * may have had the same id.
   */
  readonly fromMs: number
  /** ms since 1970, exclusive. Infinity: everything that is stored at present. */
  readonly toMs: number
  /**
   * The id of an event of the application, or a page's `nextAfter`. The query goes on behind it.
   */
  readonly after: string | undefined
  readonly order: 'oldest' | 'newest'
  readonly maximumEvents: number
}

export interface EventPage {
  readonly events: readonly StoredEvent[]
  /** The `after` of a query that goes on behind this page; undefined when nothing is behind it. */
  readonly nextAfter: string | undefined
}

/** Messages of the first page that is read, before the sizes of messages are known. */
const FIRST_PAGE_MESSAGES = 16
const MAXIMUM_PAGE_MESSAGES = 512
/**
 * Bytes of payloads that a page aims at. A reader holds about this much memory, and its next turn
 * comes about a millisecond later.
 */
const PAGE_BYTES = 262_144

export class EventHistory {
  readonly #history: History

  constructor(history: History) {
    this.#history = history
  }

  /** True when the id can be an id of an event of the application. */
  isOfApplication(applicationId: string, id: string): boolean {
    return this.#history.offsetOf(applicationPrefix(applicationId), id) !== undefined
  }

  /**
   * The events, in pages of some 256 KiB. A page may be empty, and the last page says that it is
   * the last. Events that are stored after the call are not read, so that a reader that is slower
   * than the publishers comes to an end. Throws when the disk fails.
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

function isWanted(topicName: string, { kinds, reaches }: EventQuery): boolean {
  const topic = parseTopic(topicName)
  if (topic?.kind !== 'event' || kinds?.has(topic.eventKind) === false) return false
  return reaches === undefined || reaches(topic.devEui)
}
