/**
 * Keeps the last bytes of the log in memory, in the form in which they were written. Batches are
 * encoded into this memory and written to disk from it; readers that are a little behind decode
 * from it without touching the disk. A record never spans two chunks.
 */

/** A record that is larger than a chunk gets a chunk of several times this size. */
const GREATEST_CHUNK_BYTES = 1_048_576
const SMALLEST_CHUNK_BYTES = 4_096
/**
 * Chunks that are kept for reuse. Only a very large batch needs more than these at once. Reuse is
 * not for the allocation alone: V8 collects its whole heap after some 64 MB of new Buffers.
 */
const MAXIMUM_SPARE_CHUNKS = 4
/** A larger chunk, for a very large record, is not kept for reuse. */
const LARGEST_SPARE_CHUNKS = 2

/** A stretch of one segment in memory. */
export interface Chunk {
  readonly bytes: Buffer
  /** The id of the segment. */
  readonly segment: number
  /** The position of its first byte in the segment. */
  readonly start: number
  /** Bytes in use, from the beginning. */
  used: number
}

export class TailMemory {
  readonly #maximumBytes: number
  readonly #chunkBytes: number
  readonly #chunks: Chunk[] = []
  readonly #spare: Buffer[] = []
  #bytes = 0

  /**
   * `maximumBytes`: beyond it, the oldest chunk is dropped, so that the last written bytes stay. At
   * least two chunks are kept.
   */
  constructor(maximumBytes: number) {
    this.#maximumBytes = maximumBytes
    this.#chunkBytes = Math.max(SMALLEST_CHUNK_BYTES, Math.min(GREATEST_CHUNK_BYTES, maximumBytes / 16))
  }

  /** A chunk with room for `bytes` bytes at its end; this end is at `position` of the segment. */
  room(segment: number, position: number, bytes: number): Chunk {
    const last = this.#chunks.at(-1)
    if (
      last !== undefined &&
      last.segment === segment &&
      last.start + last.used === position &&
      last.bytes.length - last.used >= bytes
    ) {
      return last
    }
    const memory = this.#takeSpare(bytes) ?? Buffer.allocUnsafeSlow(this.#wholeChunks(bytes))
    const chunk: Chunk = { bytes: memory, segment, start: position, used: 0 }
    this.#chunks.push(chunk)
    this.#bytes += memory.length
    return chunk
  }

  /** The chunk that holds this position of the segment. */
  find(segment: number, position: number): Chunk | undefined {
    // Backwards, because most readers that come here are near the tail.
    for (let index = this.#chunks.length - 1; index >= 0; index -= 1) {
      const chunk = this.#chunks[index] as Chunk
      if (chunk.segment === segment && position >= chunk.start && position < chunk.start + chunk.used) return chunk
    }
    return undefined
  }

  /** Drops chunks beyond the bound. Must not run while a chunk is being written to disk. */
  trim(): void {
    while (this.#bytes > this.#maximumBytes && this.#chunks.length > 2) {
      const { bytes } = this.#chunks.shift() as Chunk
      this.#bytes -= bytes.length
      if (bytes.length > LARGEST_SPARE_CHUNKS * this.#chunkBytes) continue
      this.#spare.push(bytes)
      if (this.#spare.length > MAXIMUM_SPARE_CHUNKS) this.#spare.shift()
    }
  }

  #wholeChunks(bytes: number): number {
    return Math.max(1, Math.ceil(bytes / this.#chunkBytes)) * this.#chunkBytes
  }

  #takeSpare(bytes: number): Buffer | undefined {
    const index = this.#spare.findIndex(({ length }) => length >= bytes)
    return index === -1 ? undefined : this.#spare.splice(index, 1)[0]
  }
}
