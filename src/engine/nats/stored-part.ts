/** The part of the partitions that retention has left, by what the servers told last. */
import type { EngineUsage } from '../../broker/ports/engine.ts'
import type { LogClock } from './log-clock.ts'
import type { NatsLink } from './nats-link.ts'
import type { PartitionLog, ReadEnvelope } from './partition-log.ts'
import type { StreamReader } from './stream-reader.ts'

/** The stored part of one partition, with what arrived since the last look. */
interface Stored {
  bytes: number
  messages: number
  oldestAtMs: number | undefined
}

export interface StoredPartOptions {
  readonly link: NatsLink
  readonly reader: StreamReader
  /** By partition. */
  readonly logs: readonly PartitionLog[]
  readonly streams: readonly string[]
  readonly logClock: Pick<LogClock, 'told'>
}

export class StoredPart {
  readonly #options: StoredPartOptions
  readonly #stored: readonly Stored[]

  constructor(options: StoredPartOptions) {
    this.#options = options
    this.#stored = options.streams.map(() => ({ bytes: 0, messages: 0, oldestAtMs: undefined }))
  }

  /** An envelope has arrived. */
  add(partition: number, { bytes, messages, ownedAtMs }: ReadEnvelope): void {
    const stored = this.#stored[partition]
    if (stored === undefined) return
    stored.bytes += bytes
    stored.messages += messages.length
    if (messages.length > 0) stored.oldestAtMs ??= ownedAtMs
  }

  usage(): EngineUsage {
    let [messages, bytes] = [0, 0]
    let oldestAtMs: number | undefined
    for (const stored of this.#stored) {
      messages += stored.messages
      bytes += stored.bytes
      if (stored.messages > 0) oldestAtMs = Math.min(stored.oldestAtMs ?? Infinity, oldestAtMs ?? Infinity)
    }
    return { messages, bytes, oldestAtMs }
  }

  /** Learns from the servers what retention has removed. Rejects when they do not answer. */
  async look(): Promise<void> {
    const { link, reader, logs, streams, logClock } = this.#options
    for (const [partition, stored] of this.#stored.entries()) {
      const log = logs[partition] as PartitionLog
      const before = stored.bytes
      const info = await link.manager.streams.info(streams[partition] as string)
      const { state } = info
      // The library's type lacks the time of the answer, which all supported servers send.
      if ('ts' in info && typeof info.ts === 'string') logClock.told(Date.parse(info.ts))
      log.forgetBefore(state.first_seq)
      stored.bytes = state.bytes + stored.bytes - before
      stored.messages = Math.min(log.total, await reader.messagesFrom(partition, state.first_seq))
      stored.oldestAtMs =
        stored.messages === 0 ? undefined : Math.max(stored.oldestAtMs ?? 0, Date.parse(state.first_ts))
    }
  }
}
