/**
 * The bytes that wait for one connection within a turn: appended packet by packet, written as one
 * buffer. Over TLS that is one record instead of hundreds.
 */
import type { QoS } from '../../mqtt/packet.ts'
import type { EncodedPublish } from '../../mqtt/publish.ts'
import type { LastJoin, Part } from '../delivery/last-join.ts'
import type { BytesPart } from '../ports/transport.ts'

/**
 * Beyond this the bytes are written early, so that a burst to one reader does not become one giant
 * buffer.
 */
const FLUSH_BYTES = 65_536

/** The bytes of one write, of whatever connection, that no other connection writes. */
const joined = { bytes: Buffer.allocUnsafeSlow(FLUSH_BYTES), start: 0, end: 0 }

/** The connection to write to. */
export interface ByteSink {
  /** As `Transport.write` has it. */
  write(part: BytesPart, isLent: boolean): void
}

export class WriteBuffer {
  /** The waiting packets: each in bytes, or as a number where it has four bytes. */
  #parts: Part[] = []
  /** True when no part is a number. */
  #isBytes = true
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
    this.#parts.push(whole(bytes))
    this.#added(bytes.length)
  }

  /**
   * Appends an acknowledgement without Reason Code: its type is in the first byte, its Packet
   * Identifier in the last two.
   */
  acknowledgement(firstByte: number, packetId: number): void {
    this.#parts.push(((firstByte << 24) | (2 << 16) | packetId) >>> 0)
    this.#isBytes = false
    this.#added(4)
  }

  /** Appends a PUBLISH of shared bytes, with a patch for the members that are this reader's own. */
  publish(shared: EncodedPublish, qos: QoS, retain: boolean, dup: boolean, packetId: number): void {
    this.#parts.push(shared)
    if (qos > 0 || retain) {
      const flags = (dup ? 8 : 0) | (qos << 1) | (retain ? 1 : 0)
      // The number goes up to 2^36: a double's integers hold it, a bitwise operator's don't.
      this.#patch((shared.packetIdOffset * 65_536 + packetId) * 16 + flags)
    }
    this.#added(shared.end - shared.start)
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
    if (!this.#isBytes || this.#isPatched) this.#writeOwn()
    else if (parts.length > 1) this.#writeShared()
    else this.#writeSingle(parts[0] as BytesPart)
  }

  #writeSingle(packet: BytesPart): void {
    this.#clear()
    this.#lastJoin.single(packet)
    this.#sink.write(packet, false)
  }

  /** Other connections may have the same parts to write. */
  #writeShared(): void {
    const parts = this.#parts
    let bytes = this.#lastJoin.find(parts)
    if (bytes === undefined) {
      bytes = Buffer.allocUnsafe(this.#bytes)
      this.#joinInto(bytes)
      this.#lastJoin.remember(parts, bytes)
      this.#parts = []
    }
    this.#clear()
    this.#sink.write(whole(bytes), false)
  }

  #writeOwn(): void {
    const isLent = this.#bytes <= joined.bytes.length
    const part = isLent ? joined : whole(Buffer.allocUnsafe(this.#bytes))
    this.#joinInto(part.bytes)
    part.end = this.#bytes
    this.#clear()
    this.#sink.write(part, isLent)
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
    this.#isBytes = true
  }

  #joinInto(bytes: Buffer): void {
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
      part.bytes.copy(bytes, position, part.start, part.end)
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
      position += part.end - part.start
    }
  }
}

function whole(bytes: Buffer): { readonly bytes: Buffer; readonly start: 0; end: number } {
  return { bytes, start: 0, end: bytes.length }
}
