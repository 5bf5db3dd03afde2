/**
 * One connection to the broker, on MQTT.js. It differs from MQTT.js in two things: PUBACK is sent
 * when the event is handled and not when it comes, and the token is renewed by AUTH while the
 * connection lives (MQTT 5.0 §4.12.1).
 */
import type { IPublishPacket, MqttClient, Packet } from 'mqtt'
import { FieldgateError } from './errors.ts'
import { encodePuback, encodeReauthentication } from './packets.ts'

/** Seconds between two signs of life. */
export const KEEP_ALIVE_SECONDS = 30
export const AUTHENTICATION_METHOD = 'JWT'
/**
 * The time between two signs of life while packets are held up, in milliseconds. A lost connection
 * shows by them alone, since nothing is read.
 */
const HELD_PING_MS = 5_000
/** The time for the answer to CONNECT, SUBSCRIBE, AUTH, and to a PUBLISH, in milliseconds. */
const ANSWER_TIMEOUT_MS = 20_000

/** Takes a PUBLISH. A promise holds up the packets behind it until it resolves. */
export type TakePublish = (packet: IPublishPacket, link: Link) => Promise<void> | undefined

/** A Topic Filter of a SUBSCRIBE. */
export interface SubscribeOptions {
  /** The id or the time from which stored events are to come first. */
  readonly replayFrom?: string
  /** Comes with each event of this subscription. */
  readonly subscriptionIdentifier?: number
}

/** The properties of a PUBLISH that the SDK sends. */
export interface PublishProperties {
  readonly responseTopic: string
  readonly correlationData: Uint8Array
}

export class Link {
  readonly #client: MqttClient
  readonly #closed = Promise.withResolvers<FieldgateError>()
  #refusal: FieldgateError | undefined = undefined
  #connectReason: string | undefined = undefined
  #sessionPresent = false
  #isClosed = false
  #take: TakePublish = () => undefined
  #renewal: PromiseWithResolvers<void> | undefined = undefined
  #heartbeat: ReturnType<typeof setInterval> | undefined = undefined

