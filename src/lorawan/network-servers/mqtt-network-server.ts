/**
 * Network servers that are MQTT clients of this broker: ChirpStack v3 and v4 that use this service
 * as their broker, and every other client with a service credential that subscribes to commands.
 */
import type { CommandNaming } from '../commands/command-naming.ts'
import { nobodyReads } from '../commands/command-waits.ts'
import type { Presence } from '../commands/command-waits.ts'
import type { Downlink, EventSink, HandOverAnswer, NetworkServer } from '../commands/network-server.ts'
import { downlinkMessage, NEXT_AFTER_MS, undeliverable } from './adapter/downlink-message.ts'
import { commandTopic, parseTopicFilter } from '../topics.ts'
import type { DownlinkReaders, Offered } from './downlink-readers.ts'

export interface MqttNetworkServerOptions {
  /** The network servers that are connected. */
  readonly readers: DownlinkReaders
  readonly sink: Pick<EventSink, 'ready'>
  readonly organizationOf: (applicationId: string) => string | undefined | Promise<string | undefined>
  /**
   * True when the organization has a network server of its own, connected or away. Then the network
   * servers of the deployment get none of its downlinks.
   */
  readonly hasOwn: (organizationId: string) => Promise<boolean>
  /** When network servers of the tenant, or of the deployment, were last connected. */
  readonly presenceOf: (tenant: string) => Presence | Promise<Presence>
  /** True for applications whose downlinks another adapter takes. */
  readonly isServedElsewhere: (applicationId: string) => boolean
  /** Knows which applications' network servers name commands in their events. */
  readonly naming: Pick<CommandNaming, 'names' | 'countsFrames'>
}

const NO_READER: HandOverAnswer = {
  outcome: 'away',
  reason: 'no network server is connected that subscribes to the command',
}
const CLOSED: HandOverAnswer = { outcome: 'away', reason: 'the service is shutting down' }
const ANSWERS: Readonly<Record<Offered, HandOverAnswer>> = {
  acknowledged: { outcome: 'taken' },
  abandoned: { outcome: 'away', reason: 'the network server’s Session ended before it acknowledged' },
  'in doubt': {
    outcome: 'away',
    reason: 'the node of the network server ended before it told of an acknowledgement',
    isInDoubt: true,
  },
  'no reader': NO_READER,
  'no room': {
    outcome: 'away',
    code: 'network_server_busy',
    reason: 'the network server has not acknowledged what it was sent before',
  },
}

/**
 * The adapter. If a network server names commands in its events, it gets the downlinks of a device
 * shortly after each other. Otherwise it gets one downlink of a device at a time, so that each
 * event is about that downlink. A downlink is taken when the network server has acknowledged its
 * PUBLISH (at QoS 0: when the PUBLISH was written to the connection). Only one network server gets
 * a downlink: one of the organization's own if it has any, because no other knows the device;
 * otherwise one of the deployment.
 */
export class MqttNetworkServer implements NetworkServer {
  readonly name = 'mqtt'
  readonly #readers: DownlinkReaders
  readonly #sink: MqttNetworkServerOptions['sink']
  readonly #organizationOf: MqttNetworkServerOptions['organizationOf']
  readonly #hasOwn: MqttNetworkServerOptions['hasOwn']
  readonly #presenceOf: MqttNetworkServerOptions['presenceOf']
  readonly #isServedElsewhere: MqttNetworkServerOptions['isServedElsewhere']
  readonly #naming: MqttNetworkServerOptions['naming']

  #isClosed = false

  constructor(options: MqttNetworkServerOptions) {
    this.#readers = options.readers
    this.#sink = options.sink
    this.#organizationOf = options.organizationOf
    this.#hasOwn = options.hasOwn
    this.#presenceOf = options.presenceOf
    this.#isServedElsewhere = options.isServedElsewhere
    this.#naming = options.naming
  }

  serves(applicationId: string): boolean {
    return !this.#isServedElsewhere(applicationId)
  }

  async handOver(downlink: Downlink): Promise<HandOverAnswer> {
    if (this.#isClosed) return CLOSED
    const { applicationId } = downlink
    const refusal = undeliverable(downlink, this.#naming)
    if (refusal !== undefined) return refusal
    const organizationId = await this.#organizationOf(applicationId)
    if (organizationId === undefined) return NO_READER
    const answer = await this.#offerToOne(downlink, organizationId)
    if (answer.outcome !== 'taken') return answer
    return { ...answer, nextAfterMs: NEXT_AFTER_MS, holdsNext: !this.#naming.names(applicationId) }
  }

  async #offerToOne(downlink: Downlink, organizationId: string): Promise<HandOverAnswer> {
    const ofOwn = await this.#offer(downlink, `organization:${organizationId}`)
    if (ofOwn !== NO_READER) return ofOwn
    if (await this.#hasOwn(organizationId))
      return this.#away(`organization:${organizationId}`, 'the organization’s network server')
    const ofAny = await this.#offer(downlink)
    return ofAny === NO_READER ? this.#away('deployment', 'the deployment’s network server') : ofAny
  }

  async #away(tenant: string, whose: string): Promise<HandOverAnswer> {
    return { outcome: 'away', ...nobodyReads(whose, await this.#presenceOf(tenant)) }
  }

  async #offer(downlink: Downlink, tenant?: string): Promise<HandOverAnswer> {
    const { id, devEui, applicationId, doubt } = downlink
    const topicName = commandTopic(applicationId, devEui)
    const offered = { id, devEui, topicName, payload: downlinkMessage(downlink), isInDoubt: doubt !== undefined }
    return ANSWERS[await this.#readers.offer(offered, tenant)]
  }

  /** A Session can take messages. Returns true when it reads commands. */
  readerReady(topicFilters: readonly string[]): boolean {
    const isReader = topicFilters.some(isOfCommands)
    if (isReader) this.#sink.ready(this)
    return isReader
  }

  /** Closes no connection: the broker does. */
  async close(): Promise<void> {
    this.#isClosed = true
  }
}

function isOfCommands(topicFilter: string): boolean {
  const filter = parseTopicFilter(topicFilter)
  return filter !== undefined && 'command' in filter.tail
}
