/** The events between the simulated devices and the connection to the broker. */
import type { MqttClient, Packet } from 'mqtt'
import { eventTopic } from '../src/lorawan/topics.ts'
import type { BrokerEvent, SimulatedEventKind } from './broker-event.ts'

/**
 * The most events without an answer. Further events are dropped and counted, so a broker that is
 * away takes no memory.
 */
const MAXIMUM_UNANSWERED = 2000

/** The Receive Maximum of a broker that names none: the number of Packet Identifiers. */
const MAXIMUM_RECEIVE_MAXIMUM = 65_535

/** The most kinds of refusal that are counted apart; further kinds are counted together. */
const MAXIMUM_REFUSAL_KINDS = 50

export interface OutboxSettings {
  /** The QoS of events. */
  readonly qos: 0 | 1 | 2
  /** The broker has answered the event, with success or a refusal. */
  readonly onAnswered: (event: BrokerEvent) => void
  /** The first refusal with this kind and reason; further ones are only counted. */
  readonly onRefused: (event: BrokerEvent, reasonCode: number, reason: string) => void
}

/** The totals of published events since the start. */
export interface PublishTotals {
  readonly published: Readonly<Record<SimulatedEventKind, number>>
  /** Acknowledged with a Reason Code of 0x80 and above, by "0x87 reason". */
  readonly refused: ReadonlyMap<string, number>
  /** Events that were not handed to the connection, because too many had no answer. */
  readonly dropped: number
}

/** Publishes events as fast as the broker allows, and counts their fates. */
export class Outbox {
  readonly #client: MqttClient
  readonly #settings: OutboxSettings
  readonly #published: Record<SimulatedEventKind, number> = {
    up: 0,
    join: 0,
    ack: 0,
    error: 0,
    log: 0,
    status: 0,
    location: 0,
    txack: 0,
  }
  readonly #refused = new Map<string, number>()
  /** Events that wait for room at the broker, or for a connection. */
  #waiting: BrokerEvent[] = []
  #receiveMaximum = MAXIMUM_RECEIVE_MAXIMUM
  #underWay = 0
  #dropped = 0
  #unanswered = 0
  #whenDrained: (() => void) | undefined

  constructor(client: MqttClient, settings: OutboxSettings) {
    this.#client = client
    this.#settings = settings
  }

  get statistics(): PublishTotals {
    return { published: { ...this.#published }, refused: new Map(this.#refused), dropped: this.#dropped }
  }

  publish(event: BrokerEvent): void {
    if (this.#unanswered >= MAXIMUM_UNANSWERED) {
      this.#dropped += 1
      return
    }
    this.#unanswered += 1
    if (this.#client.connected && this.#waiting.length === 0 && this.#underWay < this.#receiveMaximum) this.#send(event)
    else this.#waiting.push(event)
  }

  /**
   * Sends the waiting events. `receiveMaximum`: the most events without an answer that the broker
   * takes (MQTT 5.0 §3.3.4). MQTT.js does not count them.
   */
  connected(receiveMaximum = MAXIMUM_RECEIVE_MAXIMUM): void {
    this.#receiveMaximum = receiveMaximum
    this.#sendWaiting()
  }

  /** Resolves when every event has its answer. */
  async drained(): Promise<void> {
    if (this.#unanswered > 0) await new Promise<void>((resolve) => (this.#whenDrained = resolve))
  }

  #send(event: BrokerEvent): void {
    this.#underWay += 1
    const topicName = eventTopic(event.applicationId, event.devEui, event.kind)
    this.#client.publish(topicName, JSON.stringify(event.payload), { qos: this.#settings.qos }, (error, packet) =>
      this.#answered(event, error ?? undefined, packet),
    )
  }

  #sendWaiting(): void {
    const room = this.#client.connected ? Math.max(0, this.#receiveMaximum - this.#underWay) : 0
    const next = this.#waiting.slice(0, room)
    this.#waiting = this.#waiting.slice(room)
    for (const event of next) this.#send(event)
  }

  #answered(event: BrokerEvent, error: Error | undefined, packet: Packet | undefined): void {
    this.#unanswered -= 1
    this.#underWay -= 1
    if (this.#unanswered === 0) this.#whenDrained?.()
    this.#settings.onAnswered(event)
    if (this.#waiting.length > 0) this.#sendWaiting()
    if (error === undefined) this.#published[event.kind] += 1
    else this.#countRefusal(event, error, packet)
  }

  #countRefusal(event: BrokerEvent, error: Error, packet: Packet | undefined): void {
    const reasonCode = 'code' in error && typeof error.code === 'number' ? error.code : 0x80
    const reason = reasonStringOf(packet) ?? error.message
    const label = `${hexadecimal(reasonCode)} ${reason}`
    const key = this.#refused.has(label) || this.#refused.size < MAXIMUM_REFUSAL_KINDS ? label : 'others'
    const count = this.#refused.get(key) ?? 0
    this.#refused.set(key, count + 1)
    if (count === 0) this.#settings.onRefused(event, reasonCode, reason)
  }
}

/** A Reason Code as people write it: `0x87`. */
export function hexadecimal(code: number): string {
  return `0x${code.toString(16).padStart(2, '0')}`
}

function reasonStringOf(packet: Packet | undefined): string | undefined {
  return packet !== undefined && 'properties' in packet && packet.properties !== undefined
    ? (packet.properties as { reasonString?: string }).reasonString
    : undefined
}
