/**
 * One publisher: its packets, numbered and stamped, and how many of its messages are on their way.
 */
import assert from 'node:assert'
import { encodePublish } from '../../src/mqtt/publish.ts'
import type { Connection } from './connection.ts'
import { PAYLOAD_BYTES } from './job.ts'
import type { JobQoS } from './job.ts'

/** Messages of a publisher that may be on their way at most: the room of its ring. */
const MAXIMUM_WINDOW = 1_024
/**
 * Bytes that may wait in the generator's own socket: beyond, the broker is the one that does not
 * read.
 */
const MAXIMUM_WAITING_BYTES = 262_144
const LAST_PACKET_ID = 65_535

/**
 * Where the payload says what: stream, number within the stream, number within the publisher, time
 * of sending in ms.
 */
export const PAYLOAD = { stream: 0, streamSequence: 4, publisherSequence: 8, sentAtMs: 12 } as const

/** A stream as its publisher sees it. */
export interface OutgoingStream {
  readonly index: number
  readonly receivers: number
  readonly topicNames: readonly string[]
  /** Messages sent. */
  sent: number
}

interface Template {
  readonly bytes: Buffer
  readonly packetIdOffset: number
  readonly stream: OutgoingStream
}

export class Publisher {
  readonly #connection: Connection
  readonly #templates: readonly Template[]
  /** By number of the message: receivers that have not got it yet. */
  readonly #missing = new Uint16Array(MAXIMUM_WINDOW)
  /** By number of the message: when it was sent. */
  readonly #sentAtMs = new Float64Array(MAXIMUM_WINDOW)
  readonly #qos: JobQoS
  readonly #window: number
  #sent = 0
  /** All messages below have reached all of their receivers. */
  #arrived = 0
  #acknowledged = 0
  #packetId = 0
  #awaitedPacketId = 0
  #turn = 0
  /** True while it stands in the list of those that may send again. */
  isListed = false

  constructor(connection: Connection, streams: readonly OutgoingStream[], qos: JobQoS, window: number) {
    assert(window <= MAXIMUM_WINDOW)
    this.#connection = connection
    this.#window = window
    this.#qos = qos
    this.#templates = templatesOf(streams, qos)
  }

  /** Messages that have not reached all of their receivers, or are not acknowledged. */
  get onTheirWay(): number {
    return this.#sent - Math.min(this.#arrived, this.#qos === 0 ? this.#sent : this.#acknowledged)
  }

  /**
   * Sends up to so many messages in one write; fewer when more than the window would be on their
   * way. Answers how many.
   */
  send(wanted: number): number {
    const count = Math.min(wanted, this.#window - this.onTheirWay)
    if (count <= 0 || this.#connection.socket.writableLength > MAXIMUM_WAITING_BYTES) return 0
    const turns = this.#templates.length
    let size = 0
    for (let index = 0; index < count; index += 1) size += this.#template((this.#turn + index) % turns).bytes.length
    const bytes = Buffer.allocUnsafe(size)
    const nowMs = performance.now()
    let at = 0
    for (let index = 0; index < count; index += 1) {
      at = this.#pack(bytes, at, this.#template(this.#turn), nowMs)
      this.#turn = (this.#turn + 1) % turns
    }
    this.#connection.write(bytes)
    return count
  }

  /** A receiver has got the message of that number. */
  arrived(publisherSequence: number): void {
    const slot = publisherSequence % MAXIMUM_WINDOW
    this.#missing[slot] = (this.#missing[slot] as number) - 1
    while (this.#arrived < this.#sent && this.#missing[this.#arrived % MAXIMUM_WINDOW] === 0) this.#arrived += 1
  }

  /** Milliseconds since the message whose PUBACK comes next was sent. */
  awaitedMs(nowMs: number): number {
    return nowMs - (this.#sentAtMs[this.#acknowledged % MAXIMUM_WINDOW] as number)
  }

  /** A PUBACK; false when it is not the one that comes next [MQTT311-4.6.0-2]. */
  acknowledged(packetId: number): boolean {
    this.#awaitedPacketId = this.#awaitedPacketId === LAST_PACKET_ID ? 1 : this.#awaitedPacketId + 1
    this.#acknowledged += 1
    return packetId === this.#awaitedPacketId
  }

  #template(turn: number): Template {
    return this.#templates[turn] as Template
  }

  #pack(bytes: Buffer, at: number, { bytes: packet, packetIdOffset, stream }: Template, nowMs: number): number {
    bytes.set(packet, at)
    if (packetIdOffset > 0) {
      this.#packetId = this.#packetId === LAST_PACKET_ID ? 1 : this.#packetId + 1
      bytes.writeUInt16BE(this.#packetId, at + packetIdOffset)
    }
    const end = at + packet.length
    const payload = end - PAYLOAD_BYTES
    bytes.writeUInt32BE(stream.sent, payload + PAYLOAD.streamSequence)
    bytes.writeUInt32BE(this.#sent, payload + PAYLOAD.publisherSequence)
    bytes.writeDoubleBE(nowMs, payload + PAYLOAD.sentAtMs)
    this.#missing[this.#sent % MAXIMUM_WINDOW] = stream.receivers
    this.#sentAtMs[this.#sent % MAXIMUM_WINDOW] = nowMs
    this.#sent += 1
    stream.sent += 1
    return end
  }
}

/**
 * One packet for each Topic Name, the streams in turn: neighbours in time are of different streams.
 */
function templatesOf(streams: readonly OutgoingStream[], qos: JobQoS): Template[] {
  const longest = Math.max(...streams.map(({ topicNames }) => topicNames.length))
  const templates: Template[] = []
  for (let turn = 0; turn < longest; turn += 1) {
    for (const stream of streams) {
      const topicName = stream.topicNames[turn]
      if (topicName === undefined) continue
      const payload = Buffer.alloc(PAYLOAD_BYTES, 0x2e)
      payload.writeUInt32BE(stream.index, PAYLOAD.stream)
      templates.push({ stream, ...encodePublish({ topicName, payload, qos, retain: false, dup: false }, 4) })
    }
  }
  return templates
}
