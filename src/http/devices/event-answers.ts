/** The answers that tell stored events, in parts of text. */
import type { EventPage, EventQuery } from '../../lorawan/uplinks/event-history.ts'
import { textOfEvents } from './event-text.ts'

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
export const PART_BYTES = 256 * 1024

/** Shares of work of the search for one kind of event, where only the newest event is asked for. */
const MAXIMUM_SEARCHES_OF_KIND = 64

/** The search for the newest event of a kind. */
export interface NewestSearch {
  readonly kind: NonNullable<EventQuery['kinds']> extends ReadonlySet<infer Kind> ? Kind : never
  /** Pages with one event at most, all in all. */
  readonly pages: AsyncIterable<EventPage>
}

/** One event a line. */
export async function* lines(pages: AsyncIterable<EventPage>): AsyncGenerator<Buffer, void, void> {
  for await (const { events } of pages) {
    for (const part of partsOf(events)) yield textOfEvents(part, { before: '', between: '\n', behind: '\n' })
  }
}

/** A list with the cursor of the next page. */
export async function* list(pages: AsyncIterable<EventPage>): AsyncGenerator<Buffer, void, void> {
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

/** The newest event of each kind, and the kinds whose search ended before it was through. */
export async function* newest(searches: Iterable<NewestSearch>): AsyncGenerator<Buffer, void, void> {
  let before = '{"result":['
  const notFoundYet: string[] = []
  for (const { kind, pages } of searches) {
    let left = MAXIMUM_SEARCHES_OF_KIND
    for await (const { events, nextAfter } of pages) {
      if (events.length > 0) {
        yield textOfEvents(events, { before, between: ',', behind: '' })
        before = ','
        break
      }
      left -= 1
      if (left > 0) continue
      if (nextAfter !== undefined) notFoundYet.push(kind)
      break
    }
  }
  yield Buffer.from(`${before === ',' ? '' : before}],"notFoundYet":${JSON.stringify(notFoundYet)}}`)
}
