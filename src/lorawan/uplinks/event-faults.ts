/**
 * Publishes events about faults: the errors of the codecs, and on `error` a copy of the errors that
 * ChirpStack v4 publishes on `log`. So a subscriber to errors hears of them whatever the network
 * server is.
 */
import type { Publisher } from '../../broker/ports/consumer.ts'
import { given } from '../../given.ts'
import { withoutObject } from '../codecs/uplink-object.ts'
import type { UplinkWithObject } from '../codecs/uplink-object.ts'
import { eventTopic } from '../topics.ts'
import type { EventKind } from '../topics.ts'
import type { EventShape } from '../shapes/event-facts.ts'
import type { EventShaping, ShapedEvent } from './event-shaping.ts'
import type { EventTopic } from './held-event.ts'

/**
 * Error events of an application from one tick to the next. Further ones are counted only: an
 * uplink that fails makes two or three events to be stored.
 */
const MAXIMUM_PER_TICK = 100
/** The largest log event that is looked into, in bytes. Real log events have some 700. */
const MAXIMUM_LOG_BYTES = 65_536

/** Publishes error events within bounds. The owner calls `tick` about once a second. */
export class EventFaults {
  /**
   * `errorsWithheld` counts error events that were not published, because there were too many of
   * the application in that second; `errorsLost` those that the broker could not own.
   */
  readonly numbers = { errorsWithheld: 0, errorsLost: 0 }
  readonly #publisher: Publisher
  /** Error events of each application since the last tick. */
  readonly #told = new Map<string, number>()

  readonly #shaping: EventShaping

  constructor(publisher: Publisher, shaping: EventShaping) {
    this.#publisher = publisher
    this.#shaping = shaping
  }

  tick(): void {
    this.#told.clear()
  }

  /**
   * Publishes the error events of an uplink that went on without `object`. For family B there are
   * two: on `log`, where its errors are expected, and on `error`. They take the share of the same
   * tenant as the uplink, so that they come behind it.
   */
  uplink(
    topic: EventTopic,
    payload: Buffer,
    outcome: UplinkWithObject | string,
    { shape, tenant }: { readonly shape: EventShape; readonly tenant: string | undefined },
  ): void {
    if (typeof outcome === 'object' && outcome.error === undefined) return
    if (!this.#mayTell(topic)) return
    const { error } = typeof outcome === 'object' ? outcome : withoutObject(payload, outcome)
    if (error === undefined) return
    this.#count(topic)
    const told = this.#shaping.shape({ ...topic, eventKind: error.kind }, error.payload, shape).payload
    if (error.kind === 'log' || shape === 'V4') this.#publish(topic, 'log', told, tenant)
    this.#publish(topic, 'error', told, tenant)
  }

  /**
   * Copies a log event of the level ERROR to `error`, after the log event has gone on. `received`
   * is the event before it got its shape.
   */
  logged(topic: EventTopic, received: Buffer, payload: Buffer, tenant: string | undefined): void {
    if (!isError(received) || !this.#mayTell(topic)) return
    this.#count(topic)
    this.#publish(topic, 'error', payload, tenant)
  }

  /**
   * Publishes what an event's shape brings along: the error event about an event that could not be
   * read, and the copy on `log` of an error that ChirpStack v4 would have published there.
   */
  shaped(topic: EventTopic, shape: EventShape, event: ShapedEvent, tenant: string | undefined): void {
    const { payload, isChanged, fault } = event
    const isMoved = shape === 'V4' && isChanged && topic.eventKind === 'error'
    if ((fault === undefined && !isMoved) || !this.#mayTell(topic)) return
    this.#count(topic)
    if (shape === 'V4') this.#publish(topic, 'log', fault ?? payload, tenant)
    if (fault !== undefined) this.#publish(topic, 'error', fault, tenant)
  }

  #mayTell({ applicationId }: EventTopic): boolean {
    const may = (this.#told.get(applicationId) ?? 0) < MAXIMUM_PER_TICK
    if (!may) this.numbers.errorsWithheld += 1
    return may
  }

  #count({ applicationId }: EventTopic): void {
    this.#told.set(applicationId, (this.#told.get(applicationId) ?? 0) + 1)
  }

  #publish(
    { applicationId, devEui }: EventTopic,
    kind: Extract<EventKind, 'error'> | 'log',
    payload: Buffer,
    tenant: string | undefined,
  ): void {
    const message = {
      topicName: eventTopic(applicationId, devEui, kind),
      payload,
      qos: 1,
      ...given({ tenant }),
    } as const
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
