/**
 * The last bytes of the log, kept in memory as they were written: batches are encoded straight into
 * it, written to disk from it, and readers a little behind the tail decode from it without touching
 * the disk. A record never spans two of its chunks.
 */

/** A record that is larger than a chunk gets one of its own. */
const GREATEST_CHUNK_BYTES = 1_048_576
const SMALLEST_CHUNK_BYTES = 4_096
/**
 * Chunks kept for their next use; more than two are never needed at once but after one very large
 * batch.
 */
const MAXIMUM_SPARE_CHUNKS = 2

/** A stretch of one segment in memory. */
export interface Chunk {
  readonly bytes: Buffer
  /** The number of the segment. */
  readonly segment: number
  /** The position in the segment of its first byte. */
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
   * `maximumBytes`: beyond, the oldest chunk goes, so that what was written last stays. At least
   * two chunks are kept.
   */
  constructor(maximumBytes: number) {
    this.#maximumBytes = maximumBytes
    this.#chunkBytes = Math.max(SMALLEST_CHUNK_BYTES, Math.min(GREATEST_CHUNK_BYTES, maximumBytes / 16))
  }

  /** A chunk with room for so many bytes at its end, which is at `position` of the segment. */
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
    const memory =
      bytes > this.#chunkBytes
        ? Buffer.allocUnsafeSlow(bytes)
        : (this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#chunkBytes))
    const chunk: Chunk = { bytes: memory, segment, start: position, used: 0 }
    this.#chunks.push(chunk)
    this.#bytes += memory.length
    return chunk
  }

  /** The chunk that holds this position of the segment. */
  find(segment: number, position: number): Chunk | undefined {
    // From the end: readers near the tail are the ones that come here.
    for (let index = this.#chunks.length - 1; index >= 0; index -= 1) {
      const chunk = this.#chunks[index] as Chunk
      if (chunk.segment === segment && position >= chunk.start && position < chunk.start + chunk.used) return chunk
    }
    return undefined
  }

  /** Lets go of what is beyond the bound. Not while a chunk is being written to disk. */
  trim(): void {
    while (this.#bytes > this.#maximumBytes && this.#chunks.length > 2) {
      const { bytes } = this.#chunks.shift() as Chunk
      this.#bytes -= bytes.length
      if (bytes.length === this.#chunkBytes && this.#spare.length < MAXIMUM_SPARE_CHUNKS) this.#spare.push(bytes)
    }
  }
}
