/**
 * A disk in memory that behaves as badly as a real one may.
 *
 * - In a power cut, bytes that were not synced are lost, torn by sectors, filled with rubbish or
 *   kept, file by file and sector by sector. Names that were not synced come and go.
 * - The disk gets full in the middle of a write, and operations fail.
 * - After a failed sync the bytes are lost, though reads still return them as if they were there.
 */
import type { Disk, DiskFile } from './disk.ts'

const SECTOR_BYTES = 512

/** Numbers from 0 to 1, the same for the same seed. */
export type Random = () => number

/** mulberry32 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

type Operation = 'create' | 'open' | 'write' | 'datasync' | 'read' | 'truncate' | 'syncDirectory' | 'rename' | 'remove'

/** A change of a file's content that is not durable yet. */
interface PendingChange {
  readonly position: number
  /** Undefined: the file was cut at the position. */
  readonly bytes: Buffer | undefined
}

/** A file's content; names refer to it. */
class Inode {
  now = Buffer.alloc(0)
  durable = Buffer.alloc(0)
  pending: PendingChange[] = []
  #hasFailed = false

  apply(change: PendingChange): void {
    this.now = changed(this.now, change)
    this.pending.push(change)
  }

  sync(): void {
    for (const change of this.pending) this.durable = changed(this.durable, change)
    this.pending = []
  }

  /** The sync failed: the pending bytes are not on disk, though reads still return them. */
  failSync(): void {
    this.pending = []
    this.#hasFailed = true
  }

  forgetFailed(): void {
    if (!this.#hasFailed) return
    this.#hasFailed = false
    this.now = this.durable
    for (const change of this.pending) this.now = changed(this.now, change)
  }

  /** The content after a power cut. */
  survivor(random: Random): Inode {
    let content = this.durable
    for (const change of this.pending) {
      if (change.bytes === undefined) {
        if (random() < 0.5) content = changed(content, change)
        continue
      }
      const fate = random()
      for (let at = 0; at < change.bytes.length; at += SECTOR_BYTES) {
        const sector = change.bytes.subarray(at, at + SECTOR_BYTES)
        const chance = random()
        const isKept = fate < 0.2 || (fate < 0.8 && chance < 0.5)
        if (isKept) content = changed(content, { position: change.position + at, bytes: sector })
        else if (fate >= 0.2 && fate < 0.3 && chance > 0.9) {
          const rubbish = Buffer.from(sector).map((byte) => byte ^ Math.floor(random() * 256))
          content = changed(content, { position: change.position + at, bytes: Buffer.from(rubbish) })
        }
      }
    }
    const survivor = new Inode()
    survivor.now = Buffer.from(content)
    survivor.durable = Buffer.from(content)
    return survivor
  }
}

interface PendingName {
  readonly directory: string
  readonly remove: string | undefined
  readonly add: string | undefined
  readonly inode: Inode | undefined
}

export class SimulatedDisk implements Disk {
  /**
   * Returns the code with which an operation fails, or undefined. A read comes with its position.
   */
  fault: ((operation: Operation, path: string, position?: number) => string | undefined) | undefined = undefined
  /** The most bytes that all files may have together. */
  capacityBytes = Infinity
  /** Bytes written since the beginning. */
  bytesWritten = 0
  datasyncs = 0
  readonly #directories = new Set<string>()
  readonly #names: Map<string, Inode>
  readonly #durableNames: Map<string, Inode>
  #pendingNames: PendingName[] = []
  #isDead = false
  #operationsLeft = Infinity
  #died: (() => void) | undefined

  constructor(files: ReadonlyMap<string, Inode> = new Map()) {
    this.#names = new Map(files)
    this.#durableNames = new Map(files)
  }

  /**
   * Cuts the power after this number of operations, and resolves then. No operation from then on is
   * ever answered.
   */
  dieAfter(operations: number): Promise<void> {
    this.#operationsLeft = operations
    return new Promise((resolve) => {
      this.#died = resolve
    })
  }

