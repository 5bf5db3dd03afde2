/**
 * The page's own connection to the broker: MQTT 5 over WebSocket, with a broker-access token and
 * the same permit that every client gets. A token lives an hour. It is revoked when the connection
 * is closed, so the list of tokens does not grow.
 */
import mqtt from 'mqtt'
import type { IPublishPacket, MqttClient, Packet } from 'mqtt'
import { issueBrokerToken, revokeBrokerToken } from '../api/broker-access.ts'
import type { IssuedToken } from '../api/broker-access.ts'
import { ApiFailure } from '../api/request.ts'
import { sentenceOf } from '../api/sentence.ts'

/** The state of the connection. */
export type BrokerState =
  | { readonly phase: 'connecting' }
  | { readonly phase: 'connected' }
  /** The class connects again by itself. */
  | { readonly phase: 'away'; readonly reason: string }
  /** Final: the person has no right to connect. */
  | { readonly phase: 'refused'; readonly reason: string }

/** A message that the broker delivered. */
export interface BrokerMessage {
  readonly topicName: string
  readonly payload: Uint8Array
  /**
   * The id by which the service's stored event and this message are known to be the same; undefined
   * where the message has none.
   */
  readonly eventId: string | undefined
  readonly receivedAtMs: number
}

/** The broker's answer to a PUBLISH. */
export interface PublishAnswer {
  readonly reasonCode: number
  readonly reasonString: string | undefined
}

/**
 * The state before the first answer. It is one object, so that React does not draw again for an
 * equal one.
 */
export const CONNECTING: BrokerState = { phase: 'connecting' }

export type MessageListener = (message: BrokerMessage) => void

/** The name of the User Property with the event's id. */
const EVENT_ID = 'event-id'
const TOKEN_TTL_SECONDS = 3600
/** A token that ends sooner than this is not used for a new connection. */
const LEAST_LEFT_MS = 60_000
/**
 * Browsers wake the timers of a hidden page once a minute. With twice that, the PINGREQ still comes
 * in time [MQTT-3.1.2-22].
 */
const KEEP_ALIVE_SECONDS = 120
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 30_000
const CONNECT_TIMEOUT_MS = 10_000
const PUBLISH_TIMEOUT_MS = 15_000

/** The connection of one organization. It connects when it is made, and ends by `close`. */
export class BrokerConnection {
  readonly #organizationId: string
  readonly #listeners = new Map<string, Set<MessageListener>>()
  readonly #granted = new Set<string>()
  readonly #watchers = new Set<() => void>()
  #state: BrokerState = CONNECTING
  #client: MqttClient | undefined
  #token: IssuedToken | undefined
  #attempts = 0
  #retry: ReturnType<typeof setTimeout> | undefined
  #isClosed = false
  #lastAnswer: PublishAnswer = { reasonCode: 0, reasonString: undefined }

  constructor(organizationId: string) {
    this.#organizationId = organizationId
    void this.#connect()
  }

