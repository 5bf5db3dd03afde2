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
  /**
   * The first waiting packet, in bytes, or as a number where it has four bytes. Most turns bring a
   * connection one packet, which needs no lists.
   */
  #first: Part | undefined = undefined
  /**
   * The patch for the first packet: first byte, Packet Identifier and its offset. 0: none.
   */
  #firstPatch = 0
  /** All waiting packets, from the second one on. */
  #parts: Part[] | undefined = undefined
  /** The patch for the packet at the same place. No element at the end: none. */
  #patches: number[] | undefined = undefined
  #count = 0
  /** True when a packet has a patch, or is a number: the bytes are this connection's own. */
  #isOwn = false
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
    this.#add(whole(bytes), 0, bytes.length)
  }

  /**
   * Appends an acknowledgement without Reason Code: its type is in the first byte, its Packet
   * Identifier in the last two.
   */
  acknowledgement(firstByte: number, packetId: number): void {
    this.#isOwn = true
    this.#add(((firstByte << 24) | (2 << 16) | packetId) >>> 0, 0, 4)
  }

  /** Appends a PUBLISH of shared bytes, with a patch for the members that are this reader's own. */
  publish(shared: EncodedPublish, qos: QoS, retain: boolean, dup: boolean, packetId: number): void {
    let patch = 0
    if (qos > 0 || retain) {
      const flags = (dup ? 8 : 0) | (qos << 1) | (retain ? 1 : 0)
      // The number goes up to 2^36: a double's integers hold it, a bitwise operator's don't.
      patch = (shared.packetIdOffset * 65_536 + packetId) * 16 + flags
      this.#isOwn = true
    }
    this.#add(shared, patch, shared.end - shared.start)
  }

  #add(part: Part, patch: number, length: number): void {
    if (this.#count === 0) {
      this.#first = part
      this.#firstPatch = patch
    } else this.#addFurther(part, patch)
    this.#count += 1
    this.#bytes += length
    if (this.#bytes >= FLUSH_BYTES) this.flush()
  }

  #addFurther(part: Part, patch: number): void {
    const parts = (this.#parts ??= [])
    if (this.#count === 1) {
      parts.push(this.#first as Part)
      this.#patch(0, this.#firstPatch)
    }
    parts.push(part)
    this.#patch(this.#count, patch)
  }

  /** Patches the packet at this place. */
  #patch(place: number, patch: number): void {
    if (patch === 0) return
    const patches = (this.#patches ??= [])
    while (patches.length < place) patches.push(0)
    patches.push(patch)
  }

  /** Writes the bytes that wait, if there are any. */
  flush(): void {
    if (this.#count === 0) return
    if (this.#isOwn) this.#writeOwn()
    else if (this.#count > 1) this.#writeShared()
    else this.#writeSingle(this.#first as BytesPart)
  }

  #writeSingle(packet: BytesPart): void {
    this.#clear()
    this.#lastJoin.single(packet)
    this.#sink.write(packet, false)
  }

  /** Other connections may have the same parts to write. */
  #writeShared(): void {
    const parts = this.#parts as Part[]
    let bytes = this.#lastJoin.find(parts)
    if (bytes === undefined) {
      bytes = Buffer.allocUnsafe(this.#bytes)
      this.#joinInto(bytes)
      this.#lastJoin.remember(parts, bytes)
      this.#parts = undefined
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
    if (this.#count > 64) {
      this.#parts = undefined
      this.#patches = undefined
    } else if (this.#count > 1) {
      if (this.#parts !== undefined) this.#parts.length = 0
      if (this.#patches !== undefined) this.#patches.length = 0
    }
    this.#first = undefined
    this.#firstPatch = 0
    this.#count = 0
    this.#bytes = 0
    this.#isOwn = false
  }

  #joinInto(bytes: Buffer): void {
    if (this.#count === 1) {
      copyInto(bytes, 0, this.#first as Part, this.#firstPatch)
      return
    }
    const parts = this.#parts as Part[]
    const patches = this.#patches
    const patched = patches?.length ?? 0
    let position = 0
    for (let index = 0; index < parts.length; index += 1) {
      const patch = patches !== undefined && index < patched ? (patches[index] as number) : 0
      position = copyInto(bytes, position, parts[index] as Part, patch)
    }
  }
}

/** Copies the packet with its patch, and returns the position behind it. */
function copyInto(bytes: Buffer, position: number, part: Part, patch: number): number {
  if (typeof part === 'number') {
    bytes.writeUInt32BE(part, position)
    return position + 4
  }
  part.bytes.copy(bytes, position, part.start, part.end)
  if (patch !== 0) {
    const flags = patch % 16
    bytes[position] = 0x30 | flags
    if ((flags & 6) !== 0) {
      const identified = (patch - flags) / 16
      const packetId = identified % 65_536
      bytes.writeUInt16BE(packetId, position + (identified - packetId) / 65_536)
    }
  }
  return position + part.end - part.start
}

function whole(bytes: Buffer): { readonly bytes: Buffer; readonly start: 0; end: number } {
  return { bytes, start: 0, end: bytes.length }
}
