/**
 * An integrator with a Session that is kept: notes every event in the order in which it comes, and
 * sends commands.
 */
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { within } from '../support/bounded-wait.ts'

export interface ReceivedEvent {
  readonly topicName: string
  readonly devEui: string
  /** The last level of the topic: `up`, `join` ... */
  readonly kind: string
  /** As it came: JSON. */
  readonly text: string
  readonly body: EventBody
}

/** The members that tests look at, of both families of events. */
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
  /** Of the path to Fieldgate's MQTT over TLS. */
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
   * Subscribed to all events of the application at QoS 1. It comes back by itself when its
   * connection is lost.
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
    // It comes back; what it said is in what follows.
    client.on('error', () => {})
    client.on('message', (topicName, payload) => {
      const [, , , devEui = '', , kind = ''] = topicName.split('/')
      const text = payload.toString()
      this.#events.push({ topicName, devEui, kind, text, body: JSON.parse(text) as EventBody })
      for (const watcher of this.#watchers) watcher()
    })
  }

  /** Everything that has come, in order. */
  get events(): readonly ReceivedEvent[] {
    return this.#events
  }

  eventsOf(devEui: string, kind?: string): readonly ReceivedEvent[] {
    return this.#events.filter((event) => event.devEui === devEui && (kind === undefined || event.kind === kind))
  }

  /** The first event, come or to come, that the test says yes to. */
  find(title: string, isIt: (event: ReceivedEvent) => boolean, ms?: number): Promise<ReceivedEvent> {
    return this.until(title, () => this.#events.find(isIt), ms)
  }

  /** The value that `look` answers after some event; it is asked at once, too. */
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

  /** Publishes a command at QoS 1. Resolves with PUBACK; rejects where that is a refusal. */
  async command(devEui: string, { confirmed = false, fPort = 10, ...fields }: CommandFields): Promise<void> {
    const topicName = `application/${this.#applicationId}/device/${devEui}/command/down`
    await this.#client.publishAsync(topicName, JSON.stringify({ confirmed, fPort, ...fields }), { qos: 1 })
  }

  async close(): Promise<void> {
    await this.#client.endAsync(true)
  }
}
