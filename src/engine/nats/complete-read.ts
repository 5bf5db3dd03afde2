/** Reads a span of a stream completely, though the server that answers may be behind the leader. */
import type { Clock } from '../../clock.ts'
import type { NatsLink, StoredEnvelope } from './nats-link.ts'

const MESSAGES_PER_READ = 512
const AGAIN_MS = 100
/** How long servers may be behind without a message more, ms. */
const BEHIND_MS = 60_000

/** The messages of a span. */
export interface Span {
  readonly stream: string
  /** The subject of the messages, with wildcards or without; undefined: all. */
  readonly subject?: string
  readonly from: number
  /**
   * The sequence of a message on the subject that the stream has, or had: what comes behind it is
   * not read. A server that has it, or a later one, has everything before it.
   */
  readonly upTo: number
}

/** Throws a sentence when no server has the end of the span within 60 s. */
export async function* completeRead(
  link: NatsLink,
  clock: Clock,
  { stream, subject, from, upTo }: Span,
): AsyncGenerator<StoredEnvelope> {
  let sinceMs = clock.steady()
  for (let next = from; next <= upTo;) {
    const found = await link.read(stream, next, MESSAGES_PER_READ, subject).catch(() => [])
    for (const message of found) if (message.sequence <= upTo) yield message
    const last = found.at(-1)
    if (last !== undefined) {
      next = last.sequence + 1
      sinceMs = clock.steady()
      continue
    }
    if (clock.steady() - sinceMs >= BEHIND_MS) {
      throw new Error(`No server of NATS has the stream ${stream} up to its message ${upTo}.`)
    }
    await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve))
  }
}
