/** The way from the chunks of a connection to packets. */
import assert from 'node:assert'
import { decodeAcknowledgement } from './acknowledgement.ts'
import { decodeAuth } from './auth.ts'
import { decodeConnack } from './connack.ts'
import { decodeConnect } from './connect.ts'
import { decodeDisconnect } from './disconnect.ts'
import { MalformedPacketError } from './malformed-packet.ts'
import type { PacketType } from './malformed-packet.ts'
import { PacketCursor } from './packet-cursor.ts'
import type { ClientPacket, Packet, ProtocolVersion, PublishPacket, ServerPacket } from './packet.ts'
import { decodePingreq, decodePingresp } from './ping.ts'
import { decodePublish } from './publish.ts'
import type { IncomingPublish } from './incoming-publish.ts'
import { ReasonCodes } from './reason-codes.ts'
import type { ReasonCode } from './reason-codes.ts'
import { decodeSuback } from './suback.ts'
import { decodeSubscribe } from './subscribe.ts'
import { decodeUnsuback } from './unsuback.ts'
import { decodeUnsubscribe } from './unsubscribe.ts'

type Role = 'server' | 'client'

type Incoming<P extends Packet> = Exclude<P, PublishPacket> | IncomingPublish
/** The packets that a reader of role 'server' returns. */
export type IncomingClientPacket = Incoming<ClientPacket>
/** The packets that a reader of role 'client' returns. */
export type IncomingServerPacket = Incoming<ServerPacket>

const nothing = Buffer.alloc(0)

/**
 * The first size of the memory for a packet that comes in pieces. It doubles with the bytes that
 * have come, so that a header alone can't claim megabytes.
 */
const FIRST_ASSEMBLY_BYTES = 4096

/** One cursor for all readers: decoding is synchronous and never nests. */
const cursor = new PacketCursor()

/**
 * Turns the bytes of one connection into packets: `push` each chunk, then call `next` until it
 * returns undefined. The caller may leave packets unread and come back. The caller also bounds the
 * unread bytes (`bufferedBytes`), by no longer reading the connection.
 *
 * A packet within one chunk is read in place, and its binary values are views into that chunk. A
 * packet that is split over chunks is gathered once, at a cost linear in its size, however small
 * the pieces are. A reader of role 'server' reads the packets of clients, one of role 'client' the
 * packets of servers.
 */
export class PacketReader<R extends Role = Role> {
  /**
   * The largest packet that is read, with its fixed header. A larger packet throws 0x95 as soon as
   * its fixed header has come. It can be set at any time.
   */
  maximumPacketSizeBytes: number
  /**
   * Set by the CONNECT in the role 'server'. In the role 'client' the caller sets it before the
   * first packet arrives.
   */
  protocolVersion: ProtocolVersion | undefined = undefined
  readonly #fromClient: boolean
  readonly #allowedFirstBytes: Uint8Array
  #chunk: Buffer = nothing
  #position = 0
  /** Chunks behind the current one. Most connections never need it. */
  #queue: Buffer[] | undefined = undefined
  #queuedBytes = 0
  /**
   * Memory for a packet that comes in pieces. `#assembledBytes` of its `#assemblySize` bytes have
   * come; the size is 0 until the fixed header is complete.
   */
  #assembly: Buffer = nothing
  #assembledBytes = 0
  #assemblySize = 0
  /**
   * Where the body begins in the buffer of the last complete fixed header; the packet ends at
   * `#packetEnd`.
   */
  #bodyStart = 0
  #packetEnd = 0
  #failure: MalformedPacketError | undefined = undefined

  constructor(options: { readonly role: R; readonly maximumPacketSizeBytes: number }) {
    this.maximumPacketSizeBytes = options.maximumPacketSizeBytes
    this.#fromClient = options.role === 'server'
    this.#allowedFirstBytes = this.#fromClient ? firstBytesOfClients : firstBytesOfServers
  }