  /** The state for a user of these filters: connected when the broker has granted all of them. */
  stateFor(topicFilters: readonly string[]): BrokerState {
    if (this.#state.phase !== 'connected') return this.#state
    const isReady = topicFilters.length > 0 && topicFilters.every((filter) => this.#granted.has(filter))
    return isReady ? this.#state : CONNECTING
  }

  /** Calls the watcher at each change of the state. The answered function stops that. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /**
   * Hands matching messages to the listener, also after reconnections, until the answered function
   * is called.
   */
  listen(topicFilter: string, listener: MessageListener): () => void {
    const listeners = this.#listeners.get(topicFilter) ?? new Set()
    if (listeners.size === 0) {
      this.#listeners.set(topicFilter, listeners)
      if (this.#state.phase === 'connected') this.#subscribe(topicFilter)
    }
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size > 0 || this.#listeners.get(topicFilter) !== listeners) return
      this.#listeners.delete(topicFilter)
      this.#granted.delete(topicFilter)
      if (this.#client?.connected === true) this.#client.unsubscribe(topicFilter)
    }
  }

  /** Publishes at QoS 1 and answers the broker's PUBACK. Rejects when no PUBACK comes. */
  publish(topicName: string, payload: string): Promise<PublishAnswer> {
    const client = this.#client
    if (client?.connected !== true)
      return Promise.reject(new Error('The broker is not connected. Try again in a moment.'))
    const { promise, resolve, reject } = Promise.withResolvers<PublishAnswer>()
    const timer = setTimeout(() => reject(new Error('The broker did not answer in time.')), PUBLISH_TIMEOUT_MS)
    client.publish(topicName, payload, { qos: 1 }, () => {
      clearTimeout(timer)
      resolve(this.#lastAnswer)
    })
    return promise
  }

  /** Disconnects and revokes the token. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    this.#client?.end(true)
    const token = this.#token
    this.#token = undefined
    // `keepalive` lets the request outlive a page that is being closed. A token that could not be
    // revoked ends within the hour.
    if (token !== undefined) revokeBrokerToken(token.id, { keepalive: true }).catch(() => {})
  }

  #become(state: BrokerState): void {
    if (this.#isClosed) return
    this.#state = state
    for (const watcher of this.#watchers) watcher()
  }

  async #connect(): Promise<void> {
    try {
      const token = await this.#freshToken()
      if (!this.#isClosed) this.#open(token)
    } catch (error) {
      const isFinal = error instanceof ApiFailure && error.status >= 400 && error.status < 500 && error.status !== 429
      if (isFinal) this.#become({ phase: 'refused', reason: sentenceOf(error) })
      else this.#tryAgain(sentenceOf(error))
    }
  }

  async #freshToken(): Promise<IssuedToken> {
    if (this.#token !== undefined && this.#token.expiresAtMs - Date.now() > LEAST_LEFT_MS) return this.#token
    this.#token = await issueBrokerToken(this.#organizationId, TOKEN_TTL_SECONDS, { isOfConsole: true })
    return this.#token
  }

  #open({ jwt }: IssuedToken): void {
    const client = mqtt.connect(`wss://${window.location.host}/mqtt`, {
      protocolVersion: 5,
      username: jwt,
      password: 'default',
      clientId: `console-${crypto.randomUUID()}`,
      clean: true,
      keepalive: KEEP_ALIVE_SECONDS,
      connectTimeout: CONNECT_TIMEOUT_MS,
      // A new connection may need a new token, so this class makes the connections itself.
      reconnectPeriod: 0,
      // The other variant runs in a worker from a blob: URL, which the Content-Security-Policy
      // refuses.
      timerVariant: 'native',
    })
    this.#client = client
    let reason = 'The connection to the broker was lost.'
    client.on('connect', () => {
      this.#attempts = 0
      this.#become({ phase: 'connected' })
      for (const topicFilter of this.#listeners.keys()) this.#subscribe(topicFilter)
    })
    client.on('message', (topicName: string, payload: Uint8Array, packet: IPublishPacket) => {
      const id = packet.properties?.userProperties?.[EVENT_ID]
      const eventId = typeof id === 'string' ? id : undefined
      this.#deliver({ topicName, payload, eventId, receivedAtMs: Date.now() })
    })
    client.on('packetreceive', (packet: Packet) => {
      if (packet.cmd !== 'puback') return
      this.#lastAnswer = { reasonCode: packet.reasonCode ?? 0, reasonString: packet.properties?.reasonString }
    })
    client.on('disconnect', ({ properties }) => {
      if (properties?.reasonString !== undefined)
        reason = `The broker ended the connection: ${properties.reasonString}.`
    })
    client.on('error', (error) => {
      if ('code' in error) {
        // The CONNACK refused the connection. The token may have been revoked, so the next attempt
        // asks for another one.
        this.#token = undefined
        reason = `The broker refused the connection: ${error.message}.`
      }
    })
    client.on('close', () => {
      if (this.#client !== client) return
      this.#client = undefined
      this.#granted.clear()
      client.end(true)
      this.#tryAgain(reason)
    })
  }

  #tryAgain(reason: string): void {
    if (this.#isClosed) return
    const waitMs = Math.min(FIRST_RETRY_MS * 2 ** this.#attempts, LONGEST_RETRY_MS)
    this.#attempts += 1
    this.#become({ phase: 'away', reason })
    this.#retry = setTimeout(() => void this.#connect(), waitMs)
  }

  #subscribe(topicFilter: string): void {
    const client = this.#client
    client?.subscribe(topicFilter, { qos: 1 }, (error) => {
      if (this.#client !== client || !this.#listeners.has(topicFilter)) return
      if (error === null) {
        this.#granted.add(topicFilter)
        this.#become(this.#state)
      } else if (client.connected) {
        this.#become({ phase: 'refused', reason: `The broker refused the subscription to ${topicFilter}.` })
      }
    })
  }

  #deliver(message: BrokerMessage): void {
    for (const [topicFilter, listeners] of this.#listeners) {
      if (!matches(topicFilter, message.topicName)) continue
      for (const listener of listeners) listener(message)
    }
  }
}

/** True where a filter matches a Topic Name. This service has no wildcard except `+`. */
function matches(topicFilter: string, topicName: string): boolean {
  const asked = topicFilter.split('/')
  const levels = topicName.split('/')
  return asked.length === levels.length && asked.every((level, index) => level === '+' || level === levels[index])
}
