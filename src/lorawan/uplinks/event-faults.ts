/**
 * The events that tell of faults: those of the codecs here, and on `error` a copy of what
 * ChirpStack v4 tells on `log`, so that whoever subscribes to errors hears of them whatever the
 * network server is.
 */
import type { Publisher } from '../../broker/ports/consumer.ts'
import { withoutObject } from '../codecs/uplink-object.ts'
import type { UplinkWithObject } from '../codecs/uplink-object.ts'
import { eventTopic } from '../topics.ts'
import type { EventKind, ParsedTopic } from '../topics.ts'

/**
 * Events of one application from one tick to the next; the others are counted. An uplink that fails
 * is two or three events to be stored.
 */
const MAXIMUM_PER_TICK = 100
/** The largest log event that is looked into, in bytes; real ones have some 700. */
const MAXIMUM_LOG_BYTES = 65_536

type EventTopic = Extract<ParsedTopic, { kind: 'event' }>

/** Its owner calls `tick` about once a second. */
export class EventFaults {
  /**
   * `errorsWithheld`: there were many of the application in that second. `errorsLost`: the broker
   * could not own them.
   */
  readonly numbers = { errorsWithheld: 0, errorsLost: 0 }
  readonly #publisher: Publisher
  /** Of each application since the last tick. */
  readonly #told = new Map<string, number>()

  constructor(publisher: Publisher) {
    this.#publisher = publisher
  }

  tick(): void {
    this.#told.clear()
  }

  /**
   * Publishes what an uplink without `object` is to be told by; for family B both as `log`, where
   * its errors are, and as `error`.
   */
  uplink(topic: EventTopic, payload: Buffer, outcome: UplinkWithObject | string): void {
    if (typeof outcome === 'object' && outcome.error === undefined) return
    if (!this.#mayTell(topic)) return
    const { error } = typeof outcome === 'object' ? outcome : withoutObject(payload, outcome)
    if (error === undefined) return
    this.#count(topic)
    if (error.kind === 'log') this.#publish(topic, 'log', error.payload)
    this.#publish(topic, 'error', error.payload)
  }

  /** A log event has gone on: one of the level ERROR goes out as `error` as well. */
  logged(topic: EventTopic, payload: Buffer): void {
    if (!isError(payload) || !this.#mayTell(topic)) return
    this.#count(topic)
    this.#publish(topic, 'error', payload)
  }

  #mayTell({ applicationId }: EventTopic): boolean {
    const may = (this.#told.get(applicationId) ?? 0) < MAXIMUM_PER_TICK
    if (!may) this.numbers.errorsWithheld += 1
    return may
  }

  #count({ applicationId }: EventTopic): void {
    this.#told.set(applicationId, (this.#told.get(applicationId) ?? 0) + 1)
  }

  #publish({ applicationId, devEui }: EventTopic, kind: Extract<EventKind, 'error'> | 'log', payload: Buffer): void {
    const message = { topicName: eventTopic(applicationId, devEui, kind), payload, qos: 1 } as const
    this.#publisher.publish(message).catch(() => {
      this.numbers.errorsLost += 1
    })
  }
}

/** ChirpStack v4 has the levels INFO, WARNING and ERROR. */
function isError(payload: Buffer): boolean {
  if (payload.length > MAXIMUM_LOG_BYTES || !payload.includes('ERROR')) return false
  try {
    const value: unknown = JSON.parse(payload.toString())
    return typeof value === 'object' && value !== null && 'level' in value && value.level === 'ERROR'
  } catch {
    return false
  }
}
