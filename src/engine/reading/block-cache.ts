/**
 * Caches blocks of segments that were read lately: readers that catch up on the same partitions
 * share them.
 */
import { readDespiteErrors } from '../ports/disk.ts'
import type { DiskFile } from '../ports/disk.ts'

/** Holds some 200 small messages. */
export const BLOCK_BYTES = 65_536
/** The most blocks that one read of the disk asks for. */
const MAXIMUM_BLOCKS_PER_READ = 16
const BLOCKS_PER_SEGMENT = 2 ** 24

/** A key for a block: the segment's id and the number of the block in one. */
export function blockKey(segment: number, block: number): number {
  return segment * BLOCKS_PER_SEGMENT + block
}

/**
 * Blocks in memory, by their keys. A block is shorter than `BLOCK_BYTES` if the file ended there
 * when it was read.
 */
export type Blocks = ReadonlyMap<number, Buffer>

export class BlockCache {
  readonly #maximumBlocks: number
  /** The blocks; the first is the one used longest ago. */
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
   * Reads blocks of one segment; the numbers ascend. One read covers adjacent blocks, and a block
   * that is already being read is not read again. Up to `completeBytes` the segment's file no
   * longer changes; a block beyond may lack the wanted bytes, so it is read anew. Rejects with the
   * disk's error.
   */
  async load(
    segment: number,
    blocks: readonly number[],
    file: DiskFile,
    completeBytes: number,
  ): Promise<Map<number, Buffer>> {
    const loading = new Map<number, Promise<Buffer>>()
    let run: number[] = []
    const readRun = (): void => {
      if (run.length === 0) return
      for (const [key, bytes] of this.#read(segment, run, file)) loading.set(key, bytes)
      run = []
    }
    for (const block of blocks) {
      const key = blockKey(segment, block)
      const onItsWay = this.#loading.get(key)
      if (onItsWay !== undefined) {
        loading.set(key, onItsWay)
        continue
      }
      if ((run.length > 0 && run.at(-1) !== block - 1) || run.length === MAXIMUM_BLOCKS_PER_READ) readRun()
      run.push(block)
    }
    readRun()
    for (const [key, bytes] of loading) {
      const isComplete = ((key % BLOCKS_PER_SEGMENT) + 1) * BLOCK_BYTES <= completeBytes
      if (isComplete && !this.#loading.has(key)) this.#share(key, bytes)
    }
    const loaded = new Map<number, Buffer>()
    await Promise.all([...loading].map(async ([key, bytes]) => loaded.set(key, await bytes)))
    return loaded
  }

  /** Forgets the blocks of a removed segment. */
  forget(segment: number): void {
    for (const key of this.#blocks.keys()) {
      if (Math.floor(key / BLOCKS_PER_SEGMENT) === segment) this.#blocks.delete(key)
    }
  }

  #read(segment: number, run: readonly number[], file: DiskFile): [key: number, bytes: Promise<Buffer>][] {
    const pieces = run.map(() => Buffer.allocUnsafeSlow(BLOCK_BYTES))
    const reading = readDespiteErrors(file, pieces, (run[0] as number) * BLOCK_BYTES)
    return pieces.map((piece, index) => {
      const key = blockKey(segment, run[index] as number)
      const bytes = reading.then((bytesRead) => {
        const block = piece.subarray(0, Math.min(BLOCK_BYTES, Math.max(0, bytesRead - index * BLOCK_BYTES)))
        this.#keep(key, block)
        return block
      })
      return [key, bytes]
    })
  }

  /** Lets other callers wait for the same read of a block. */
  #share(key: number, bytes: Promise<Buffer>): void {
    this.#loading.set(key, bytes)
    const end = (): void => void this.#loading.delete(key)
    bytes.then(end, end)
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
