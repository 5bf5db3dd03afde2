/**
 * The bytes that were joined last in a turn, so that connections with the same packets to write
 * share them.
 */
import type { BytesPart } from '../ports/transport.ts'

/** A packet in bytes, or a packet of four bytes as a number. */
export type Part = BytesPart | number

/**
 * The parts that were joined last, by any connection. When one message goes to many readers, their
 * connections have the same parts to write: the first connection joins them, and the others write
 * its bytes too.
 */
export class LastJoin {
  /** The writes of this turn whose bytes another connection had written just before. */
  sharedWrites = 0
  #packet: BytesPart | undefined = undefined
  #parts: readonly Part[] = []
  #bytes: Buffer | undefined = undefined

  /** The joined bytes of these very parts, if they were joined last. */
  find(parts: readonly Part[]): Buffer | undefined {
    const known = this.#parts
    if (known.length !== parts.length) return undefined
    for (let index = 0; index < parts.length; index += 1) if (known[index] !== parts[index]) return undefined
    this.sharedWrites += 1
    return this.#bytes
  }

  /** Counts a write of one packet. */
  single(packet: BytesPart): void {
    if (packet === this.#packet) this.sharedWrites += 1
    else this.#packet = packet
  }

  /** Keeps the array: the caller must not use it any more. */
  remember(parts: readonly Part[], bytes: Buffer): void {
    this.#parts = parts
    this.#bytes = bytes
  }

  /** Forgets the bytes, which are of no use in another turn. */
  forget(): void {
    this.#parts = []
    this.#bytes = undefined
    this.#packet = undefined
    this.sharedWrites = 0
  }
}
