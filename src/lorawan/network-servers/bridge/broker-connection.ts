/**
 * One connection of this service to another MQTT broker. The general-purpose client libraries read
 * the next packet only after they have written the PUBACK of the last one: a bridge would own one
 * message per write to the disk. This connection takes a whole window of messages at a time, and
 * acknowledges each when it is owned, in the order in which they came [MQTT-4.6.0-2].
 */
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../clock.ts'
import { encodePacket } from '../../../mqtt/encode-packet.ts'
import { PacketReader } from '../../../mqtt/packet-reader.ts'
import type { Packet, ProtocolVersion, PublishPacket, ServerPacket } from '../../../mqtt/packet.ts'
import { isFailure } from '../../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../../mqtt/reason-codes.ts'

/** Why a connection ended. The code is for logs and metrics. */
export class BrokerConnectionError extends Error {
  readonly code: 'refused' | 'protocol_error' | 'timeout' | 'closed' | 'event_not_owned'

  constructor(code: BrokerConnectionError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BrokerConnectionError'
    this.code = code
  }
}

export interface BrokerConnectionSettings {
  readonly protocolVersion: ProtocolVersion
  readonly clientId: string
  readonly userName: string | undefined
  readonly password: string | undefined
  readonly sessionExpirySeconds: number
  readonly topicFilter: string
  /**
   * Called for each message, in order. The message is acknowledged when the promise resolves; the
   * connection ends when it rejects.
   */
  readonly take: (message: PublishPacket) => Promise<void>
  readonly clock: Pick<Clock, 'after'>
}

/**
 * Messages that are being owned at a time: the Receive Maximum of this client. Messages are
 * acknowledged in order, so that one uplink that waits for its application's script holds up the
 * PUBACKs behind it. The window therefore has room for a few seconds of events.
 */
const RECEIVE_WINDOW = 1_024
/**
 * Messages that are being owned at a time, for a broker of MQTT 3.1.1, which has a window of its
 * own. Beyond this bound or the next, the socket is not read, and the broker's answers are not read
 * either: a connection that can't own events for long ends, and the broker sends them again.
 */
const MAXIMUM_TAKEN = 2_048
/**
 * Payloads and Topic Names of the messages that are being owned, in bytes: a full window of events
 * as large as real ones get. Stops a broker with huge events from filling the memory.
 */
const MAXIMUM_TAKEN_BYTES = 8_388_608
/** Messages that the broker has not acknowledged, at a time. */
const SEND_WINDOW = 64
/**
 * The largest packet that is read, in bytes; an event of a device has some KB. A larger packet ends
 * the connection.
 */
const MAXIMUM_PACKET_BYTES = 1_048_576
/** How long the broker may take to answer before the connection is given up. */
const ANSWER_MS = 15_000
const KEEP_ALIVE_SECONDS = 30
/**
 * How long DISCONNECT may take to reach the broker. A broker that does not close its end by then is
 * cut off.
 */
const LINGER_MS = 5_000
/** The Packet Identifier of SUBSCRIBE; those of PUBLISH packets are higher. */
const SUBSCRIBE_ID = 1
const MAXIMUM_PACKET_ID = 65_535

interface Taken {
  readonly packetId: number
  readonly sizeBytes: number
  isOwned: boolean
}

interface Sent {
  resolve(reasonCode: ReasonCode): void
  reject(error: BrokerConnectionError): void
}

export class BrokerConnection {
  /** Resolves once, with the reason why the connection ended. */
  readonly ended: Promise<BrokerConnectionError>
  /** Resolves when events and commands can pass; rejects when the connection ends before that. */
  readonly ready: Promise<void>
  readonly #socket: Duplex
  readonly #settings: BrokerConnectionSettings
  readonly #reader: PacketReader<'client'>
  readonly #taken: Taken[] = []
  #takenBytes = 0
  readonly #sent = new Map<number, Sent>()
  readonly #setEnded: (error: BrokerConnectionError) => void
  readonly #setReady: { resolve(): void; reject(error: BrokerConnectionError): void }
  #state: 'connecting' | 'subscribing' | 'ready' | 'over' = 'connecting'
  #cancelWait: () => void
  #lastPacketId = SUBSCRIBE_ID
  #sendWindow = SEND_WINDOW

