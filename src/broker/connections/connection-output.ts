/**
 * The packets that a connection sends: encoded as its client takes them, and written after the
 * turn.
 */
import { encodePacket } from '../../mqtt/encode-packet.ts'
import type { AcknowledgementPacket, ProtocolVersion, QoS, ServerPacket } from '../../mqtt/packet.ts'
import type { TurnShare } from '../delivery/turn-shares.ts'
import type { Flushable } from '../delivery/turns.ts'
import type { TenantMemory, UnreadOutput } from '../memory/tenant-memory.ts'
import type { Message } from '../ports/message.ts'
import type { BytesPart, Transport } from '../ports/transport.ts'
import type { Agreement } from './agreement.ts'
import type { ConnectionHost } from './connection-host.ts'
import { encodeForReader } from './encode-for-reader.ts'
import { WriteBuffer } from './write-buffer.ts'
import type { ByteSink } from './write-buffer.ts'
import { OutgoingTopicAliases } from './topic-aliases.ts'
import type { Traffic } from './traffic.ts'

const ACKNOWLEDGEMENT_FIRST_BYTE = { puback: 0x40, pubrec: 0x50, pubrel: 0x62, pubcomp: 0x70 } as const

/** The connection: it is told when its client does not read. */
export interface OutputOwner {
  readonly congested: boolean
  becomesCongested(): void
  /** The client has taken the bytes that waited for it. */
  drained(): void
}

/** Fewer unread bytes are not counted: nearly every write leaves some until the end of its turn. */
const COUNTED_FROM_BYTES = 4_096

type OutputHost = Pick<
  ConnectionHost<never>,
  'clock' | 'limits' | 'counters' | 'second' | 'lastJoin' | 'flushLater' | 'accounts'
>

export interface ConnectionOutputOptions {
  readonly host: OutputHost
  readonly transport: Transport
  readonly traffic: Traffic
  readonly owner: OutputOwner
}

export class ConnectionOutput implements Flushable, UnreadOutput, ByteSink {
  /**
   * The version in which packets are encoded. Until CONNECT is accepted, the version of its
   * refusal.
   */
  protocolVersion: ProtocolVersion = 5
  /** Pays for the time that writing takes: nobody's share, until CONNECT is accepted. */
  share: TurnShare
  /** Bytes of the largest packet that the client takes. */
  maximumPacketSizeBytes = Infinity
  readonly #host: OutputHost
  readonly #transport: Transport
  readonly #traffic: Traffic
  readonly #owner: OutputOwner
  readonly #buffer: WriteBuffer
  #aliases: OutgoingTopicAliases | undefined = undefined
  /** The account of the client's tenant; undefined before CONNACK. */
  #memory: TenantMemory | undefined = undefined
  /** The bytes that the account counts for this client. */
  #countedBytes = 0
  #flushPlanned = false
  #isHeld = false
  #isClosed = false

  constructor({ host, transport, traffic, owner }: ConnectionOutputOptions) {
    this.#host = host
    this.share = host.accounts.nobody.writing
    this.#transport = transport
    this.#traffic = traffic
    this.#owner = owner
    this.#buffer = new WriteBuffer(host.lastJoin, this)
  }

  /** The client's CONNECT was accepted. */
  agree(agreement: Pick<Agreement, 'protocolVersion' | 'outgoingTopicAliasMaximum' | 'session'>): void {
    this.protocolVersion = agreement.protocolVersion
    this.#memory = agreement.session.memory
    const maximum = agreement.outgoingTopicAliasMaximum
    if (maximum > 0) this.#aliases = new OutgoingTopicAliases(maximum)
  }

  /**
   * Sends the packet, without its Reason String and User Properties if it would be too large for
   * the client. False: it is too large even then, and was not sent [MQTT-3.1.2-24].
   */
  send(packet: ServerPacket): boolean {
    const bytes = this.#encodeWithin(packet)
    if (bytes === undefined) return false
    this.#buffer.packet(bytes)
    this.#flushLater()
    return true
  }

  /** Sends an acknowledgement without Reason Code. */
  acknowledge(type: AcknowledgementPacket['type'], packetId: number): void {
    this.#buffer.acknowledgement(ACKNOWLEDGEMENT_FIRST_BYTE[type], packetId)
    this.#flushLater()
  }

