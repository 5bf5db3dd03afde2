/**
 * The bound on the messages that wait for one Session. Waiting messages are not copied into a
 * queue: they are counted in the log, and only when there may be too many.
 */
import type { Engine } from '../ports/engine.ts'
import type { Limits } from '../ports/limits.ts'
import type { Cursor, LogPlaces } from '../sessions/log-places.ts'
import type { Message } from '../ports/message.ts'
import type { Reader } from '../sessions/reader.ts'

const RECORDS_PER_READ = 1_024
/**
 * Reads of the log for one count. A person waits for it, and a Session that was away for a week has
 * millions of records to go through.
 */
const MAXIMUM_READS_OF_A_COUNT = 32

export interface QueueBoundParts {
  readonly engine: Engine
  /** By partition: the offset after the last message that was routed. */
  readonly tails: readonly number[]
  readonly readers: LogPlaces
  readonly limits: Limits
}

/** The number of messages that were passed over, and the messages and bytes that still wait. */
export interface Shed {
  readonly lost: number
  readonly messages: number
  readonly bytes: number
}

/**
 * Moves the reader's cursors past the oldest of its waiting messages until the rest is within the
 * bounds. It goes partition by partition, since no order holds between partitions. The caller sees
 * to it that nothing else reads for the reader meanwhile.
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

/** The messages that wait for a reader. */
export interface CountedWaiting {
  readonly messages: number
  /** False: more may wait, for the count ended at its bound. */
  readonly isAll: boolean
}

/** Counts the messages of the log that wait for the reader, within a bound of reads. */
export async function countWaiting(reader: Reader, engine: Engine, tails: readonly number[]): Promise<CountedWaiting> {
  let messages = 0
  const count = (): boolean => {
    messages += 1
    return true
  }
  const isAll = await forEachWaiting(reader, engine, tails, count, MAXIMUM_READS_OF_A_COUNT)
  return { messages, isAll }
}

/**
 * Visits the messages that wait for the reader, partition by partition, each in order, until
 * `visit` is false. Resolves to true when all were visited.
 */
async function forEachWaiting(
  reader: Reader,
  engine: Engine,
  tails: readonly number[],
  visit: (message: Message, cursor: Cursor, offset: number) => boolean,
  maximumReads = Infinity,
): Promise<boolean> {
  let reads = 0
  for (const [partition, cursor] of reader.behind) {
    const tail = tails[partition] as number
    for (let from = cursor.offset; from < tail;) {
      if (reads >= maximumReads) return false
      reads += 1
      const result = await engine.read(partition, from, RECORDS_PER_READ)
      // The reader has ended, or has caught up in another way.
      if (reader.behind.get(partition) !== cursor) return false
      for (let index = 0; index < result.messages.length; index += 1) {
        const message = result.messages[index] as Message
        if (reader.queues(message.topicName) && !visit(message, cursor, result.offsets[index] as number)) return false
      }
      from = result.next
    }
  }
  return true
}
