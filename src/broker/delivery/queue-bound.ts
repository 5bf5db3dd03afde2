/**
 * The bound on what waits for one Session. Waiting messages are not copied into a queue, so they
 * are counted where they are: in the log, and only when there may be too many of them.
 */
import type { Engine } from '../ports/engine.ts'
import type { Limits } from '../ports/limits.ts'
import type { Cursor, LogPlaces } from '../sessions/log-places.ts'
import type { Message } from '../ports/message.ts'
import type { Reader } from '../sessions/reader.ts'

const RECORDS_PER_READ = 1_024

export interface QueueBoundParts {
  readonly engine: Engine
  /** By partition: the offset after the last message that was routed. */
  readonly tails: readonly number[]
  readonly readers: LogPlaces
  readonly limits: Limits
}

/** What was passed over, and what still waits. */
export interface Shed {
  readonly lost: number
  readonly messages: number
  readonly bytes: number
}

/**
 * Moves the Session's cursors past the oldest of its waiting messages until the rest is within the
 * bounds: partition after partition, since no order holds between them. The caller keeps everybody
 * else from reading for the Session meanwhile.
 */
export async function shedOldest(reader: Reader, { engine, tails, readers, limits }: QueueBoundParts): Promise<Shed> {
  let messages = 0
  let bytes = 0
  await forEachWaiting(reader, engine, tails, (message) => {
    messages += 1
    bytes += message.sizeBytes
    return true
  })
  let lost = 0
  await forEachWaiting(reader, engine, tails, (message, cursor, offset) => {
    if (messages <= limits.maximumQueuedMessages && bytes <= limits.maximumQueuedBytes) return false
    messages -= 1
    bytes -= message.sizeBytes
    lost += 1
    readers.move(cursor, offset + 1)
    return true
  })
  return { lost, messages, bytes }
}

/**
 * Visits what waits for the Session, partition by partition, each in order, until `visit` has
 * enough.
 */
async function forEachWaiting(
  reader: Reader,
  engine: Engine,
  tails: readonly number[],
  visit: (message: Message, cursor: Cursor, offset: number) => boolean,
): Promise<void> {
  for (const [partition, cursor] of reader.behind) {
    const tail = tails[partition] as number
    for (let from = cursor.offset; from < tail;) {
      const result = await engine.read(partition, from, RECORDS_PER_READ)
      // The Session has ended, or caught up by another way.
      if (reader.behind.get(partition) !== cursor) return
      for (let index = 0; index < result.messages.length; index += 1) {
        const message = result.messages[index] as Message
        if (reader.queues(message.topicName) && !visit(message, cursor, result.offsets[index] as number)) return
      }
      from = result.next
    }
  }
}
