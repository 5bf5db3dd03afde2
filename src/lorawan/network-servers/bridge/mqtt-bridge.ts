/**
 * A network server that keeps its own MQTT broker: this service is a client of that broker. Its
 * Session there has a fixed Client Identifier and a long expiry, and is the durable cursor: while
 * this service is away, events wait in that broker, and each leaves it when this service owns it.
 */
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../clock.ts'
import type { PublishPacket, ProtocolVersion } from '../../../mqtt/packet.ts'
import { isFailure, ReasonCodes } from '../../../mqtt/reason-codes.ts'
import type { CommandNaming } from '../../commands/command-naming.ts'
import type { Downlink, EventSink, HandOverAnswer, NetworkServer } from '../../commands/network-server.ts'
import { Backoff } from '../adapter/backoff.ts'
import type { BackoffSettings } from '../adapter/backoff.ts'
import { BrokerConnection } from './broker-connection.ts'
import { counted } from '../adapter/counters.ts'
import type { NetworkServerCounters } from '../adapter/counters.ts'
import { downlinkMessage, NEXT_AFTER_MS, undeliverable } from '../adapter/downlink-message.ts'
import { EventRefused } from '../adapter/event-refused.ts'
import type { Logger } from '../../../logger.ts'
import type { TopicTemplate } from './topic-template.ts'

export interface MqttBridgeSettings {
  readonly name: string
  readonly protocolVersion: ProtocolVersion
  readonly clientId: string
  readonly userName: string | undefined
  readonly password: string | undefined
  readonly sessionExpirySeconds: number
  readonly eventTopic: TopicTemplate
  readonly commandTopic: TopicTemplate
  /** False for a bridge of events alone, whose downlinks take another way. */
  readonly takesCommands: boolean
  /**
   * Application ids of the network server to ours; undefined when all applications have the same id
   * on both sides.
   */
  readonly applications: ReadonlyMap<string, string> | undefined
}

export interface MqttBridgeParts {
  readonly sink: EventSink
  /** The applications whose devices this network server may speak for. */
  readonly mayServe: (applicationId: string) => boolean
  /** Knows which applications' network servers name commands in their events. */
  readonly naming: Pick<CommandNaming, 'names' | 'countsFrames'>
  readonly openSocket: () => Promise<Duplex>
  readonly backoff: BackoffSettings
  readonly clock: Pick<Clock, 'after'>
  readonly counters: NetworkServerCounters
  readonly log: Logger
}

/**
 * How long until a command without a subscriber is offered again. The other broker does not tell
 * when a network server subscribes.
 */
const NOBODY_THERE_MS = 10_000

const NOT_CONNECTED = 'there is no connection to the MQTT broker'

/** True for the applications whose commands may take the way of a bridge with these settings. */
export function applicationsOfBridge({
  takesCommands,
  applications,
}: Pick<MqttBridgeSettings, 'takesCommands' | 'applications'>): (applicationId: string) => boolean {
  const ours = applications && new Set(applications.values())
  return (applicationId) => takesCommands && (ours?.has(applicationId) ?? true)
}

export class MqttBridge implements NetworkServer {
  readonly name: string
  readonly #settings: MqttBridgeSettings
  readonly #parts: MqttBridgeParts
  readonly #backoff: Backoff
  readonly #mayTake: (applicationId: string) => boolean
  /** Our application ids to the network server's. */
  readonly #theirs: ReadonlyMap<string, string> | undefined
  #connection: BrokerConnection | undefined
  /** The connection, from its beginning, before it is ready. */
  #opened: BrokerConnection | undefined
  #cancelReconnect: () => void = () => {}
  #cancelOffer: (() => void) | undefined
  #isWanted = false
  #isClosed = false

  /** Connects at once, and again whenever the connection is lost. */
  constructor(settings: MqttBridgeSettings, parts: MqttBridgeParts) {
    this.name = settings.name
    this.#settings = settings
    this.#parts = parts
    this.#backoff = new Backoff(parts.backoff)
    const { applications } = settings
    this.#theirs = applications && new Map(Array.from(applications, ([theirs, ours]) => [ours, theirs]))
    this.#mayTake = applicationsOfBridge(settings)
    void this.#connect()
  }

  serves(applicationId: string): boolean {
    return this.#mayTake(applicationId) && this.#parts.mayServe(applicationId)
  }

