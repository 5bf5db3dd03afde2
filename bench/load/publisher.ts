/** One publisher: its packets, numbered and stamped, and the count of its messages on their way. */
import assert from 'node:assert'
import { encodePublish } from '../../src/mqtt/publish.ts'
import type { Connection } from './connection.ts'
import { PAYLOAD_BYTES } from './job.ts'
import type { JobQoS } from './job.ts'

/** The most messages of a publisher that may be on their way: the size of its ring. */
const MAXIMUM_WINDOW = 1_024
/**
 * Bytes that may wait in the generator's own socket. If more wait, the broker does not read fast
 * enough.
 */
const MAXIMUM_WAITING_BYTES = 262_144
const LAST_PACKET_ID = 65_535

/**
 * The positions in the payload: stream, number within the stream, number within the publisher, time
 * of sending in ms.
 */
export const PAYLOAD = { stream: 0, streamSequence: 4, publisherSequence: 8, sentAtMs: 12 } as const

/** A stream, as its publisher sees it. */
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
  /** By number of the message: the count of receivers that have not got it yet. */
  readonly #missing = new Uint16Array(MAXIMUM_WINDOW)
  /** By number of the message: the time of sending; NaN when it is acknowledged. */
  readonly #sentAtMs = new Float64Array(MAXIMUM_WINDOW)
  readonly #qos: JobQoS
  readonly #window: number
  #sent = 0
  /** All messages below this number have reached all of their receivers. */
  #arrived = 0
  /** All messages below this number are acknowledged. */
  #acknowledged = 0
  #turn = 0
  /** True while the publisher stands in the list of those that may send again. */
  isListed = false

  constructor(connection: Connection, streams: readonly OutgoingStream[], qos: JobQoS, window: number) {
    assert(window <= MAXIMUM_WINDOW)
    this.#connection = connection
    this.#window = window
    this.#qos = qos
    this.#templates = templatesOf(streams, qos)
  }

  /** The count of messages that are not acknowledged or have not reached all of their receivers. */
  get onTheirWay(): number {
    return this.#sent - Math.min(this.#arrived, this.#qos === 0 ? this.#sent : this.#acknowledged)
  }

  /**
   * Sends up to `wanted` messages in one write, at most as many as the window has room for. Returns
   * their count.
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

  /** A receiver has got the message of this number. */
  arrived(publisherSequence: number): void {
    const slot = publisherSequence % MAXIMUM_WINDOW
    this.#missing[slot] = (this.#missing[slot] as number) - 1
    while (this.#arrived < this.#sent && this.#missing[this.#arrived % MAXIMUM_WINDOW] === 0) this.#arrived += 1
  }

  /** The time since a message was sent that waits for its PUBACK, ms; NaN if none has this id. */
  waitedMs(packetId: number, nowMs: number): number {
    const number = this.#numberOf(packetId)
    return number < this.#sent ? nowMs - (this.#sentAtMs[number % MAXIMUM_WINDOW] as number) : NaN
  }

  /** Takes the PUBACK of a message that waits for it; false: an earlier message waits as well. */
  acknowledged(packetId: number): boolean {
    const number = this.#numberOf(packetId)
    const isNext = number === this.#acknowledged
    this.#sentAtMs[number % MAXIMUM_WINDOW] = NaN
    while (this.#acknowledged < this.#sent && Number.isNaN(this.#sentAtMs[this.#acknowledged % MAXIMUM_WINDOW])) {
      this.#acknowledged += 1
    }
    return isNext
  }

  /** The number of the first message from the oldest unacknowledged one on that has this id. */
  #numberOf(packetId: number): number {
    const ahead = packetId - packetIdOf(this.#acknowledged)
    return this.#acknowledged + (ahead < 0 ? ahead + LAST_PACKET_ID : ahead)
  }

  #template(turn: number): Template {
    return this.#templates[turn] as Template
  }

  #pack(bytes: Buffer, at: number, { bytes: packet, packetIdOffset, stream }: Template, nowMs: number): number {
    bytes.set(packet, at)
    if (packetIdOffset > 0) {
      bytes.writeUInt16BE(packetIdOf(this.#sent), at + packetIdOffset)
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

/** The Packet Identifier of a publisher's message, by its number: 1 to 65,535, and 1 again. */
function packetIdOf(number: number): number {
  return 1 + (number % LAST_PACKET_ID)
}

/**
 * One packet for each Topic Name, the streams in turn, so that neighbours in time belong to
 * different streams.
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