  /** Pushed bytes that do not belong to a packet that `next` has returned. */
  get bufferedBytes(): number {
    return this.#chunk.length - this.#position + this.#queuedBytes + this.#assembledBytes
  }

  /** The first of these bytes in order, in at most so many pieces and two. Only to be read. */
  firstBuffered(maximumPieces: number): readonly Buffer[] {
    const assembled = this.#assembly.subarray(0, this.#assembledBytes)
    return [assembled, this.#chunk.subarray(this.#position), ...(this.#queue?.slice(0, maximumPieces) ?? [])]
  }

  /**
   * Takes over the chunk without a copy: the caller must not write into it any more. After an error
   * the chunk is dropped.
   */
  push(chunk: Buffer): void {
    if (this.#failure !== undefined) return
    if (this.#position === this.#chunk.length && this.#queuedBytes === 0) {
      this.#chunk = chunk
      this.#position = 0
    } else {
      this.#queue ??= []
      this.#queue.push(chunk)
      this.#queuedBytes += chunk.length
    }
  }

  /**
   * The next packet; undefined when more bytes are needed. Throws `MalformedPacketError` for bytes
   * that the sender must not send, and then the same error at each call.
   */
  next(): (R extends 'server' ? IncomingClientPacket : IncomingServerPacket) | undefined {
    if (this.#failure !== undefined) throw this.#failure
    try {
      return this.#next() as ReturnType<PacketReader<R>['next']>
    } catch (error) {
      if (error instanceof MalformedPacketError) this.#fail(error)
      throw error
    }
  }

  #fail(error: MalformedPacketError): void {
    this.#failure = error
    this.#dropChunk()
    this.#queue = undefined
    this.#queuedBytes = 0
    this.#assembly = nothing
    this.#assembledBytes = 0
  }

  #next(): Packet | undefined {
    if (this.#assembledBytes > 0) return this.#nextAssembled()
    if (this.#position === this.#chunk.length && !this.#takeFromQueue()) return undefined
    const chunk = this.#chunk
    if (!this.#readFixedHeader(chunk, this.#position, chunk.length) || this.#packetEnd > chunk.length) {
      return this.#nextAssembled()
    }
    const start = this.#position
    if (this.#packetEnd < chunk.length) this.#position = this.#packetEnd
    else this.#dropChunk()
    return this.#decode(chunk, start)
  }

  /** A connection that is silent from now on holds none of its bytes. */
  #dropChunk(): void {
    this.#chunk = nothing
    this.#position = 0
  }

  /** Makes the next waiting chunk the current one, and drops the chunk that was read to its end. */
  #takeFromQueue(): boolean {
    // The queue has more than one element only when the caller has left packets unread, and then
    // only a few: `shift` is cheap.
    const chunk = this.#queue?.shift()
    this.#chunk = chunk ?? nothing
    this.#position = 0
    this.#queuedBytes -= this.#chunk.length
    return chunk !== undefined
  }

  /**
   * Reads the fixed header between two positions, and refuses faults that it shows already; false
   * when it is not complete.
   */
  #readFixedHeader(bytes: Buffer, start: number, end: number): boolean {
    if (start === end) return false
    const firstByte = bytes[start] as number
    if (this.#allowedFirstBytes[firstByte] === 0) this.#refuseFirstByte(firstByte)
    if (this.#fromClient && (firstByte === 0x10) !== (this.protocolVersion === undefined)) this.#refuseOrder(firstByte)
    let position = start + 1
    let remainingLength = 0
    for (let shift = 0; ; shift += 7) {
      if (shift === 28)
        this.#throw(ReasonCodes.malformedPacket, 'the Remaining Length has more than four bytes', firstByte)
      if (position === end) return false
      const byte = bytes[position++] as number
      remainingLength |= (byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    this.#bodyStart = position
    this.#packetEnd = position + remainingLength
    if (this.#packetEnd - start > this.maximumPacketSizeBytes) {
      this.#throw(ReasonCodes.packetTooLarge, 'the packet is larger than the maximum packet size', firstByte)
    }
    return true
  }

  /** Gathers a packet that is split over chunks, and reads it when it is complete. */
  #nextAssembled(): Packet | undefined {
    for (;;) {
      if (this.#assemblySize === 0 && this.#readFixedHeader(this.#assembly, 0, this.#assembledBytes)) {
        this.#assemblySize = this.#packetEnd
      }
      if (this.#assemblySize === 0) {
        if (!this.#assemble(1)) return undefined
      } else if (this.#assembledBytes < this.#assemblySize) {
        if (!this.#assemble(this.#assemblySize - this.#assembledBytes)) return undefined
      } else {
        const packet = this.#assembly.subarray(0, this.#assemblySize)
        this.#assembly = nothing
        this.#assembledBytes = 0
        this.#assemblySize = 0
        return this.#decode(packet, 0)
      }
    }
  }

  /**
   * Moves up to `wanted` bytes of the current chunk into the assembly; false when no bytes wait.
   */
  #assemble(wanted: number): boolean {
    if (this.#position === this.#chunk.length && !this.#takeFromQueue()) return false
    const count = Math.min(wanted, this.#chunk.length - this.#position)
    const size = this.#assembledBytes + count
    if (size > this.#assembly.length) {
      const roomy = Math.max(size, 2 * this.#assembly.length, FIRST_ASSEMBLY_BYTES)
      const grown = Buffer.allocUnsafe(this.#assemblySize === 0 ? 5 : Math.min(roomy, this.#assemblySize))
      this.#assembly.copy(grown, 0, 0, this.#assembledBytes)
      this.#assembly = grown
    }
    this.#chunk.copy(this.#assembly, this.#assembledBytes, this.#position, this.#position + count)
    this.#position += count
    this.#assembledBytes = size
    return true
  }

  #decode(bytes: Buffer, start: number): Packet {
    const firstByte = bytes[start] as number
    const type = packetTypes[firstByte >> 4] as PacketType
    cursor.bytes = bytes
    cursor.start = start
    cursor.position = this.#bodyStart
    cursor.end = this.#packetEnd
    cursor.packetType = type
    cursor.protocolVersion = this.protocolVersion
    try {
      if (type === 'connect') {
        const packet = decodeConnect(cursor)
        this.protocolVersion = packet.protocolVersion
        return packet
      }
      assert(this.protocolVersion !== undefined, 'the protocol version of the server is not set')
      return decodeBody(type, firstByte, this.protocolVersion, this.#fromClient)
    } finally {
      cursor.release()
    }
  }

  #refuseFirstByte(firstByte: number): never {
    const type = firstByte >> 4
    const name = packetTypes[type]
    if (name === undefined) this.#throw(ReasonCodes.malformedPacket, 'packet type 0 is reserved', firstByte)
    if (!directions[name][this.#fromClient ? 'fromClient' : 'fromServer']) {
      this.#throw(ReasonCodes.protocolError, `this side does not receive ${name}`, firstByte)
    }
    // [MQTT-2.1.3-1] [MQTT-3.6.1-1] [MQTT-3.8.1-1] [MQTT-3.10.1-1] [MQTT-3.14.1-1] [MQTT-3.15.1-1]
    // [MQTT311-2.2.2-1] [MQTT311-2.2.2-2] [MQTT311-3.14.1-1]
    return this.#throw(
      ReasonCodes.malformedPacket,
      `the flags of ${name} are not the ones that it must have`,
      firstByte,
    )
  }

  #refuseOrder(firstByte: number): never {
    if (firstByte === 0x10) this.#throw(ReasonCodes.protocolError, 'a second CONNECT', firstByte) // [MQTT-3.1.0-2] [MQTT311-3.1.0-2]
    return this.#throw(ReasonCodes.protocolError, 'the first packet is not CONNECT', firstByte) // [MQTT-3.1.0-1] [MQTT311-3.1.0-1]
  }

  #throw(reasonCode: ReasonCode, message: string, firstByte: number): never {
    throw new MalformedPacketError(reasonCode, message, packetTypes[firstByte >> 4], this.protocolVersion)
  }
}

function decodeBody(
  type: Exclude<PacketType, 'connect'>,
  firstByte: number,
  protocolVersion: ProtocolVersion,
  fromClient: boolean,
): Packet {
  switch (type) {
    case 'publish':
      return decodePublish(cursor, firstByte & 0x0f, protocolVersion, fromClient)
    case 'puback':
    case 'pubrec':
    case 'pubrel':
    case 'pubcomp':
      return decodeAcknowledgement(cursor, type, protocolVersion)
    case 'connack':
      return decodeConnack(cursor, protocolVersion)
    case 'subscribe':
      return decodeSubscribe(cursor, protocolVersion)
    case 'suback':
      return decodeSuback(cursor, protocolVersion)
    case 'unsubscribe':
      return decodeUnsubscribe(cursor, protocolVersion)
    case 'unsuback':
      return decodeUnsuback(cursor, protocolVersion)
    case 'pingreq':
      return decodePingreq(cursor)
    case 'pingresp':
      return decodePingresp(cursor)
    case 'disconnect':
      return decodeDisconnect(cursor, protocolVersion, fromClient)
    case 'auth':
      break
  }
  if (protocolVersion === 4) cursor.malformed('packet type 15 is reserved in MQTT 3.1.1')
  return decodeAuth(cursor, fromClient)
}

/** By the upper half of the first byte (MQTT 5.0 Table 2-1); 0 is reserved. */
const packetTypes: readonly (PacketType | undefined)[] = [
  undefined,
  'connect',
  'connack',
  'publish',
  'puback',
  'pubrec',
  'pubrel',
  'pubcomp',
  'subscribe',
  'suback',
  'unsubscribe',
  'unsuback',
  'pingreq',
  'pingresp',
  'disconnect',
  'auth',
]

interface Direction {
  readonly fromClient: boolean
  readonly fromServer: boolean
  /** The lower half of the first byte (MQTT 5.0 Table 2-2); undefined where it has a meaning. */
  readonly flags: number | undefined
}

/** The senders of each packet, and its flags. In MQTT 3.1.1 no server sends DISCONNECT. */
const directions: { readonly [type in PacketType]: Direction } = {
  connect: { fromClient: true, fromServer: false, flags: 0 },
  connack: { fromClient: false, fromServer: true, flags: 0 },
  publish: { fromClient: true, fromServer: true, flags: undefined },
  puback: { fromClient: true, fromServer: true, flags: 0 },
  pubrec: { fromClient: true, fromServer: true, flags: 0 },
  pubrel: { fromClient: true, fromServer: true, flags: 2 },
  pubcomp: { fromClient: true, fromServer: true, flags: 0 },
  subscribe: { fromClient: true, fromServer: false, flags: 2 },
  suback: { fromClient: false, fromServer: true, flags: 0 },
  unsubscribe: { fromClient: true, fromServer: false, flags: 2 },
  unsuback: { fromClient: false, fromServer: true, flags: 0 },
  pingreq: { fromClient: true, fromServer: false, flags: 0 },
  pingresp: { fromClient: false, fromServer: true, flags: 0 },
  disconnect: { fromClient: true, fromServer: true, flags: 0 },
  auth: { fromClient: true, fromServer: true, flags: 0 },
}

const firstBytesOfClients = firstBytes('fromClient')
const firstBytesOfServers = firstBytes('fromServer')

/** For each first byte: 1 when a packet in this direction may begin with it. */
function firstBytes(sender: 'fromClient' | 'fromServer'): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, firstByte) => {
    const type = packetTypes[firstByte >> 4]
    if (type === undefined || !directions[type][sender]) return 0
    const { flags } = directions[type]
    return flags === undefined || flags === (firstByte & 0x0f) ? 1 : 0
  })
}
