/**
 * A LoRaWAN gateway of a ChirpStack: hands over the frames of devices, sends the downlinks of
 * ChirpStack, and answers them.
 */
import { randomInt } from 'node:crypto'
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { decodeDownCommand, encodeConnState, encodeStats, encodeTxAck, encodeUplinkEvent } from './gateway-messages.ts'
import type { DownlinkCommand, DownlinkItem, GatewayProtocol, Reception } from './gateway-messages.ts'
import { given } from '../../src/given.ts'
import type { Coordinates } from '../sensor.ts'
import { sendFirst } from './transmit-policy.ts'
import type { TransmitPolicy } from './transmit-policy.ts'

export interface GatewaySettings {
  /**
   * `mqtt://host:port` or `mqtts://host:port` of the broker to which ChirpStack's gateways connect.
   */
  readonly url: string
  /** 16 lower-case hexadecimal digits. */
  readonly gatewayId: string
  readonly protocol: GatewayProtocol
  /**
   * The part of the topics before `gateway/`: `eu868` for version 4's own setting, empty for
   * version 3.
   */
  readonly topicPrefix: string
  readonly userName?: string | undefined
  readonly password?: string | undefined
  /** PEM; undefined: the system's certificate authorities. */
  readonly certificateAuthority?: Buffer | undefined
  /**
   * The location from its GPS receiver. Without it, the gateway has no receiver, and does not
   * report the time either.
   */
  readonly gpsLocation?: Coordinates | undefined
  /** The gateway's answers to downlinks. Default: it sends the first item. */
  readonly policy?: TransmitPolicy
  /**
   * Called for a message that is no command of ChirpStack, and when the connection is lost or back.
   */
  readonly onFault?: (fault: string) => void
}

/**
 * Gets a downlink as soon as ChirpStack has given it to the gateway, without a wait for the receive
 * window.
 */
export type Receiver = (item: DownlinkItem) => void

/**
 * The most uplinks whose answer can still come. ChirpStack answers a device's latest uplink, so
 * older ones may be dropped.
 */
const MAXIMUM_OPEN_UPLINKS = 16_384
/**
 * The most uplinks that the broker has not acknowledged; a gateway with more has lost its broker.
 */
const MAXIMUM_UNACKNOWLEDGED = 10_000

interface OpenUplink {
  /** The time by the monotonic clock. */
  readonly heardAtMs: number
  readonly receiver: Receiver
}

/**
 * Connects. Rejects if the broker can't be reached or refuses. A connection that is lost later is
 * made again without a call.
 */
export async function connectGateway(settings: GatewaySettings): Promise<LorawanGateway> {
  const { url, gatewayId, protocol, topicPrefix, certificateAuthority } = settings
  const root = `${topicPrefix === '' ? '' : `${topicPrefix}/`}gateway/${gatewayId}`
  const client = await connectAsync(
    url,
    {
      clientId: `gateway-${gatewayId}-${randomInt(2 ** 32).toString(16)}`,
      clean: true,
      reconnectPeriod: 1000,
      ...given({ username: settings.userName, password: settings.password, ca: certificateAuthority }),
      will: {
        topic: `${root}/state/conn`,
        payload: Buffer.from(encodeConnState(protocol, gatewayId, 'OFFLINE')),
        qos: 1,
        retain: true,
      },
    },
    false,
  )
  const gateway = new LorawanGateway(settings, root, client)
  await gateway.start()
  return gateway
}

/** A gateway; `connectGateway` makes it. */
export class LorawanGateway {
  readonly gatewayId: string
  /** A caller may change it at any time. */
  policy: TransmitPolicy
  readonly #settings: GatewaySettings
  readonly #root: string
  readonly #client: MqttClient
  /** The open uplinks, by the context that each carries. */
  readonly #open = new Map<number, OpenUplink>()
  readonly #listeners = new Set<Receiver>()
  #uplinkId = randomInt(2 ** 31)
  #unacknowledged = 0
  #received = 0
  #transmitted = 0
  #isConnected = true
  #isClosing = false
  #lastError = ''

  constructor(settings: GatewaySettings, root: string, client: MqttClient) {
    this.gatewayId = settings.gatewayId
    this.policy = settings.policy ?? sendFirst
    this.#settings = settings
    this.#root = root
    this.#client = client
  }

