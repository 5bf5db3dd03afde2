/**
 * The state: every key with its value in memory; the writers' own limits bound it. A key changes
 * when the log has committed the change. From time to time the state is written to a snapshot, so
 * that the log need not be kept for it.
 *
 * A snapshot is a file of records: changes, and an end with the number of entries and the tails of
 * the log. Its name says from which place in the log to go on. The state changes while the snapshot
 * is written, so some entries are younger than that place. This does no harm: the changes in the
 * log from that place on, applied in order, give the same state in the end, for each change
 * replaces the whole value.
 *
 * The snapshot before the newest is kept as well: if the newest is damaged, the older one and the
 * log from its place on give the same state.
 */
import type { StateChange, StateEntry } from '../../broker/ports/engine.ts'
import type { Disk, DiskFile } from '../ports/disk.ts'
import {
  KIND_CHANGES,
  KIND_END,
  changesOfRecord,
  changesRecordBound,
  endRecordBytes,
  kindOf,
  readEndRecord,
  writeChangesRecord,
  writeEndRecord,
} from '../segments/record.ts'
import type { LogFormat } from '../segments/log-directory.ts'
import type { SnapshotEnd } from '../segments/record.ts'
import { isRecordAt, scanRecords } from '../segments/scan-records.ts'
import type { Stretch } from '../segments/scan-records.ts'

/** A place in the log. The snapshot holds everything that was committed before it. */
export interface LogPosition {
  readonly segment: number
  readonly position: number
}

/** The file of a snapshot. */
export interface Snapshot {
  readonly name: string
  readonly at: LogPosition
}

/** Bytes written at a time. */
const PIECE_BYTES = 1_048_576
/** Bytes of entries in one record. */
const RECORD_BYTES = 65_536
const NAME = /^(\d{20})-(\d{12})\.snapshot$/

/** The result of reading a snapshot. */
export interface SnapshotReading {
  /** True: all of it was read. */
  readonly isWhole: boolean
  readonly entries: number
  /** Undefined: the end is damaged, so nobody knows how many entries there were. */
  readonly end: SnapshotEnd | undefined
  /** The damaged bytes of the file. */
  readonly stretches: readonly Stretch[]
}

/**
 * A value in memory. Small values are strings with a character for each byte: a small Buffer is a
 * slice of a slab of 8 KiB, and one value that stays keeps the slab with all its dead neighbours.
 */
type Kept = Buffer | string

/** Values from this size on have memory of their own. */
const LARGE_BYTES = 2_048

export class StateStore {
  readonly #state = new Map<string, Kept>()
  #bytes = 0

  get size(): number {
    return this.#state.size
  }

  /** Bytes of keys and values, approximately. */
  get bytes(): number {
    return this.#bytes
  }

  apply(changes: readonly StateChange[]): void {
    for (const { key, value } of changes) {
      const before = this.#state.get(key)
      if (before !== undefined) this.#bytes -= key.length + before.length
      if (value === undefined) this.#state.delete(key)
      else {
        this.#state.set(key, kept(value))
        this.#bytes += key.length + value.length
      }
    }
  }

