/**
 * The bytes that wait for one connection within a turn: appended packet by packet, written as one
 * buffer. Over TLS that is one record instead of hundreds.
 */
import type { QoS } from '../../mqtt/packet.ts'
import type { LastJoin, Part } from '../delivery/last-join.ts'
import type { SharedPublish } from '../ports/message.ts'

/**
 * Beyond this the bytes are written early, so that a burst to one reader does not become one giant
 * buffer.
 */
const FLUSH_BYTES = 65_536

/** The connection to write to. */
export interface ByteSink {
  write(bytes: Buffer): void
}

export class WriteBuffer {
  /** The waiting packets: each in bytes, or as a number where it has four bytes. */
  #parts: Part[] = []
  /**
   * The patch for the part at the same place: first byte, Packet Identifier and its offset. 0, and
   * no element at the end: none. Made with the first patch: a reader at QoS 0 needs none.
   */
  #patches: number[] | undefined = undefined
  #bytes = 0
  readonly #lastJoin: LastJoin
  readonly #sink: ByteSink

  constructor(lastJoin: LastJoin, sink: ByteSink) {
    this.#lastJoin = lastJoin
    this.#sink = sink
  }

  get waitingBytes(): number {
    return this.#bytes
  }

  /** Appends a whole packet. The bytes are not copied, so they may be shared. */
  packet(bytes: Buffer): void {
    this.#parts.push(bytes)
    this.#added(bytes.length)
  }

  /**
   * Appends an acknowledgement without Reason Code: its type is in the first byte, its Packet
   * Identifier in the last two.
   */
  acknowledgement(firstByte: number, packetId: number): void {
    this.#parts.push(((firstByte << 24) | (2 << 16) | packetId) >>> 0)
    this.#added(4)
  }

  /** Appends a PUBLISH of shared bytes, with a patch for the members that are this reader's own. */
  publish(shared: SharedPublish, qos: QoS, retain: boolean, dup: boolean, packetId: number): void {
    this.#parts.push(shared.bytes)
    if (qos > 0 || retain) {
      const flags = (dup ? 8 : 0) | (qos << 1) | (retain ? 1 : 0)
      // The number goes up to 2^36: a double's integers hold it, a bitwise operator's don't.
      this.#patch((shared.packetIdOffset * 65_536 + packetId) * 16 + flags)
    }
    this.#added(shared.bytes.length)
  }

  /** Patches the last part. */
  #patch(patch: number): void {
    const patches = (this.#patches ??= [])
    while (patches.length < this.#parts.length - 1) patches.push(0)
    patches.push(patch)
  }

  get #isPatched(): boolean {
    return this.#patches !== undefined && this.#patches.length > 0
  }

  #added(length: number): void {
    this.#bytes += length
    if (this.#bytes >= FLUSH_BYTES) this.flush()
  }

  /** Writes the bytes that wait, if there are any. */
  flush(): void {
    const parts = this.#parts
    if (parts.length === 0) return
    const first = parts[0]
    if (parts.length === 1 && typeof first === 'object' && !this.#isPatched) {
      this.#clear()
      this.#lastJoin.single(first)
      this.#sink.write(first)
      return
    }
    const bytes = this.#isPatched ? this.#join() : this.#joinShared()
    this.#clear()
    this.#sink.write(bytes)
  }

  #joinShared(): Buffer {
    const known = this.#lastJoin.find(this.#parts)
    if (known !== undefined) return known
    const bytes = this.#join()
    this.#lastJoin.remember(this.#parts, bytes)
    this.#parts = []
    return bytes
  }

  #clear(): void {
    if (this.#parts.length > 64) {
      this.#parts = []
      this.#patches = undefined
    } else {
      this.#parts.length = 0
      if (this.#patches !== undefined) this.#patches.length = 0
    }
    this.#bytes = 0
  }

  #join(): Buffer {
    const bytes = Buffer.allocUnsafe(this.#bytes)
    const patches = this.#patches
    const patched = patches?.length ?? 0
    let position = 0
    for (let index = 0; index < this.#parts.length; index += 1) {
      const part = this.#parts[index] as Part
      if (typeof part === 'number') {
        bytes.writeUInt32BE(part, position)
        position += 4
        continue
      }
      bytes.set(part, position)
      const patch = patches !== undefined && index < patched ? (patches[index] as number) : 0
      if (patch !== 0) {
        const flags = patch % 16
        bytes[position] = 0x30 | flags
        if ((flags & 6) !== 0) {
          const identified = (patch - flags) / 16
          const packetId = identified % 65_536
          bytes.writeUInt16BE(packetId, position + (identified - packetId) / 65_536)
        }
      }
      position += part.length
    }
    return bytes
  }
}