  /** Subscribes to ChirpStack's commands and announces the gateway. */
  async start(): Promise<void> {
    this.#client.on('message', (topicName, payload) => this.#onCommand(topicName, payload))
    this.#client.on('error', (error) => {
      this.#lastError = error.message
    })
    this.#client.on('close', () => this.#onClosed())
    this.#client.on('connect', () => this.#onConnectedAgain())
    await this.#client.subscribeAsync(`${this.#root}/command/#`, { qos: 1 })
    await this.#publishState('ONLINE')
  }

  /**
   * Hands over a frame that a device has sent. Resolves when the broker has it. `receiver` gets the
   * answers to this frame, perhaps before that. Rejects if too many frames wait for the broker.
   */
  async transmit(phyPayload: Buffer, reception: Reception, receiver: Receiver): Promise<void> {
    if (this.#unacknowledged >= MAXIMUM_UNACKNOWLEDGED) throw new Error('the broker has not acknowledged 10000 uplinks')
    this.#uplinkId = (this.#uplinkId + 1) % 2 ** 32
    const context = Buffer.alloc(4)
    context.writeUInt32BE(this.#uplinkId)
    this.#open.set(this.#uplinkId, { heardAtMs: performance.now(), receiver })
    const [oldest] = this.#open.keys()
    if (this.#open.size > MAXIMUM_OPEN_UPLINKS && oldest !== undefined) this.#open.delete(oldest)
    this.#received += 1
    this.#unacknowledged += 1
    const { gatewayId } = this
    const gpsTimeMs = this.#settings.gpsLocation === undefined ? undefined : Date.now()
    const heard = { gatewayId, phyPayload, reception, uplinkId: this.#uplinkId, context, gpsTimeMs }
    try {
      await this.#publish('event/up', encodeUplinkEvent(this.#settings.protocol, heard), false)
    } finally {
      this.#unacknowledged -= 1
    }
  }

  /**
   * Hears every downlink that is sent at once, as class C devices do. Returns the function that
   * stops it.
   */
  listen(receiver: Receiver): () => void {
    this.#listeners.add(receiver)
    return () => this.#listeners.delete(receiver)
  }

  /** Sends ChirpStack the sign of life, with the gateway's counters. */
  async sendStats(): Promise<void> {
    const { protocol, gpsLocation: location } = this.#settings
    const state = { atMs: Date.now(), location, received: this.#received, transmitted: this.#transmitted }
    await this.#publish('event/stats', encodeStats(protocol, this.gatewayId, state), false)
  }

  async close(): Promise<void> {
    this.#listeners.clear()
    this.#open.clear()
    this.#isClosing = true
    if (this.#client.connected) await this.#publishState('OFFLINE')
    await this.#client.endAsync(!this.#client.connected)
  }

  /** Each failed attempt to connect again ends here, too; only the first end is reported. */
  #onClosed(): void {
    if (!this.#isConnected || this.#isClosing) return
    this.#isConnected = false
    this.#settings.onFault?.(
      `the connection to the broker is gone${this.#lastError === '' ? '' : `: ${this.#lastError}`}`,
    )
  }

  /** The broker has announced meanwhile, by the Will Message, that the gateway is away. */
  #onConnectedAgain(): void {
    this.#isConnected = true
    this.#lastError = ''
    this.#settings.onFault?.('connected to the broker again')
    this.#publishState('ONLINE').catch(() => {})
  }

  async #publishState(state: 'ONLINE' | 'OFFLINE'): Promise<void> {
    await this.#publish('state/conn', encodeConnState(this.#settings.protocol, this.gatewayId, state), true)
  }

  #onCommand(topicName: string, payload: Buffer): void {
    // The other commands configure a gateway or run on its operating system; this gateway has no
    // radio for them.
    if (topicName !== `${this.#root}/command/down`) return
    let command: DownlinkCommand
    try {
      command = decodeDownCommand(this.#settings.protocol, payload)
    } catch (error) {
      this.#settings.onFault?.(`a downlink can't be read: ${error instanceof Error ? error.message : String(error)}`)
      return
    }
    const nowMs = performance.now()
    const leftMs = command.items.map(({ delayMs, context }) => {
      const heardAtMs = this.#uplinkOf(context)?.heardAtMs
      return delayMs === undefined || heardAtMs === undefined ? Infinity : heardAtMs + delayMs - nowMs
    })
    const statuses = this.policy(command, leftMs)
    if (statuses === undefined) return
    // A gateway answers when it takes the command, before it sends: a device of class C may
    // acknowledge at once, and a network server does not expect that before the gateway's answer.
    const ack = encodeTxAck(this.#settings.protocol, this.gatewayId, command.downlinkId, statuses)
    this.#publish('event/ack', ack, false).catch((error: unknown) =>
      this.#settings.onFault?.(`a downlink's answer is lost: ${String(error)}`),
    )
    const sent = command.items[statuses.indexOf('OK')]
    if (sent !== undefined) this.#send(sent)
  }

  #send(item: DownlinkItem): void {
    this.#transmitted += 1
    if (item.delayMs !== undefined) this.#uplinkOf(item.context)?.receiver(item)
    else for (const receiver of this.#listeners) receiver(item)
  }

  #uplinkOf(context: Buffer): OpenUplink | undefined {
    return context.length === 4 ? this.#open.get(context.readUInt32BE(0)) : undefined
  }

  async #publish(topicEnd: string, payload: Uint8Array, retain: boolean): Promise<void> {
    await this.#client.publishAsync(`${this.#root}/${topicEnd}`, Buffer.from(payload), { qos: 1, retain })
  }
}