  /** The disk after the power is back. The old object answers nobody any more. */
  powerCut(random: Random): SimulatedDisk {
    this.#isDead = true
    const names = new Map(this.#durableNames)
    // Changes survive in order up to some point, or each by itself: file systems differ.
    const isPrefix = random() < 0.5
    const kept = random()
    for (const [index, change] of this.#pendingNames.entries()) {
      if (isPrefix ? index < kept * (this.#pendingNames.length + 1) - 1 : random() < 0.5) rename(names, change)
    }
    return new SimulatedDisk(new Map([...names].map(([path, inode]) => [path, inode.survivor(random)])))
  }

  /**
   * The disk as the next process finds it after a kill: all written bytes are there, durable or
   * not.
   */
  kill(): SimulatedDisk {
    this.#isDead = true
    // The system may read again the bytes that it believes to be on disk.
    for (const inode of this.#names.values()) inode.forgetFailed()
    const next = new SimulatedDisk()
    for (const [path, inode] of this.#names) next.#names.set(path, inode)
    for (const [path, inode] of this.#durableNames) next.#durableNames.set(path, inode)
    next.#pendingNames = this.#pendingNames
    return next
  }

  /** The content of a file, to look at or to spoil. */
  content(path: string): Buffer {
    return this.#inode(path).now
  }

  /** Replaces the content of a file durably. */
  replace(path: string, bytes: Buffer): void {
    const inode = new Inode()
    inode.now = Buffer.from(bytes)
    inode.durable = Buffer.from(bytes)
    this.#names.set(path, inode)
    this.#durableNames.set(path, inode)
  }

  paths(): string[] {
    return [...this.#names.keys()].toSorted()
  }

  async create(path: string): Promise<DiskFile> {
    await this.#begin('create', path)
    if (this.#names.has(path)) throw failure('EEXIST', path)
    const inode = new Inode()
    this.#rename({ directory: directoryOf(path), remove: undefined, add: path, inode })
    return this.#file(path, inode)
  }

  /** The power can be cut between the writing and the syncing of the same bytes. */
  async createSynced(path: string): Promise<DiskFile> {
    const file = await this.create(path)
    return {
      ...file,
      write: async (pieces, position) => {
        await file.write(pieces, position)
        await file.datasync()
      },
    }
  }

  async open(path: string): Promise<DiskFile> {
    await this.#begin('open', path)
    return this.#file(path, this.#inode(path))
  }

  async list(directory: string): Promise<readonly string[]> {
    await this.#begin('read', directory)
    return [...this.#names.keys()]
      .filter((path) => directoryOf(path) === directory)
      .map((path) => path.slice(directory.length + 1))
  }

  async makeDirectory(path: string): Promise<void> {
    await this.#begin('create', path)
    this.#directories.add(path)
  }

  async syncDirectory(path: string): Promise<void> {
    await this.#begin('syncDirectory', path)
    const here = this.#pendingNames.filter(({ directory }) => directory === path)
    this.#pendingNames = this.#pendingNames.filter(({ directory }) => directory !== path)
    for (const change of here) rename(this.#durableNames, change)
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#begin('rename', from)
    this.#rename({ directory: directoryOf(to), remove: from, add: to, inode: this.#inode(from) })
  }

  async remove(path: string): Promise<void> {
    await this.#begin('remove', path)
    if (!this.#names.has(path)) return
    this.#rename({ directory: directoryOf(path), remove: path, add: undefined, inode: undefined })
  }

  #file(path: string, inode: Inode): DiskFile {
    return {
      size: async () => {
        await this.#begin('read', path)
        return inode.now.length
      },
      write: async (pieces, position) => {
        // The caller may use its memory again only after the answer.
        await this.#begin('write', path)
        const bytes = Buffer.concat(pieces)
        const room = this.capacityBytes - this.#bytes() + Math.max(0, inode.now.length - position)
        const fitting = Math.max(0, Math.min(bytes.length, room))
        if (fitting > 0) inode.apply({ position, bytes: bytes.subarray(0, fitting) })
        this.bytesWritten += fitting
        if (fitting < bytes.length) throw failure('ENOSPC', path)
      },
      datasync: async () => {
        try {
          await this.#begin('datasync', path)
        } catch (error) {
          // As on Linux: the bytes that could not be written are forgotten, and the next sync does
          // not know of them.
          inode.failSync()
          throw error
        }
        this.datasyncs += 1
        inode.sync()
      },
      read: async (pieces, position) => {
        await this.#begin('read', path, position)
        let at = position
        for (const piece of pieces) at += inode.now.copy(piece, 0, Math.min(at, inode.now.length))
        return Math.max(0, at - position)
      },
      truncate: async (length) => {
        await this.#begin('truncate', path)
        inode.apply({ position: length, bytes: undefined })
      },
      close: async () => {},
    }
  }

  async #begin(operation: Operation, path: string, position?: number): Promise<void> {
    await Promise.resolve()
    this.#operationsLeft -= 1
    if (this.#operationsLeft < 0) {
      this.#isDead = true
      this.#died?.()
    }
    if (this.#isDead) await new Promise<never>(() => {})
    const code = this.fault?.(operation, path, position)
    if (code !== undefined) throw failure(code, path)
  }

  #bytes(): number {
    let bytes = 0
    for (const { now } of this.#names.values()) bytes += now.length
    return bytes
  }

  #inode(path: string): Inode {
    const inode = this.#names.get(path)
    if (inode === undefined) throw failure('ENOENT', path)
    return inode
  }

  #rename(change: PendingName): void {
    rename(this.#names, change)
    this.#pendingNames.push(change)
  }
}

function rename(names: Map<string, Inode>, { remove, add, inode }: PendingName): void {
  if (remove !== undefined) names.delete(remove)
  if (add !== undefined && inode !== undefined) names.set(add, inode)
}

function changed(content: Buffer, { position, bytes }: PendingChange): Buffer<ArrayBuffer> {
  if (bytes === undefined) {
    const cut = Buffer.alloc(position)
    content.copy(cut, 0, 0, position)
    return cut
  }
  const larger = Buffer.alloc(Math.max(content.length, position + bytes.length))
  content.copy(larger)
  bytes.copy(larger, position)
  return larger
}

function directoryOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'))
}

function failure(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code })
}