  /** The entries that exist when this is called, by key. */
  *load(prefix: string): Generator<StateEntry> {
    const keys = [...this.#state.keys()].filter((key) => key.startsWith(prefix)).toSorted()
    for (const key of keys) {
      const value = this.#state.get(key)
      if (value !== undefined) yield { key, value: bytesOf(value) }
    }
  }

  /** Forgets everything. */
  clear(): void {
    this.#state.clear()
    this.#bytes = 0
  }

  /**
   * Writes a snapshot that stands for the log before a place; the state may change meanwhile.
   * `tails` are the tails of the log. Resolves when the snapshot is durable, and only the one
   * before it is left beside it.
   */
  async writeSnapshot(
    disk: Disk,
    directory: string,
    at: LogPosition,
    { seal, tails }: Pick<LogFormat, 'seal'> & { readonly tails: Float64Array },
  ): Promise<Snapshot> {
    const name = snapshotName(at)
    const end = { entries: 0, tails: tails.slice() }
    const temporary = `${directory}/${name}.new`
    await disk.remove(temporary)
    const file = await disk.create(temporary)
    try {
      await this.#writeEntries(file, seal, end)
      await file.datasync()
    } finally {
      await file.close()
    }
    await disk.rename(temporary, `${directory}/${name}`)
    await disk.syncDirectory(directory)
    const others = (await disk.list(directory)).filter((other) => other !== name)
    const before = snapshotsOf(others)[0]?.name
    for (const other of others) if (other !== before) await disk.remove(`${directory}/${other}`)
    return { name, at }
  }

  /**
   * Reads the whole entries of a snapshot into the state. Throws `NewerRecordError` and the disk's
   * errors.
   */
  async readSnapshot(disk: Disk, directory: string, { name }: Snapshot, seal: number): Promise<SnapshotReading> {
    const file = await disk.open(`${directory}/${name}`)
    try {
      let entries = 0
      const found: { end?: SnapshotEnd } = {}
      const to = await file.size()
      // A snapshot of version 1 has no seal. No tenant's bytes stand at its first byte, so none can
      // imitate it.
      const ownSeal = (await isRecordAt(file, { from: 0, to }, 0)) ? 0 : seal
      const scanned = await scanRecords(file, { from: 0, to }, ownSeal, ({ bytes, start }) => {
        const kind = kindOf(bytes, start)
        if (kind === KIND_END) found.end = readEndRecord(bytes, start)
        if (kind !== KIND_CHANGES) return
        const changes = changesOfRecord(bytes, start)
        entries += changes.length
        this.apply(changes)
      })
      const stretches = scanned.end < to ? [...scanned.stretches, { from: scanned.end, to }] : scanned.stretches
      const { end } = found
      const isWhole = end?.entries === entries && stretches.length === 0
      return { isWhole, entries, end, stretches }
    } finally {
      await file.close()
    }
  }

  async #writeEntries(file: DiskFile, seal: number, end: SnapshotEnd): Promise<void> {
    let bytes = Buffer.allocUnsafeSlow(2 * PIECE_BYTES)
    let used = 0
    let position = 0
    let entries = 0
    let group: StateChange[] = []
    let groupBytes = 0
    const endGroup = (): void => {
      const needed = used + changesRecordBound(group)
      if (needed > bytes.length) {
        const larger = Buffer.allocUnsafeSlow(needed + PIECE_BYTES)
        bytes.copy(larger, 0, 0, used)
        bytes = larger
      }
      used = writeChangesRecord(bytes, used, group, seal)
      group = []
      groupBytes = 0
    }
    const flush = async (): Promise<void> => {
      await file.write([bytes.subarray(0, used)], position)
      position += used
      used = 0
    }
    // A Map may change while it is iterated: the iteration meets each unchanged entry once.
    for (const [key, value] of this.#state) {
      group.push({ key, value: bytesOf(value) })
      groupBytes += key.length + value.length
      entries += 1
      if (groupBytes < RECORD_BYTES) continue
      endGroup()
      if (used >= PIECE_BYTES) await flush()
    }
    if (group.length > 0) endGroup()
    await flush()
    if (endRecordBytes(end.tails.length) > bytes.length)
      bytes = Buffer.allocUnsafeSlow(endRecordBytes(end.tails.length))
    used = writeEndRecord(bytes, 0, { ...end, entries }, seal)
    await flush()
  }
}

/** Copies a value that is a piece of larger memory; keeps any other large value as it is. */
function kept(value: Buffer): Kept {
  if (value.length < LARGE_BYTES) return value.toString('latin1')
  if (value.length === value.buffer.byteLength) return value
  const own = Buffer.allocUnsafeSlow(value.length)
  own.set(value)
  return own
}

function bytesOf(value: Kept): Buffer {
  return typeof value === 'string' ? Buffer.from(value, 'latin1') : value
}

/** The snapshots among these names, the newest first. */
export function snapshotsOf(names: readonly string[]): readonly Snapshot[] {
  return names
    .toSorted()
    .toReversed()
    .flatMap((name) => {
      const match = NAME.exec(name)
      return match === null ? [] : [{ name, at: { segment: Number(match[1]), position: Number(match[2]) } }]
    })
}

function snapshotName({ segment, position }: LogPosition): string {
  return `${String(segment).padStart(20, '0')}-${String(position).padStart(12, '0')}.snapshot`
}
