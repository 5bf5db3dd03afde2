/**
 * The state: every key with its value in memory (as much as its writers' own limits allow), changed when the log has committed the change, and written to a snapshot from time to time so that the
 * log need not be kept for it. A snapshot is a file of records: a head, changes, and an end with the number of entries; its name says where in
 * the log to go on from. It is written while the state changes, so some of its entries are younger than that place: what the
 * log says from there on, applied to it in order, gives the same in the end, for each change replaces the whole value.
 */
import type { StateChange, StateEntry } from '../broker/engine.ts'
import type { Disk, DiskFile } from './disk.ts'
import {
  KIND_CHANGES,
  KIND_END,
  changesOfRecord,
  changesRecordBound,
  entriesOfEnd,
  kindOf,
  writeChangesRecord,
  writeEndRecord,
} from './record.ts'
import { scanRecords } from './scan-records.ts'

/** Where in the log: all that was committed before is in the snapshot. */
export interface LogPosition {
  readonly segment: number
  readonly position: number
}

/** A snapshot's file. */
export interface Snapshot {
  readonly name: string
  readonly at: LogPosition
}

/** Written at a time. */
const PIECE_BYTES = 1_048_576
/** Entries of one record, by bytes. */
const RECORD_BYTES = 65_536
const NAME = /^(\d{20})-(\d{12})\.snapshot$/

/** A snapshot that can't be read. The message is a sentence for people. */
export class DamagedSnapshotError extends Error {
  readonly code = 'snapshot_damaged'
}

export class StateStore {
  readonly #state = new Map<string, Buffer>()
  #bytes = 0

  get size(): number {
    return this.#state.size
  }

  /** Bytes of keys and values, about. */
  get bytes(): number {
    return this.#bytes
  }

  apply(changes: readonly StateChange[]): void {
    for (const { key, value } of changes) {
      const before = this.#state.get(key)
      if (before !== undefined) this.#bytes -= key.length + before.length
      if (value === undefined) this.#state.delete(key)
      else {
        // A copy: the caller's memory may be a small piece of a large one, and may be used again.
        this.#state.set(key, Buffer.from(value))
        this.#bytes += key.length + value.length
      }
    }
  }

  /** What is there when it is asked for, by key. */
  *load(prefix: string): Generator<StateEntry> {
    const keys = [...this.#state.keys()].filter((key) => key.startsWith(prefix)).toSorted()
    for (const key of keys) {
      const value = this.#state.get(key)
      if (value !== undefined) yield { key, value: Buffer.from(value) }
    }
  }

  /** Writes a snapshot that stands for all of the log before a place; the state may change meanwhile. Resolved: it is durable, and older ones are gone. */
  async writeSnapshot(disk: Disk, directory: string, at: LogPosition): Promise<Snapshot> {
    const name = snapshotName(at)
    const temporary = `${directory}/${name}.new`
    await disk.remove(temporary)
    const file = await disk.create(temporary)
    try {
      await this.#writeEntries(file)
      await file.datasync()
    } finally {
      await file.close()
    }
    await disk.rename(temporary, `${directory}/${name}`)
    await disk.syncDirectory(directory)
    for (const other of await disk.list(directory)) if (other !== name) await disk.remove(`${directory}/${other}`)
    return { name, at }
  }

  /** Reads a snapshot into the empty state. Throws `DamagedSnapshotError`, `NewerRecordError` and what the disk throws. */
  async readSnapshot(disk: Disk, directory: string, { name }: Snapshot): Promise<void> {
    const file = await disk.open(`${directory}/${name}`)
    try {
      let read = 0
      let expected = -1
      const { end } = await scanRecords(file, { from: 0, to: await file.size() }, 'stop', ({ bytes, start }) => {
        const kind = kindOf(bytes, start)
        if (kind === KIND_END) expected = entriesOfEnd(bytes, start)
        if (kind !== KIND_CHANGES) return
        const changes = changesOfRecord(bytes, start)
        read += changes.length
        this.apply(changes)
      })
      if (expected === read) return
      throw new DamagedSnapshotError(
        `The snapshot of the state, ${directory}/${name}, is damaged at byte ${end}. Restore a backup into a new data directory.`,
      )
    } finally {
      await file.close()
    }
  }

  async #writeEntries(file: DiskFile): Promise<void> {
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
      used = writeChangesRecord(bytes, used, group)
      group = []
      groupBytes = 0
    }
    const flush = async (): Promise<void> => {
      await file.write([bytes.subarray(0, used)], position)
      position += used
      used = 0
    }
    // A Map may change while it is gone through: each entry that stays as it is is met once.
    for (const [key, value] of this.#state) {
      group.push({ key, value })
      groupBytes += key.length + value.length
      entries += 1
      if (groupBytes < RECORD_BYTES) continue
      endGroup()
      if (used >= PIECE_BYTES) await flush()
    }
    if (group.length > 0) endGroup()
    await flush()
    used = writeEndRecord(bytes, 0, entries)
    await flush()
  }
}

/** The newest of the snapshots among these names. */
export function newestSnapshot(names: readonly string[]): Snapshot | undefined {
  const newest = names
    .filter((name) => NAME.test(name))
    .toSorted()
    .at(-1)
  const match = newest === undefined ? null : NAME.exec(newest)
  if (newest === undefined || match === null) return undefined
  return { name: newest, at: { segment: Number(match[1]), position: Number(match[2]) } }
}

function snapshotName({ segment, position }: LogPosition): string {
  return `${String(segment).padStart(20, '0')}-${String(position).padStart(12, '0')}.snapshot`
}
