/**
 * Finds the bytes of a record: in the memory of the log's tail, or in the blocks that were read
 * from its segment.
 */
import { BLOCK_BYTES, blockKey } from './block-cache.ts'
import type { BlockCache, Blocks } from './block-cache.ts'
import { PREFIX_BYTES, checkRecord } from '../segments/record.ts'
import type { Segment } from '../segments/segment.ts'
import type { TailMemory } from './tail-memory.ts'

/**
 * Three cases: a whole, valid record in memory; the blocks that must be read first; undefined for
 * a damaged record.
 */
export type Located =
  | { readonly bytes: Buffer; readonly start: number }
  | { readonly missing: readonly number[] }
  | undefined

export class RecordSource {
  readonly #tail: TailMemory
  readonly #cache: BlockCache

  constructor(tail: TailMemory, cache: BlockCache) {
    this.#tail = tail
    this.#cache = cache
  }

  /**
   * `held` are blocks that the caller has read for this record, because the cache may have dropped
   * them since. The result is valid in the same turn only.
   */
  locate(segment: Segment, position: number, held: Blocks): Located {
    const chunk = this.#tail.find(segment.id, position)
    if (chunk !== undefined) return { bytes: chunk.bytes, start: position - chunk.start }
    const first = Math.floor(position / BLOCK_BYTES)
    const start = position - first * BLOCK_BYTES
    const block = this.#block(
      segment,
      first,
      start + PREFIX_BYTES > BLOCK_BYTES ? BLOCK_BYTES : start + PREFIX_BYTES,
      held,
    )
    if (!Buffer.isBuffer(block)) return block
    let length: number
    if (start + PREFIX_BYTES <= BLOCK_BYTES) length = PREFIX_BYTES + block.readUInt32LE(start)
    else {
      const prefix = this.#across(segment, position, PREFIX_BYTES, held)
      if (!Buffer.isBuffer(prefix)) return prefix
      length = PREFIX_BYTES + prefix.readUInt32LE(0)
    }
    if (position + length > segment.length) return undefined
    if (start + length > block.length) {
      const bytes = this.#across(segment, position, length, held)
      if (!Buffer.isBuffer(bytes)) return bytes
      return checkRecord(bytes, 0, bytes.length, length, segment.seal) === length ? { bytes, start: 0 } : undefined
    }
    return checkRecord(block, start, start + length, length, segment.seal) === length
      ? { bytes: block, start }
      : undefined
  }

  /**
   * The missing blocks among the ones in which the positions begin, from the block `missing` on, at
   * most `maximum`.
   */
  missingFrom(segment: Segment, positions: Iterable<number>, held: Blocks, maximum: number): number[] {
    const missing: number[] = []
    for (const position of positions) {
      const block = Math.floor(position / BLOCK_BYTES)
      if (missing.at(-1) === block) continue
      if (missing.length >= maximum) break
      const key = blockKey(segment.id, block)
      if (held.has(key) || this.#cache.get(key) !== undefined) continue
      if (this.#tail.find(segment.id, position) === undefined) missing.push(block)
    }
    return missing
  }

  /** A block with at least `bytes` bytes. */
  #block(segment: Segment, block: number, bytes: number, held: Blocks): Buffer | { missing: number[] } | undefined {
    const key = blockKey(segment.id, block)
    const own = held.get(key)
    // The block was read for this very record, and is still too short: the file has lost its end.
    if (own !== undefined) return own.length >= bytes ? own : undefined
    const cached = this.#cache.get(key)
    return cached !== undefined && cached.length >= bytes ? cached : { missing: [block] }
  }

  /** The bytes of a record that spans several blocks, as one piece. */
  #across(
    segment: Segment,
    position: number,
    length: number,
    held: Blocks,
  ): Buffer | { missing: number[] } | undefined {
    const first = Math.floor(position / BLOCK_BYTES)
    const last = Math.floor((position + length - 1) / BLOCK_BYTES)
    const pieces: Buffer[] = []
    const missing: number[] = []
    for (let number = first; number <= last; number += 1) {
      const from = Math.max(0, position - number * BLOCK_BYTES)
      const to = Math.min(BLOCK_BYTES, position + length - number * BLOCK_BYTES)
      const block = this.#block(segment, number, to, held)
      if (block === undefined) return undefined
      if (Buffer.isBuffer(block)) pieces.push(block.subarray(from, to))
      else missing.push(number)
    }
    return missing.length > 0 ? { missing } : Buffer.concat(pieces)
  }
}
