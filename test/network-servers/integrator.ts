/**
 * An integrator with a kept Session: records every event in the order of arrival, and sends
 * commands.
 */
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { within } from '../support/bounded-wait.ts'

export interface ReceivedEvent {
  readonly topicName: string
  readonly devEui: string
  /** The last level of the topic: `up`, `join` ... */
  readonly kind: string
  /** The payload as it came: JSON. */
  readonly text: string
  readonly body: EventBody
}

/** The members that tests read, from both families of events. */
export interface EventBody {
  readonly commandId?: string
  readonly fCnt?: number
  readonly fPort?: number
  readonly fCntDown?: number
  readonly data?: string
  readonly queueItemId?: string
  readonly acknowledged?: boolean
  readonly code?: string
  readonly level?: string
  readonly description?: string
  readonly error?: string
  readonly type?: string
  readonly deduplicationId?: string
  readonly devAddr?: string
}

export interface CommandFields {
  readonly id: string
  readonly confirmed?: boolean
  readonly fPort?: number
  /** Base64. */
  readonly data?: string
  readonly object?: object
  readonly expiresAt?: string
}

export interface IntegratorSettings {
  /** The port of the path to Fieldgate's MQTT over TLS. */
  readonly port: number
  /** PEM. */
  readonly ca: string
  /** A broker-access token. */
  readonly token: string
  readonly applicationId: string
}

let serial = 0

export class Integrator {
  readonly #client: MqttClient
  readonly #applicationId: string
  readonly #events: ReceivedEvent[] = []
  readonly #watchers = new Set<() => void>()

  /**
   * Subscribes to all events of the application at QoS 1. A lost connection is made again by
   * itself.
   */
  static async connect({ port, ca, token, applicationId }: IntegratorSettings): Promise<Integrator> {
    serial += 1
    const client = await connectAsync(`mqtts://localhost:${port}`, {
      protocolVersion: 5,
      username: token,
      password: 'default',
      ca,
      clientId: `integrator-${process.pid}-${serial}`,
      clean: false,
      properties: { sessionExpiryInterval: 3600 },
      reconnectPeriod: 250,
      connectTimeout: 5_000,
    })
    const integrator = new Integrator(client, applicationId)
    await client.subscribeAsync(`application/${applicationId}/device/+/event/+`, { qos: 1 })
    return integrator
  }

  private constructor(client: MqttClient, applicationId: string) {
    this.#client = client
    this.#applicationId = applicationId
    // The client connects again by itself; the tests look at the events that follow.
    client.on('error', () => {})
    client.on('message', (topicName, payload) => {
      const [, , , devEui = '', , kind = ''] = topicName.split('/')
      const text = payload.toString()
      this.#events.push({ topicName, devEui, kind, text, body: JSON.parse(text) as EventBody })
      for (const watcher of this.#watchers) watcher()
    })
  }

  /** All events, in order. */
  get events(): readonly ReceivedEvent[] {
    return this.#events
  }

  eventsOf(devEui: string, kind?: string): readonly ReceivedEvent[] {
    return this.#events.filter((event) => event.devEui === devEui && (kind === undefined || event.kind === kind))
  }

  /** The first event, past or future, that fulfils the condition. */
  find(title: string, isIt: (event: ReceivedEvent) => boolean, ms?: number): Promise<ReceivedEvent> {
    return this.until(title, () => this.#events.find(isIt), ms)
  }

  /**
   * The first value other than undefined that `look` returns; `look` is called at once and after
   * each event.
   */
  async until<T>(title: string, look: () => T | undefined, ms?: number): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>()
    const watch = (): void => {
      const found = look()
      if (found !== undefined) resolve(found)
    }
    this.#watchers.add(watch)
    watch()
    try {
      return await within(promise, `${title} at the integrator`, ms)
    } finally {
      this.#watchers.delete(watch)
    }
  }

  /** Publishes a command at QoS 1. Resolves with PUBACK; rejects if that is a refusal. */
  async command(devEui: string, { confirmed = false, fPort = 10, ...fields }: CommandFields): Promise<void> {
    const topicName = `application/${this.#applicationId}/device/${devEui}/command/down`
    await this.#client.publishAsync(topicName, JSON.stringify({ confirmed, fPort, ...fields }), { qos: 1 })
  }

  async close(): Promise<void> {
    await this.#client.endAsync(true)
  }
}
