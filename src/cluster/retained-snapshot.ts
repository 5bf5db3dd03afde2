/** The snapshot of the retained messages of a deployment, in a stream of NATS. */
import { randomBytes } from 'node:crypto'
import type { RetainedContent, RetainedEntry, RetainedSnapshot } from '../broker/ports/retained-snapshot.ts'
import type { Clock } from '../clock.ts'
import type { NatsLink } from '../engine/nats/nats-link.ts'
import { prepareSpaces } from '../engine/nats/nats-streams.ts'
import { StateStream } from '../engine/nats/state-stream.ts'
import type { SavedEntry, StoredState } from '../engine/nats/state-stream.ts'

/** How long a removal is kept: longer than a node takes to start, s. */
const REMOVED_SECONDS = 3_600
const PLACE_BYTES = 12

export interface RetainedSnapshotOptions {
  /** The owner closes its connection. */
  readonly link: NatsLink
  readonly clock: Clock
  /** Begins the name of the stream. */
  readonly prefix: string
  readonly replicas: number
}

export class NatsRetainedSnapshot implements RetainedSnapshot {
  readonly #options: RetainedSnapshotOptions
  /** Has the lock. */
  #writer: StateStream | undefined
  #isClosed = false

  private constructor(options: RetainedSnapshotOptions) {
    this.#options = options
  }

  /** Makes the stream if it is missing. Throws the servers' refusals. */
  static async open(options: RetainedSnapshotOptions): Promise<NatsRetainedSnapshot> {
    await prepareSpaces(options.link, `${options.prefix}-retained`, options.replicas)
    return new NatsRetainedSnapshot(options)
  }

  async load(): Promise<RetainedContent> {
    return contentOf(await this.#stream().readUnlocked())
  }

  async lock(): Promise<RetainedContent> {
    this.#writer?.close()
    const writer = this.#stream()
    await writer.lock()
    const content = contentOf(await writer.read())
    if (!this.#isClosed) this.#writer = writer
    return content
  }

  async write(entries: readonly RetainedEntry[], mark: readonly number[]): Promise<boolean> {
    return (await this.#writer?.write(entries.map(savedEntry), { number: 0, sequences: mark })) ?? false
  }

  close(): void {
    this.#isClosed = true
    this.#writer?.close()
    this.#writer = undefined
  }

  /** With a name of its own for each lock, for a lock is taken once by each name. */
  #stream(): StateStream {
    const { link, clock, prefix } = this.#options
    const stream = `${prefix}-retained`
    return new StateStream({
      link,
      clock,
      stream,
      subject: `${stream}.all`,
      incarnation: randomBytes(8).toString('hex'),
    })
  }
}

/** int32 partition, float64 offset, both little-endian; then the record, unless it was removed. */
function savedEntry({ topicName, partition, offset, record }: RetainedEntry): SavedEntry {
  const place = Buffer.allocUnsafe(PLACE_BYTES)
  place.writeInt32LE(partition)
  place.writeDoubleLE(offset, 4)
  if (record === undefined) return { key: topicName, value: place, ttlSeconds: REMOVED_SECONDS }
  return { key: topicName, value: Buffer.concat([place, record]) }
}

function contentOf({ values, mark }: StoredState): RetainedContent {
  return { entries: entriesOf(values), mark: mark?.sequences }
}

function* entriesOf(values: ReadonlyMap<string, Buffer>): Generator<RetainedEntry> {
  for (const [topicName, value] of values) {
    const record = value.length === PLACE_BYTES ? undefined : value.subarray(PLACE_BYTES)
    yield { topicName, partition: value.readInt32LE(0), offset: value.readDoubleLE(4), record }
  }
}
