/** A Session as records, for another node: it goes on there exactly where it was. */
import type { Clock } from '../../clock.ts'
import { encodeInflight, encodeSession, encodeSubscription } from '../durable/session-record.ts'
import type { Completed } from '../durable/session-store.ts'
import { STATE_KEYS } from '../durable/state-keys.ts'
import type { StateEntry } from '../ports/engine.ts'
import type { Session } from '../sessions/session.ts'
import type { StateSource } from './restore-sessions.ts'

const NOTHING = Buffer.alloc(0)
/** The client answers a PUBREL that comes again, and gets nothing more of the message. */
const COMPLETED = { qos: 2, retain: false, subscriptionIdentifiers: undefined, group: undefined } as const

/**
 * The records of a Session without a connection. All of its cursors are in them, and the QoS 2
 * messages of both ways: also those that were brought to their end and that its cursors still meet.
 * A Session that ends with its connection has none.
 */
export function entriesOf(session: Session, clock: Clock, completed: readonly Completed[]): StateEntry[] {
  const { key } = session
  const entries: StateEntry[] = [{ key: STATE_KEYS.session(key), value: encodeSession(session, clock) }]
  for (const [topicFilter, subscription] of session.subscriptions) {
    entries.push({ key: STATE_KEYS.subscription(key, topicFilter), value: encodeSubscription(subscription) })
  }
  for (const entry of session.inflight.values()) {
    const { qos, partition, offset, awaiting } = entry
    if (qos !== 2 || offset < 0) continue
    entries.push({ key: STATE_KEYS.sent(key, partition, offset), value: encodeInflight(entry, awaiting) })
  }
  for (const { packetId, partition, offset, order } of completed) {
    const entry = { ...COMPLETED, packetId, partition, offset, order } as const
    entries.push({ key: STATE_KEYS.sent(key, partition, offset), value: encodeInflight(entry, 'pubrel') })
  }
  for (const { packetId } of session.received.values()) {
    entries.push({ key: STATE_KEYS.received(key, packetId), value: NOTHING })
  }
  return entries
}

/** Entries in memory as a source of records. */
export function sourceOf(entries: readonly StateEntry[]): StateSource {
  return {
    async *load(prefix) {
      for (const entry of entries) if (entry.key.startsWith(prefix)) yield entry
    },
  }
}

/** Bytes of records in one message between nodes. */
const PAGE_BYTES = 524_288

/** The entries in pages, each for one message between nodes; at least one page. */
export function pagesOf(entries: readonly StateEntry[]): readonly (readonly StateEntry[])[] {
  const pages: StateEntry[][] = [[]]
  let bytes = 0
  for (const entry of entries) {
    const size = entry.key.length + entry.value.length
    if (bytes > 0 && bytes + size > PAGE_BYTES) {
      pages.push([])
      bytes = 0
    }
    pages.at(-1)?.push(entry)
    bytes += size
  }
  return pages
}
