/**
 * The fate of each process of a node. Its record says whether it lives or has ended in order,
 * and who its heir is. An heir goes through three stages: it is named, it has copied the state into
 * its own, and the two are merged: from then on the heir is found in the place of the dead one.
 *
 * A node follows all records, since they are few: one for each start of a process. A merged record
 * never changes again. For any other one the leader of the stream is asked where it matters.
 */
import type { Clock } from '../clock.ts'
import { later } from '../clock.ts'
import type { NatsLink } from '../engine/nats/nats-link.ts'
import type { NodeId } from '../nodes.ts'
import type { RecordStream } from './record-stream.ts'

const RECORDS_PER_READ = 256
const TIMEOUT_MS = 5_000
const POLL_MS = 200
/** Looks for a record that a server may not have yet. */
const LOOKS = 20

/** The record of a process, as JSON. Heirs are incarnations. */
export interface NodeRecord {
  readonly name: string
  readonly state: 'living' | 'left'
  readonly heir?: string
  /** When it ended in order, or its first heir was named, ms since 1970. */
  readonly endedAtMs?: number
  readonly stage?: 'named' | 'copied' | 'merged'
  /**
   * A sequence of the claims: the heir read the claims after it. A claim of this process that was
   * stored behind it came too late, and does not count. Absent at a named process: not known yet.
   */
  readonly fence?: number
}

export interface KnownRecord {
  readonly incarnation: string
  readonly record: NodeRecord
  readonly sequence: number
}

/** A process at the end of a chain of heirs. */
export interface ChainEnd {
  readonly incarnation: string
  /** How many heirs the chain has. */
  readonly heirs: number
}

export interface NodeRecordsOptions {
  readonly records: RecordStream
  readonly link: NatsLink
  readonly clock: Clock
  /** A heartbeat of the process was heard of late. */
  readonly isHeard: (incarnation: string) => boolean
  /** A record is new, or has changed. */
  readonly changed: (known: KnownRecord) => void
  /** This node has stored a change: the others are to look. */
  readonly stored: (sequence: number) => void
}

export class NodeRecords {
  readonly #options: NodeRecordsOptions
  readonly #known = new Map<string, KnownRecord>()
  /** By incarnation: one poll of its record for all who wait. */
  readonly #polls = new Map<string, Promise<void>>()
  #sequence = 0
  #looking: Promise<void> | undefined

  constructor(options: NodeRecordsOptions) {
    this.#options = options
  }

  get(incarnation: string): KnownRecord | undefined {
    return this.#known.get(incarnation)
  }

  /** All records, also those of earlier processes of living nodes. */
  all(): Iterable<KnownRecord> {
    return this.#known.values()
  }