  async handOver(downlink: Downlink): Promise<HandOverAnswer> {
    return counted(this.#parts.counters, await this.#offer(downlink))
  }

  close(): Promise<void> {
    this.#isClosed = true
    this.#cancelReconnect()
    this.#cancelOffer?.()
    this.#opened?.close()
    return Promise.resolve()
  }

  async #offer(downlink: Downlink): Promise<HandOverAnswer> {
    const applicationId = this.#theirs?.get(downlink.applicationId) ?? downlink.applicationId
    const refusal = undeliverable(downlink, this.#parts.naming, applicationId)
    if (refusal !== undefined) return refusal
    const connection = this.#connection
    if (connection === undefined) return { outcome: 'away', code: 'network_server_away', reason: NOT_CONNECTED }
    if (!connection.hasRoom) {
      this.#isWanted = true
      return {
        outcome: 'away',
        code: 'network_server_busy',
        reason: 'the MQTT broker has not acknowledged the downlinks before it',
      }
    }
    const topicName = this.#settings.commandTopic.write({ applicationId, devEui: downlink.devEui })
    try {
      const reasonCode = await connection.publish(topicName, downlinkMessage(downlink))
      if (reasonCode === ReasonCodes.noMatchingSubscribers) return this.#nobodyThere()
      // The broker has the command, and may keep it for a network server that is away. Only an
      // event about the command proves that the network server has it too.
      if (!isFailure(reasonCode)) return { outcome: 'taken', nextAfterMs: NEXT_AFTER_MS, holdsNext: true }
      const code = `0x${reasonCode.toString(16)}`
      // The broker may have room again later; it will not allow or understand later what it refuses
      // now.
      const passes = reasonCode === ReasonCodes.quotaExceeded || reasonCode === ReasonCodes.unspecifiedError
      if (!passes) return { outcome: 'refused', reason: `the MQTT broker refused the command message: ${code}` }
      this.#offerLater()
      return { outcome: 'away', reason: `the MQTT broker could not take the command message: ${code}` }
    } catch (error) {
      return { outcome: 'away', reason: error instanceof Error ? error.message : NOT_CONNECTED }
    } finally {
      if (this.#isWanted && connection.hasRoom) {
        this.#isWanted = false
        this.#parts.sink.ready(this)
      }
    }
  }

  #nobodyThere(): HandOverAnswer {
    this.#offerLater()
    return {
      outcome: 'away',
      code: 'network_server_not_subscribed',
      reason: 'no network server subscribes to commands at the MQTT broker',
    }
  }

  #offerLater(): void {
    if (this.#cancelOffer !== undefined || this.#isClosed) return
    this.#cancelOffer = this.#parts.clock.after(NOBODY_THERE_MS, () => {
      this.#cancelOffer = undefined
      if (this.#connection !== undefined) this.#parts.sink.ready(this)
    })
  }

  async #connect(): Promise<void> {
    const { log, counters } = this.#parts
    let failure: Error
    try {
      failure = await this.#runConnection()
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error))
    }
    this.#connection = undefined
    this.#opened = undefined
    if (this.#isClosed) return
    counters.failures += 1
    const waitMs = this.#backoff.next()
    log.warn({ networkServer: this.name, reason: failure.message, waitMs }, 'network_server.away')
    this.#cancelReconnect = this.#parts.clock.after(waitMs, () => void this.#connect())
  }

  /** Runs one connection from its beginning to its end; resolves with the reason of the end. */
  async #runConnection(): Promise<Error> {
    const socket = await this.#parts.openSocket()
    if (this.#isClosed) {
      socket.destroy()
      return new Error('closed')
    }
    const connection = new BrokerConnection(socket, {
      ...this.#settings,
      topicFilter: this.#settings.eventTopic.topicFilter,
      take: (message) => this.#take(message),
      clock: this.#parts.clock,
    })
    this.#opened = connection
    // A Session whose events can't be owned connects well each time. Therefore only an owned event,
    // or a long connection, resets the backoff.
    void connection.ready.then(
      () => {
        // The bridge was closed in the same turn.
        if (this.#isClosed) return
        this.#connection = connection
        this.#parts.log.info({ networkServer: this.name }, 'network_server.connected')
        this.#parts.sink.ready(this)
      },
      () => undefined,
    )
    const settled = this.#parts.clock.after(this.#parts.backoff.maximumMs, () => this.#backoff.reset())
    const error = await connection.ended
    settled()
    return error
  }

  async #take({ topicName, payload, retain }: PublishPacket): Promise<void> {
    // A retained event is an old one, which MQTT 3.1.1 repeats with each subscription.
    if (retain) return
    const values = this.#settings.eventTopic.read(topicName)
    const { applicationId = '', devEui = '', event: kind = '' } = values ?? {}
    const { applications } = this.#settings
    const ours = applications === undefined ? applicationId : applications.get(applicationId)
    if (values === undefined || ours === undefined || !this.#parts.mayServe(ours)) {
      this.#parts.counters.eventsRefused += 1
      return
    }
    try {
      // The payload is not copied: it lies in a chunk of the socket that nobody writes to again.
      await this.#parts.sink.event({ applicationId: ours, devEui, kind, payload })
      this.#backoff.reset()
    } catch (error) {
      if (!(error instanceof EventRefused)) throw error
    }
  }
}
