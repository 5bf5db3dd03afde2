/** The memory of one tenant: of all the things that have bounds together. */
import type { OrganizationBounds } from '../../organization-bounds.ts'

/** The things of a tenant that are counted one by one. */
type Held = Pick<
  OrganizationBounds,
  'sessions' | 'subscriptions' | 'topicFilterBytes' | 'retainedMessages' | 'retainedBytes'
>

/** Bytes of a Session beside its subscriptions: the object, its record, its places in maps. */
const SESSION_BYTES = 3_000
/** Bytes of a subscription beside its Topic Filter: objects, its record, its places in maps. */
const SUBSCRIPTION_BYTES = 1_600
/** The Topic Filter, its levels in the index, the key of its record, and their rounding. */
const TOPIC_FILTER_COPIES = 4
/** Bytes of a retained message that its bound does not count: its record, its place by topic. */
const RETAINED_MESSAGE_BYTES = 2_300

/**
 * The bytes of memory that a tenant holds, about. `connectionBytes` are the bytes that its account
 * counts.
 */
export function memoryOf(held: Held, connectionBytes: number): number {
  return (
    held.sessions * SESSION_BYTES +
    held.subscriptions * SUBSCRIPTION_BYTES +
    held.topicFilterBytes * TOPIC_FILTER_COPIES +
    held.retainedMessages * RETAINED_MESSAGE_BYTES +
    held.retainedBytes +
    connectionBytes
  )
}