  /** The records that are not merged. */
  unmerged(): readonly KnownRecord[] {
    return [...this.#known.values()].filter(({ record }) => record.stage !== 'merged')
  }

  /** Reads what is new. A server that is behind may not have all. Never rejects. */
  async look(): Promise<void> {
    this.#looking ??= this.#read().finally(() => {
      this.#looking = undefined
    })
    await this.#looking
  }

  /** Reads until a change with this sequence is there; gives up after 4 s. */
  async lookUntil(sequence: number): Promise<void> {
    for (let looks = 0; looks < LOOKS && this.#sequence < sequence; looks += 1) {
      if (looks > 0) await this.#wait()
      await this.look()
    }
  }

  /** Asks the leader for a process’s record. Rejects with RecordsUnreachableError. */
  async read(incarnation: string, timeoutMs = TIMEOUT_MS): Promise<KnownRecord | undefined> {
    const { sequence, bytes } = await this.#options.records.read(`inc.${incarnation}`, timeoutMs)
    if (bytes === undefined) return undefined
    this.#take(incarnation, bytes, sequence)
    return this.#known.get(incarnation)
  }

  /** Changes a record that is still at the sequence. False: it is not. Rejects without answers. */
  async change(incarnation: string, record: NodeRecord, sequence: number): Promise<boolean> {
    const { records, stored } = this.#options
    const bytes = Buffer.from(JSON.stringify(record))
    const changed = await records.change(`inc.${incarnation}`, bytes, sequence, { timeoutMs: TIMEOUT_MS })
    if (changed === undefined) return false
    this.#take(incarnation, bytes, changed)
    stored(changed)
    return true
  }

  /** The last process that took the name, by the leader. */
  async readName(name: string): Promise<{ readonly incarnation: string | undefined; readonly sequence: number }> {
    const { sequence, bytes } = await this.#options.records.read(`name.${name}`, TIMEOUT_MS)
    return { incarnation: bytes?.toString(), sequence }
  }

  /** False: another process has taken the name since. */
  async changeName(name: string, incarnation: string, sequence: number): Promise<boolean> {
    const bytes = Buffer.from(incarnation)
    const changed = await this.#options.records.change(`name.${name}`, bytes, sequence, { timeoutMs: TIMEOUT_MS })
    return changed !== undefined
  }

  /** The process in whose state the state of this one is, as the leader says. */
  async readHolder(incarnation: string): Promise<string> {
    for (let at = incarnation; ;) {
      const known = await this.read(at)
      if (known?.record.heir === undefined || known.record.stage === 'named') return at
      at = known.record.heir
    }
  }

  /** The process in whose state the state of this one is, as far as it is known here. */
  holderOf(incarnation: string): string {
    return this.#follow(incarnation, ({ stage }) => stage === 'copied' || stage === 'merged').incarnation
  }

  /** The process that is found in the place of this one. */
  mergedInto(incarnation: string): ChainEnd {
    return this.#follow(incarnation, ({ stage }) => stage === 'merged')
  }

  /**
   * The living process that is found in the place of this one. Waits while there is none. Rejects
   * after the time (ms).
   */
  async resolve(incarnation: string, timeoutMs: number): Promise<{ readonly node: NodeId; readonly heirs: number }> {
    const { clock, isHeard } = this.#options
    const deadline = later(clock.steady(), timeoutMs)
    for (;;) {
      const end = this.mergedInto(incarnation)
      const known = this.#known.get(end.incarnation)
      if (known !== undefined && isHeard(end.incarnation) && isAtHome(known.record)) {
        return { node: { name: known.record.name, incarnation: end.incarnation }, heirs: end.heirs }
      }
      if (clock.steady() >= deadline) {
        throw new Error(`the node “${known?.record.name ?? incarnation}” is dead, and has no heir yet`)
      }
      await this.#poll(end.incarnation)
    }
  }

  #follow(incarnation: string, isFollowed: (record: NodeRecord) => boolean): ChainEnd {
    let [at, heirs] = [incarnation, 0]
    for (;;) {
      const record = this.#known.get(at)?.record
      if (record?.heir === undefined || !isFollowed(record)) return { incarnation: at, heirs }
      at = record.heir
      heirs += 1
    }
  }

  async #poll(incarnation: string): Promise<void> {
    let poll = this.#polls.get(incarnation)
    if (poll === undefined) {
      poll = this.#wait()
        .then(() => this.read(incarnation, 1_000))
        .then(
          () => {},
          () => {},
        )
        .finally(() => this.#polls.delete(incarnation))
      this.#polls.set(incarnation, poll)
    }
    await poll
  }

  async #read(): Promise<void> {
    const { link, records } = this.#options
    const start = `${records.name}.inc.`
    for (;;) {
      const found = await link.read(records.name, this.#sequence + 1, RECORDS_PER_READ).catch(() => [])
      for (const { sequence, subject, bytes } of found) {
        if (subject.startsWith(start)) this.#take(subject.slice(start.length), bytes, sequence)
        this.#sequence = Math.max(this.#sequence, sequence)
      }
      if (found.length < RECORDS_PER_READ) return
    }
  }

  #take(incarnation: string, bytes: Buffer, sequence: number): void {
    const before = this.#known.get(incarnation)
    if (before !== undefined && before.sequence >= sequence) return
    const known = { incarnation, record: JSON.parse(bytes.toString()) as NodeRecord, sequence }
    this.#known.set(incarnation, known)
    this.#options.changed(known)
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.after(POLL_MS, resolve))
  }
}

/** False for a process that is dead, or that another one takes the place of. */
export function isAtHome({ state, heir }: NodeRecord): boolean {
  return state === 'living' && heir === undefined
}