  /** Sends a PUBLISH. False: it is larger than the client takes, and was not sent. */
  publish(
    message: Message,
    qos: QoS,
    retain: boolean,
    dup: boolean,
    packetId: number,
    subscriptionIdentifiers: readonly number[] | undefined,
  ): boolean {
    const { protocolVersion, maximumPacketSizeBytes } = this
    const host = this.#host
    const isShared =
      protocolVersion === 4 ||
      (subscriptionIdentifiers === undefined && message.expiresAtMs === Infinity && this.#aliases === undefined)
    const shared = isShared
      ? message.shared(protocolVersion, qos > 0)
      : encodeForReader(message, {
          qos,
          retain,
          dup,
          subscriptionIdentifiers,
          aliases: this.#aliases,
          maximumPacketSizeBytes,
          now: host.clock.steady(),
        })
    if (shared === undefined || shared.end - shared.start > maximumPacketSizeBytes) {
      host.counters.publishesDropped += 1
      return false
    }
    this.#buffer.publish(shared, qos, retain, dup, packetId)
    host.counters.publishesSent += 1
    this.#traffic.turn(host.second)
    this.#traffic.messagesOut += 1
    this.#flushLater()
    return true
  }

  /**
   * From here on packets wait for `release`. Beyond the bound of the buffer they are written all
   * the same: a client that is slow to be accepted must not cost memory.
   */
  hold(): void {
    this.#isHeld = true
  }

  /** Writes the packets that `hold` held up, after the turn. */
  release(): void {
    this.#isHeld = false
    this.#flushLater()
  }

  /** Writes the packets that wait. Called once after each turn in which something was sent. */
  flush(): void {
    this.#flushPlanned = false
    if (!this.#isClosed) this.#buffer.flush()
  }

  /** Nothing more is written. */
  close(): void {
    this.#isClosed = true
    this.#count(0)
  }

  /** Looks again at how many bytes the client has not taken. */
  recount(): void {
    const bytes = this.#transport.bufferedBytes
    this.#count(bytes)
    // A socket tells only of the end of many bytes.
    if (bytes === 0 && this.#owner.congested) this.#owner.drained()
  }

  #count(unreadBytes: number): void {
    const bytes = unreadBytes < COUNTED_FROM_BYTES ? 0 : unreadBytes
    const memory = this.#memory
    if (bytes === this.#countedBytes || memory === undefined) return
    memory.outgoingBytes += bytes - this.#countedBytes
    this.#countedBytes = bytes
    if (bytes === 0) memory.unread.delete(this)
    else memory.unread.add(this)
  }

  #flushLater(): void {
    if (this.#flushPlanned || this.#isHeld) return
    this.#flushPlanned = true
    this.#host.flushLater(this)
  }

  /** Called by the buffer. */
  write(part: BytesPart, isLent: boolean): void {
    const host = this.#host
    const length = part.end - part.start
    host.counters.bytesSent += length
    this.#traffic.turn(host.second)
    this.#traffic.bytesOut += length
    this.#transport.write(part, isLent)
    const unreadBytes = this.#transport.bufferedBytes
    this.#count(unreadBytes)
    const isFull = unreadBytes >= host.limits.maximumOutgoingBytes || this.#memory?.isTooMuch(unreadBytes) === true
    if (isFull && !this.#owner.congested) this.#owner.becomesCongested()
  }

  /**
   * The packet as the client takes it; undefined when it is too large even without a Reason String
   * and User Properties.
   */
  #encodeWithin(packet: ServerPacket): Buffer | undefined {
    const bytes = encodePacket(packet, this.protocolVersion)
    if (bytes.length <= this.maximumPacketSizeBytes) return bytes
    if (!('properties' in packet) || packet.properties === undefined) return undefined
    // [MQTT-3.2.2-19], [MQTT-3.2.2-20], [MQTT-3.4.2-2], [MQTT-3.5.2-2], [MQTT-3.9.2-1],
    // [MQTT-3.14.2-3], [MQTT-3.15.2-3]
    const properties = { ...packet.properties, reasonString: undefined, userProperties: undefined }
    const plain = encodePacket({ ...packet, properties }, this.protocolVersion)
    return plain.length <= this.maximumPacketSizeBytes ? plain : undefined
  }
}
