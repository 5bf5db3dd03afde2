/**
 * A history in memory, for the tests of this folder: what is asked of it is noted, and it can be
 * endless, slow or broken.
 */
import type { EventPage, EventQuery, StoredEvent } from '../../lorawan/uplinks/event-history.ts'
import type { StoredEvents } from './reading-desk.ts'

/** Events whose ids are `7-<place in the list>`. */
export class TestEvents implements StoredEvents {
  readonly queries: EventQuery[] = []
  readonly stored: StoredEvent[] = []
  /** Pages given, and readings that have come to their end in any way. */
  pagesGiven = 0
  readingsEnded = 0
  pageSize = 3
  /** Runs before each page; its throw is the disk's. */
  beforePage: (pageIndex: number) => void = () => {}
  /** Gives the same page for ever. */
  isEndless = false

  add(event: Partial<StoredEvent> & Pick<StoredEvent, 'applicationId' | 'devEui'>): StoredEvent {
    const added: StoredEvent = {
      id: `7-${this.stored.length}`,
      timeMs: Date.UTC(2026, 0, 15, 12, 0, this.stored.length),
      kind: 'up',
      qos: 1,
      payload: Buffer.from('{"fCnt":1}'),
      ...event,
    }
    this.stored.push(added)
    return added
  }

  isOfApplication(_applicationId: string, id: string): boolean {
    return id.startsWith('7-')
  }

  async *pages(query: EventQuery): AsyncGenerator<EventPage, void, void> {
    this.queries.push(query)
    let left = this.#matching(query).slice(0, query.maximumEvents)
    const isCut = left.length < this.#matching(query).length
    try {
      for (let index = 0; ; index += 1) {
        this.beforePage(index)
        const events = left.slice(0, this.pageSize)
        if (!this.isEndless) left = left.slice(this.pageSize)
        const isLast = left.length === 0
        this.pagesGiven += 1
        yield { events, nextAfter: isLast && !isCut ? undefined : (events.at(-1)?.id ?? '7-0') }
        if (isLast) return
      }
    } finally {
      this.readingsEnded += 1
    }
  }

  #matching({ applicationId, devEui, kinds, reaches, fromMs, toMs, after, order }: EventQuery): StoredEvent[] {
    const found = this.stored.filter(
      (event) =>
        event.applicationId === applicationId &&
        (devEui === undefined || event.devEui === devEui) &&
        (kinds === undefined || kinds.has(event.kind)) &&
        (reaches === undefined || reaches(event.devEui)) &&
        event.timeMs >= fromMs &&
        event.timeMs < toMs,
    )
    const ordered = order === 'oldest' ? found : found.toReversed()
    return ordered.slice(after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1)
  }
}