  /**
   * Resolves when the broker has accepted the connection. Rejects with its refusal: the Reason Code
   * and the sentence of CONNACK.
   */
  static async open(client: MqttClient, take: TakePublish, signal: AbortSignal): Promise<Link> {
    const link = new Link(client)
    link.#take = take
    const abort = (): void => link.#end(new FieldgateError('closed', 'the client was closed'))
    signal.addEventListener('abort', abort)
    try {
      const connected = Promise.withResolvers<void>()
      client.once('connect', () => connected.resolve())
      const failed = link.closed.then((error) => {
        throw error
      })
      await inTime(Promise.race([connected.promise, failed]), 'CONNACK')
      return link
    } catch (error) {
      link.#end(error)
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  private constructor(client: MqttClient) {
    this.#client = client
    client.handleMessage = (packet, callback) => this.#handle(packet, callback)
    client.handleAuth = (_packet, callback) => {
      this.#renewal?.resolve()
      callback()
    }
    client.on('packetreceive', (packet) => this.#saw(packet))
    client.on('error', (error) => this.#end(this.#connectRefusal(error)))
    client.on('disconnect', ({ reasonCode, properties }) => {
      this.#refusal = refusalOf('broker_disconnected', reasonCode, properties?.reasonString)
    })
    client.on('close', () => this.#end(new FieldgateError('connection_lost', 'the connection was lost', TEMPORARY)))
  }

  /** Resolves with the reason when the connection is over. */
  get closed(): Promise<FieldgateError> {
    return this.#closed.promise
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Whether the broker had a Session for the Client Identifier. */
  get isSessionPresent(): boolean {
    return this.#sessionPresent
  }

  /** Sends SUBSCRIBE at QoS 1. Rejects where any Topic Filter is refused. */
  async subscribe(topicFilters: readonly string[], options: SubscribeOptions = {}): Promise<void> {
    if (topicFilters.length === 0) return
    const { replayFrom, subscriptionIdentifier } = options
    const properties = {
      ...(replayFrom === undefined ? {} : { userProperties: { 'replay-from': replayFrom } }),
      ...(subscriptionIdentifier === undefined ? {} : { subscriptionIdentifier }),
    }
    await this.#answered('SUBACK', (done) => {
      const wishes = Object.fromEntries(topicFilters.map((filter) => [filter, { qos: 1, rh: 2 } as const]))
      this.#client.subscribe(wishes, { qos: 1, rh: 2, properties }, (error, _granted, packet) => {
        const suback = packet ?? (error as { readonly packet?: typeof packet } | null)?.packet
        const refused = suback?.granted.find((code) => Number(code) >= 0x80)
        if (refused !== undefined) {
          const reason = suback?.properties?.reasonString
          done(refusalOf('subscribe_refused', Number(refused), reason, `${topicFilters[0]} was refused`))
        } else done(error)
      })
    })
  }

  async unsubscribe(topicFilters: readonly string[]): Promise<void> {
    if (topicFilters.length === 0) return
    await this.#answered('UNSUBACK', (done) => this.#client.unsubscribe([...topicFilters], (error) => done(error)))
  }

  /** Publishes at QoS 1. Rejects with the Reason Code and the sentence of a refusal. */
  async publish(topicName: string, payload: string, properties: PublishProperties): Promise<void> {
    await this.#answered('PUBACK', (done) => {
      const { responseTopic, correlationData } = properties
      // MQTT.js asks for a Buffer, and writes the bytes of any Uint8Array.
      const given = { responseTopic, correlationData: correlationData as Buffer }
      this.#client.publish(topicName, payload, { qos: 1, properties: given }, (error, packet) => {
        if (error === undefined || error === null) {
          done(null)
          return
        }
        const { code } = error as { readonly code?: unknown }
        const reason = (packet as { properties?: { reasonString?: string } } | undefined)?.properties?.reasonString
        done(typeof code === 'number' ? refusalOf('publish_refused', code, reason) : error)
      })
    })
  }

  /** Sends PUBACK: the broker need not send the message again. */
  acknowledge(packetId: number): void {
    if (!this.#isClosed) this.#client.stream.write(encodePuback(packetId))
  }

  /** Gives the broker a new token on this connection. Rejects when the connection ends instead. */
  async renew(token: string): Promise<void> {
    this.#renewal = Promise.withResolvers<void>()
    const lost = this.closed.then((error) => {
      throw error
    })
    this.#client.stream.write(encodeReauthentication(AUTHENTICATION_METHOD, token))
    await inTime(Promise.race([this.#renewal.promise, lost]), 'AUTH')
  }

  /** Sends DISCONNECT, and resolves when the connection is closed. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    const closed = this.closed
    this.#client.end(false)
    await inTime(closed, 'the end of the connection').catch(() => {})
    this.#end(new FieldgateError('closed', 'the client was closed'))
  }

  /** Ends the connection without a word to the broker. */
  drop(): void {
    this.#end(new FieldgateError('connection_lost', 'the connection was given up', TEMPORARY))
  }

  #saw(packet: Packet): void {
    if (packet.cmd !== 'connack') return
    // Events may come behind CONNACK before MQTT.js says that it is connected.
    this.#sessionPresent = packet.sessionPresent
    this.#connectReason = packet.properties?.reasonString
  }

  /**
   * MQTT.js sends PUBACK when the callback is called without an error, and goes on to the next
   * packet in any case. So an error means: not acknowledged yet.
   */
  #handle(packet: IPublishPacket, callback: (error?: Error) => void): void {
    const goOn = (): void => callback(packet.qos === 0 ? undefined : ACKNOWLEDGED_LATER)
    // MQTT.js goes on with the packets that it has read before the end. The next connection brings
    // them again.
    if (this.#isClosed) {
      goOn()
      return
    }
    const held = this.#take(packet, this)
    if (held === undefined) {
      goOn()
      return
    }
    this.#keepAlive()
    const release = (): void => {
      clearInterval(this.#heartbeat)
      this.#heartbeat = undefined
      goOn()
    }
    held.then(release, release)
  }

  /** While packets are held up, MQTT.js does not see the answers to its own signs of life. */
  #keepAlive(): void {
    clearInterval(this.#heartbeat)
    this.#heartbeat = setInterval(() => {
      if (this.#isClosed) clearInterval(this.#heartbeat)
      else {
        this.#client.sendPing()
        this.#client.reschedulePing(true)
      }
    }, HELD_PING_MS)
  }

  #connectRefusal(error: Error): FieldgateError {
    const { code } = error as { readonly code?: unknown }
    if (typeof code === 'number') return refusalOf('connect_refused', code, this.#connectReason, error.message)
    return new FieldgateError('connection_failed', error.message, { isTemporary: true, cause: error })
  }

  async #answered(name: string, start: (done: (error: Error | null | undefined) => void) => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const lost = this.closed.then((error) => {
      throw error
    })
    if (!this.#isClosed) start((error) => (error === null || error === undefined ? resolve() : reject(error)))
    await inTime(Promise.race([promise, lost]), name)
  }

  #end(reason: unknown): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#heartbeat)
    const error = reason instanceof FieldgateError ? reason : this.#connectRefusal(reason as Error)
    // DISCONNECT says more than the end of the bytes.
    this.#closed.resolve(this.#refusal ?? error)
    this.#client.end(true)
  }
}

const TEMPORARY = { isTemporary: true } as const
const ACKNOWLEDGED_LATER = new Error('acknowledged when it is handled')

/** Reason Codes that a second try with the same rights does not change. */
const FINAL_REASON_CODES: ReadonlySet<number> = new Set([
  0x81, 0x82, 0x84, 0x85, 0x87, 0x8a, 0x8c, 0x8e, 0x8f, 0x90, 0x95, 0x99, 0x9d,
])

/** A refusal of the broker as an error. */
function refusalOf(code: string, reasonCode = 0x80, reason?: string, otherwise?: string): FieldgateError {
  const sentence = reason ?? otherwise ?? `the broker answered with Reason Code 0x${reasonCode.toString(16)}`
  return new FieldgateError(code, sentence, { reasonCode, isTemporary: !FINAL_REASON_CODES.has(reasonCode) })
}

async function inTime<T>(promise: Promise<T>, name: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const error = new FieldgateError('answer_late', `${name} did not come in time`, TEMPORARY)
    timer = setTimeout(() => reject(error), ANSWER_TIMEOUT_MS)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