  /** Takes over an open socket, and sends CONNECT at once. */
  constructor(socket: Duplex, settings: BrokerConnectionSettings) {
    const ended = Promise.withResolvers<BrokerConnectionError>()
    const ready = Promise.withResolvers<void>()
    this.ended = ended.promise
    this.ready = ready.promise
    // A caller that wants the reason waits for `ended`.
    ready.promise.catch(() => undefined)
    this.#setEnded = ended.resolve
    this.#setReady = ready
    this.#socket = socket
    this.#settings = settings
    this.#reader = new PacketReader({ role: 'client', maximumPacketSizeBytes: MAXIMUM_PACKET_BYTES })
    this.#reader.protocolVersion = settings.protocolVersion
    socket.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk)
      this.#read()
    })
    socket.on('error', (error) => this.#end('closed', error.message, error))
    socket.on('close', () => this.#end('closed', 'the broker closed the connection'))
    this.#cancelWait = this.#limitWait('CONNACK')
    this.#sendConnect()
  }

  /** How many messages the broker has not acknowledged yet. */
  get unacknowledged(): number {
    return this.#sent.size
  }

  /** True when the broker can be given one more message. */
  get hasRoom(): boolean {
    return this.#state === 'ready' && this.#sent.size < this.#sendWindow
  }

  /**
   * Publishes at QoS 1; resolves with the Reason Code of the PUBACK. Rejects when the connection
   * ends before that.
   */
  publish(topicName: string, payload: Buffer): Promise<ReasonCode> {
    if (!this.hasRoom) return Promise.reject(new BrokerConnectionError('closed', 'the connection has no room'))
    const { promise, resolve, reject } = Promise.withResolvers<ReasonCode>()
    const packetId = this.#nextPacketId()
    const giveUp = this.#limitWait('PUBACK')
    this.#sent.set(packetId, {
      resolve: (reasonCode) => {
        giveUp()
        resolve(reasonCode)
      },
      reject: (error) => {
        giveUp()
        reject(error)
      },
    })
    this.#send({ type: 'publish', topicName, payload, qos: 1, retain: false, dup: false, packetId })
    return promise
  }

  /** Disconnects in order; the Session stays. */
  close(): void {
    if (this.#state !== 'over' && this.#state !== 'connecting') this.#send({ type: 'disconnect', reasonCode: 0 })
    this.#socket.end()
    // After 'close' nothing would cancel this timer, which keeps the process alive.
    if (!this.#socket.closed) {
      const cut = this.#settings.clock.after(LINGER_MS, () => this.#socket.destroy())
      this.#socket.once('close', cut)
    }
    this.#end('closed', 'closed by this side')
  }

  #sendConnect(): void {
    const { clientId, userName, password, protocolVersion, sessionExpirySeconds } = this.#settings
    const properties = {
      sessionExpiryIntervalSeconds: sessionExpirySeconds,
      receiveMaximum: RECEIVE_WINDOW,
      maximumPacketSizeBytes: MAXIMUM_PACKET_BYTES,
    }
    this.#send({
      type: 'connect',
      protocolVersion,
      cleanStart: false,
      keepAliveSeconds: KEEP_ALIVE_SECONDS,
      clientId,
      userName,
      password: password === undefined ? undefined : Buffer.from(password),
      ...(protocolVersion === 5 ? { properties } : {}),
    })
  }

  #read(): void {
    try {
      while (this.#state !== 'over' && this.#mayTakeMore) {
        const packet = this.#reader.next()
        if (packet === undefined) return
        this.#handle(packet)
      }
    } catch (error) {
      this.#end('protocol_error', error instanceof Error ? error.message : 'malformed packet')
    }
    if (this.#state !== 'over') this.#socket.pause()
  }

  #handle(packet: ServerPacket): void {
    switch (packet.type) {
      case 'connack': {
        if (this.#state !== 'connecting') return this.#end('protocol_error', 'a second CONNACK')
        const reason = packet.properties?.reasonString
        if (packet.reasonCode !== 0) return this.#end('refused', `CONNACK ${codeText(packet.reasonCode, reason)}`)
        if (packet.properties?.maximumQoS === 0) return this.#end('refused', 'the broker has no QoS 1')
        this.#sendWindow = Math.min(packet.properties?.receiveMaximum ?? SEND_WINDOW, SEND_WINDOW)
        this.#state = 'subscribing'
        return this.#subscribe()
      }
      case 'suback': {
        const [reasonCode = 0x80] = packet.reasonCodes
        if (isFailure(reasonCode)) return this.#end('refused', `SUBACK ${codeText(reasonCode, undefined)}`)
        return this.#becomeReady()
      }
      case 'publish':
        return this.#take(packet)
      case 'puback': {
        const sent = this.#sent.get(packet.packetId)
        this.#sent.delete(packet.packetId)
        return sent?.resolve(packet.reasonCode)
      }
      case 'pingresp':
        this.#cancelWait()
        return this.#keepAlive()
      case 'disconnect':
        return this.#end('closed', `DISCONNECT ${codeText(packet.reasonCode, packet.properties?.reasonString)}`)
      case 'pubrec':
      case 'pubrel':
      case 'pubcomp':
      case 'unsuback':
      case 'auth':
        return this.#end('protocol_error', `${packet.type} answers nothing that was sent`)
    }
  }

  #subscribe(): void {
    this.#cancelWait()
    this.#cancelWait = this.#limitWait('SUBACK')
    const { topicFilter } = this.#settings
    // Each subscription would bring old retained events again.
    const options = { noLocal: false, retainAsPublished: false, retainHandling: 2 } as const
    this.#send({ type: 'subscribe', packetId: SUBSCRIBE_ID, subscriptions: [{ topicFilter, qos: 1, ...options }] })
  }

  #becomeReady(): void {
    if (this.#state !== 'subscribing') return this.#end('protocol_error', 'a second SUBACK')
    this.#state = 'ready'
    this.#cancelWait()
    this.#keepAlive()
    this.#setReady.resolve()
  }

  get #mayTakeMore(): boolean {
    return this.#taken.length < MAXIMUM_TAKEN && this.#takenBytes < MAXIMUM_TAKEN_BYTES
  }

  #take(packet: PublishPacket): void {
    if (packet.qos === 2) return this.#end('protocol_error', 'a message above the QoS of the subscription')
    const sizeBytes = packet.payload.length + packet.topicName.length
    const taken: Taken = { packetId: packet.packetId, sizeBytes, isOwned: false }
    this.#taken.push(taken)
    this.#takenBytes += sizeBytes
    this.#settings.take(packet).then(
      () => {
        taken.isOwned = true
        this.#acknowledge()
      },
      (error: unknown) => this.#end('event_not_owned', error instanceof Error ? error.message : 'not owned'),
    )
  }

  /** Acknowledges the owned messages up to the first one that is not owned. */
  #acknowledge(): void {
    if (this.#state === 'over') return
    let owned = 0
    while (this.#taken[owned]?.isOwned === true) owned += 1
    for (const { packetId, sizeBytes } of this.#taken.splice(0, owned)) {
      this.#takenBytes -= sizeBytes
      // A message of QoS 0 has no Packet Identifier and gets no answer.
      if (packetId !== 0) this.#send({ type: 'puback', packetId, reasonCode: 0 })
    }
    if (owned > 0) {
      this.#socket.resume()
      this.#read()
    }
  }

  #keepAlive(): void {
    this.#cancelWait = this.#settings.clock.after(KEEP_ALIVE_SECONDS * 500, () => {
      this.#cancelWait = this.#limitWait('PINGRESP')
      this.#send({ type: 'pingreq' })
    })
  }

  #limitWait(answer: string): () => void {
    return this.#settings.clock.after(ANSWER_MS, () =>
      this.#end('timeout', `no ${answer} within ${ANSWER_MS / 1000} seconds`),
    )
  }

  #nextPacketId(): number {
    do {
      this.#lastPacketId = this.#lastPacketId === MAXIMUM_PACKET_ID ? SUBSCRIBE_ID + 1 : this.#lastPacketId + 1
    } while (this.#sent.has(this.#lastPacketId))
    return this.#lastPacketId
  }

  #send(packet: Packet): void {
    if (!this.#socket.writable) return
    this.#socket.write(encodePacket(packet, this.#settings.protocolVersion))
  }

  #end(code: BrokerConnectionError['code'], message: string, cause?: Error): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#cancelWait()
    const error = new BrokerConnectionError(code, message, cause === undefined ? undefined : { cause })
    // A connection that was closed in order still has to send its DISCONNECT.
    if (!this.#socket.writableEnded) this.#socket.destroy()
    for (const sent of this.#sent.values()) sent.reject(error)
    this.#sent.clear()
    this.#setReady.reject(error)
    this.#setEnded(error)
  }
}

function codeText(reasonCode: ReasonCode, reason: string | undefined): string {
  const code = `0x${reasonCode.toString(16).padStart(2, '0')}`
  // The broker's words go into our logs: on one line, and short.
  return reason === undefined ? code : `${code} ${reason.replaceAll(/[^ -~]/g, ' ').slice(0, 200)}`
}
