/**
 * The load of the demonstration: a publisher for each node, and one reader whose Session is kept.
 * Each goes to another node when its node ends. All acknowledged events are counted.
 */
import { connect } from 'mqtt'
import type { MqttClient } from 'mqtt'
import type { DemoNode } from './demo-node.ts'

/** Events a second of each publisher. */
const PER_SECOND = 20
/** Events of a publisher that have no answer yet. */
const WINDOW = 64
/** Events that are read before their acknowledgement; more are copies that QoS 1 has repeated. */
const EARLY = 10_000
const RECONNECT_MS = 500
const KEEP_ALIVE_SECONDS = 2
const CONNECT_MS = 3_000
const SESSION_SECONDS = 3_600

export interface DemoLoadOptions {
  readonly nodes: readonly DemoNode[]
  readonly publisher: { readonly userName: string; readonly password: string }
  /** The reader's token. */
  readonly token: string
  readonly topicName: string
}

/** The counts of a load up to now. */
export interface LoadCounts {
  readonly acknowledged: number
  readonly read: number
  /** Acknowledged ones that the reader does not have yet. */
  readonly onTheirWay: number
}

export class DemoLoad {
  readonly #clients: MqttClient[] = []
  readonly #timers: NodeJS.Timeout[] = []
  /** Acknowledged, and not read yet; and the other way round. */
  readonly #owed = new Set<string>()
  readonly #early = new Set<string>()
  #acknowledged = 0
  #read = 0

  /** Resolves when the reader has subscribed; then the publishers begin. */
  static async start(options: DemoLoadOptions): Promise<DemoLoad> {
    const load = new DemoLoad()
    await load.#startReader(options)
    for (const place of options.nodes.keys()) load.#startPublisher(options, place)
    return load
  }

  get counts(): LoadCounts {
    return { acknowledged: this.#acknowledged, read: this.#read, onTheirWay: this.#owed.size }
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await Promise.all(this.#clients.map((client) => client.endAsync(true)))
  }

  async #startReader({ nodes, token, topicName }: DemoLoadOptions): Promise<void> {
    const client = this.#connect(nodes, 0, 'demonstration-reader', { username: token, password: 'default' })
    client.on('message', (_topic, payload) => this.#reads(payload.toString()))
    await client.subscribeAsync(topicName, { qos: 1 })
  }

  #startPublisher({ nodes, publisher, topicName }: DemoLoadOptions, place: number): void {
    const { userName: username, password } = publisher
    const client = this.#connect(nodes, place, `demonstration-publisher-${place}`, { username, password })
    let number = 0
    let waiting = 0
    const publish = async (): Promise<void> => {
      if (!client.connected || waiting >= WINDOW) return
      number += 1
      const event = { publisher: place, number }
      waiting += 1
      try {
        await client.publishAsync(topicName, JSON.stringify(event), { qos: 1 })
        this.#acknowledges(`${event.publisher} ${event.number}`)
      } catch {
        // Refused, or the load ends: nobody was promised this event.
      } finally {
        waiting -= 1
      }
    }
    this.#timers.push(setInterval(() => void publish(), 1_000 / PER_SECOND))
  }

  #connect(
    nodes: readonly DemoNode[],
    first: number,
    clientId: string,
    login: { readonly username: string; readonly password: string },
  ): MqttClient {
    const inOrder = [...nodes.slice(first), ...nodes.slice(0, first)]
    const client = connect({
      protocol: 'mqtts',
      servers: inOrder.map(({ mqttsPort: port }) => ({ host: 'localhost', port, protocol: 'mqtts' as const })),
      ca: nodes.map(({ ca }) => ca),
      protocolVersion: 5,
      clientId,
      ...login,
      clean: false,
      properties: { sessionExpiryInterval: SESSION_SECONDS },
      keepalive: KEEP_ALIVE_SECONDS,
      reconnectPeriod: RECONNECT_MS,
      connectTimeout: CONNECT_MS,
    })
    // The client connects again by itself; the lines with the counts show that.
    client.on('error', () => {})
    this.#clients.push(client)
    return client
  }

  #acknowledges(event: string): void {
    this.#acknowledged += 1
    if (!this.#early.delete(event)) this.#owed.add(event)
  }

  #reads(text: string): void {
    this.#read += 1
    const { publisher, number } = JSON.parse(text) as { readonly publisher: number; readonly number: number }
    const event = `${publisher} ${number}`
    if (!this.#owed.delete(event) && this.#early.size < EARLY) this.#early.add(event)
  }
}
