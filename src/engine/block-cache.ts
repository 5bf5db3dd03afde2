/** What was read of the segments lately, in blocks: readers that catch up on the same partitions share them. */
import type { DiskFile } from './disk.ts'

/** Some 200 small messages. */
export const BLOCK_BYTES = 65_536
/** The most that one read of the disk asks for, in blocks. */
const MAXIMUM_BLOCKS_PER_READ = 16
const BLOCKS_PER_SEGMENT = 2 ** 24

/** A block's place: segment and block number in one. */
export function blockKey(segment: number, block: number): number {
  return segment * BLOCKS_PER_SEGMENT + block
}

/** Blocks at hand, by their places. A block is shorter than `BLOCK_BYTES` where the file ended when it was read. */
export type Blocks = ReadonlyMap<number, Buffer>

export class BlockCache {
  readonly #maximumBlocks: number
  /** The least lately used first. */
  readonly #blocks = new Map<number, Buffer>()
  readonly #loading = new Map<number, Promise<Buffer>>()

  constructor(maximumBytes: number) {
    this.#maximumBlocks = Math.max(1, Math.floor(maximumBytes / BLOCK_BYTES))
  }

  get(key: number): Buffer | undefined {
    const block = this.#blocks.get(key)
    if (block !== undefined) {
      this.#blocks.delete(key)
      this.#blocks.set(key, block)
    }
    return block
  }

  /**
   * Reads blocks of one segment, ascending, adjacent ones with one read; those that are on their way not again, unless the segment still grows: then
   * they may be on their way without what is wanted of them. Rejects with what the disk says.
   */
  async load(
    segment: number,
    blocks: readonly number[],
    file: DiskFile,
    isGrowing: boolean,
  ): Promise<Map<number, Buffer>> {
    const loaded = new Map<number, Buffer>()
    const waits: Promise<unknown>[] = []
    let run: number[] = []
    const readRun = (): void => {
      if (run.length > 0) this.#read(segment, run, file)
      run = []
    }
    for (const block of blocks) {
      const key = blockKey(segment, block)
      const isNext = run.length === 0 || run.at(-1) === block - 1
      if (this.#loading.has(key) && !isGrowing) continue
      if (!isNext || run.length === MAXIMUM_BLOCKS_PER_READ) readRun()
      run.push(block)
    }
    readRun()
    for (const block of blocks) {
      const key = blockKey(segment, block)
      waits.push((this.#loading.get(key) as Promise<Buffer>).then((bytes) => loaded.set(key, bytes)))
    }
    await Promise.all(waits)
    return loaded
  }

  /** Forgets the blocks of a segment that is no more. */
  forget(segment: number): void {
    for (const key of this.#blocks.keys()) {
      if (Math.floor(key / BLOCKS_PER_SEGMENT) === segment) this.#blocks.delete(key)
    }
  }

  #read(segment: number, run: readonly number[], file: DiskFile): void {
    const pieces = run.map(() => Buffer.allocUnsafeSlow(BLOCK_BYTES))
    const reading = file.read(pieces, (run[0] as number) * BLOCK_BYTES)
    for (const [index, block] of run.entries()) {
      const key = blockKey(segment, block)
      const loading = reading.then(
        (bytesRead) => {
          const length = Math.min(BLOCK_BYTES, Math.max(0, bytesRead - index * BLOCK_BYTES))
          const bytes = (pieces[index] as Buffer).subarray(0, length)
          if (this.#loading.get(key) === loading) this.#loading.delete(key)
          this.#keep(key, bytes)
          return bytes
        },
        (error: unknown) => {
          if (this.#loading.get(key) === loading) this.#loading.delete(key)
          throw error
        },
      )
      this.#loading.set(key, loading)
    }
  }

  #keep(key: number, bytes: Buffer): void {
    this.#blocks.delete(key)
    this.#blocks.set(key, bytes)
    for (const oldest of this.#blocks.keys()) {
      if (this.#blocks.size <= this.#maximumBlocks) return
      this.#blocks.delete(oldest)
    }
  }
}
