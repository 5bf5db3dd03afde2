/**
 * Uplinks on their way from a network server to their readers: each is held back until its object has been added, and behind
 * it what else comes of its device. Other devices' events pass. An uplink is never lost to its codec: whatever happens, it goes
 * on, without `object` then, and an error event behind it tells why.
 */
import type { HeldMessage, OwnMessage, PublishTransformer, Publisher } from '../broker/consumer.ts'
import type { Log } from '../broker/log.ts'
import type { Codecs } from './codecs/codecs.ts'
import type { CommandEvents } from './command-events.ts'
import { addObject, withoutObject } from './codecs/uplink-object.ts'
import type { UplinkWithObject } from './codecs/uplink-object.ts'
import { eventTopic, parseTopic } from './topics.ts'
import type { ParsedTopic } from './topics.ts'
import { HeldBounds } from './uplink-path-bounds.ts'
import type { HeldSize } from './uplink-path-bounds.ts'
import { UplinkCodecs } from './uplink-path-registry.ts'
import type { UplinkRegistry } from './uplink-path-registry.ts'

/** A tick is about a second. */
const TICK_MS = 1_000
/** After so many ticks an uplink goes on without `object`: so it waits for 2 to 3 s at most. */
const MAXIMUM_TICKS = 2
/** Error events of one application from one tick to the next; the others are counted. An uplink that fails is two events to be stored. */
const MAXIMUM_ERRORS_PER_TICK = 100

const NO_VARIABLES: Readonly<Record<string, string>> = {}

const BUSY = 'too many uplinks of the application or its organization wait to be decoded'
const LATE = 'decoding took too long'
const OFTEN_LATE =
  'decoding took too long before; for a while, or until the script is changed, uplinks do not wait for it'
const UNKNOWN = 'the codec of the application could not be looked up'

export interface UplinkPathParts {
  readonly registry: UplinkRegistry
  readonly codecs: Pick<Codecs, 'decodeUplink'>
  /** Is told of the events that may be about commands, and has them go on with the command's id. */
  readonly commandEvents: Pick<CommandEvents, 'wants' | 'told'>
  /** Where error events go, and events that network servers bring in by other ways than as clients of the broker. */
  readonly publisher: Publisher
  readonly clock: { now(): number }
  readonly log: Log
}

type EventTopic = Extract<ParsedTopic, { kind: 'event' }>

/** An event that is held back. */
interface Held {
  readonly topic: EventTopic
  readonly payload: Buffer
  readonly size: HeldSize
  readonly goOn: (payload: Buffer) => void
  /** How many ticks there had been when it came. */
  readonly tick: number
  /** How it goes on, once that is known; a sentence where it does without `object`. */
  outcome: UplinkWithObject | string | undefined
}

/** For telemetry; `held` is current. */
interface UplinkNumbers {
  held: number
  /** Uplinks to which their object was added. */
  decoded: number
  /** Uplinks whose codec failed. */
  failed: number
  /** Uplinks that went on without `object` since they had waited for too long. */
  late: number
  /** Uplinks that came at a bound, and were not decoded. */
  refused: number
  /** Error events that were not published, since there were many of the application in that second. */
  errorsWithheld: number
  /** Error events that the broker could not own. */
  errorsLost: number
}

/** The broker's transformer, and the publisher for events that come in by other ways. Its owner calls `tick` about once a second. */
export class UplinkPath implements PublishTransformer, Publisher {
  readonly #codecs: UplinkCodecs
  readonly #decoder: UplinkPathParts['codecs']
  readonly #commandEvents: UplinkPathParts['commandEvents']
  readonly #publisher: Publisher
  readonly #clock: UplinkPathParts['clock']
  readonly #log: Log
  readonly #bounds = new HeldBounds(() => this.#ticks * TICK_MS)
  /** What is held back of each device, in the order in which it came. */
  readonly #devices = new Map<string, Held[]>()
  /** What is being decoded, first come first. */
  readonly #decoding = new Set<Held>()
  /** Error events of each application since the last tick. */
  readonly #told = new Map<string, number>()
  readonly #numbers = { decoded: 0, failed: 0, late: 0, refused: 0, errorsWithheld: 0, errorsLost: 0 }
  #ticks = 0
  #isClosed = false

  constructor({ registry, codecs, commandEvents, publisher, clock, log }: UplinkPathParts) {
    this.#codecs = new UplinkCodecs(registry)
    this.#decoder = codecs
    this.#commandEvents = commandEvents
    this.#publisher = publisher
    this.#clock = clock
    this.#log = log
  }

  numbers(): Readonly<UplinkNumbers> {
    return { held: this.#bounds.messages, ...this.#numbers }
  }

  holds(topicName: string): boolean {
    const isUplink = topicName.endsWith('/event/up')
    if (!isUplink && this.#commandEvents.wants(topicName)) return true
    if (this.#isClosed || (!isUplink && this.#devices.size === 0)) return false
    const topic = parseTopic(topicName)
    if (topic?.kind !== 'event') return false
    return (isUplink && this.#codecs.known(topic.applicationId)?.codec !== '') || this.#devices.has(topic.devEui)
  }

  transform({ topicName, payload: received, room }: HeldMessage, goOn: (payload: Buffer) => void): void {
    const topic = parseTopic(topicName)
    // The bare shape of an event's Topic Name, which no permit grants.
    if (topic?.kind !== 'event') {
      goOn(received)
      return
    }
    const { applicationId, devEui, eventKind } = topic
    const payload = this.#commandEvents.wants(topicName)
      ? this.#commandEvents.told({ devEui, kind: eventKind, payload: received })
      : received
    if (eventKind !== 'up' && !this.#devices.has(devEui)) {
      goOn(payload)
      return
    }
    const codec = this.#codecs.known(applicationId)
    const { organizationId = '', decoderScript = '' } = codec ?? {}
    const size: HeldSize = { applicationId, organizationId, payloadBytes: payload.length, decoderScript }
    const hasCodec = eventKind === 'up' && codec?.codec !== ''
    const held: Held = { topic, payload, size, goOn, tick: this.#ticks, outcome: undefined }
    if (!hasCodec) held.outcome = { payload, error: undefined }
    else held.outcome = this.#refusalOf(size, room)
    const queue = this.#devices.get(devEui)
    const isDecoded = held.outcome === undefined
    if ((!isDecoded && queue === undefined) || !this.#bounds.take(size, room)) {
      this.#passUp(held, queue ?? [])
      return
    }
    if (queue === undefined) this.#devices.set(devEui, [held])
    else queue.push(held)
    if (!isDecoded) return
    this.#decoding.add(held)
    void this.#decode(held)
  }

  publish(message: OwnMessage): Promise<void> {
    const { topicName, payload } = message
    if (!this.holds(topicName)) return this.#publisher.publish(message)
    return new Promise((resolve, reject) => {
      this.transform({ topicName, payload, room: Infinity }, (completed) => {
        this.#publisher.publish({ ...message, payload: completed }).then(resolve, reject)
      })
    })
  }

  /** Lets go what has waited for too long. */
  tick(): void {
    this.#ticks += 1
    this.#told.clear()
    for (const held of this.#decoding) {
      if (this.#ticks - held.tick <= MAXIMUM_TICKS) break
      const { applicationId, organizationId } = held.size
      this.#numbers.late += 1
      if (this.#bounds.late(held.size)) this.#log.warn({ applicationId, organizationId }, 'uplinks.late')
      this.#settle(held, LATE)
    }
  }

  /** Lets all go on as they came, and holds nothing back from now on: for the time before the broker closes. */
  close(): void {
    this.#isClosed = true
    for (const queue of this.#devices.values()) {
      for (const held of queue) held.outcome ??= { payload: held.payload, error: undefined }
    }
    for (const devEui of this.#devices.keys()) this.#release(devEui)
  }

  /** The application was created, changed or removed. */
  applicationChanged(applicationId: string): void {
    this.#codecs.applicationChanged(applicationId)
  }

  deviceChanged(devEui: string): void {
    this.#codecs.deviceChanged(devEui)
  }

  /** Many devices were created at once. */
  devicesChanged(): void {
    this.#codecs.devicesChanged()
  }

  /** Counts an uplink that can't be decoded now. */
  #refusalOf(size: HeldSize, room: number): string | undefined {
    const refusal = this.#bounds.refusal(size, room)
    if (refusal === undefined) return undefined
    this.#numbers.refused += 1
    return refusal === 'busy' ? BUSY : OFTEN_LATE
  }

  /** An event that can't wait goes on, and before it what waits of its device: it must not overtake that. */
  #passUp(held: Held, queue: readonly Held[]): void {
    for (const before of queue) before.outcome ??= BUSY
    this.#release(held.topic.devEui)
    this.#goOn(held)
  }

  async #decode(held: Held): Promise<void> {
    const { applicationId, devEui } = held.topic
    const receivedAtMs = this.#clock.now()
    let outcome: Held['outcome']
    try {
      const codec = await this.#codecs.codecOf(applicationId)
      const variables = codec.codec === 'CUSTOM_JS' ? await this.#codecs.variablesOf(devEui) : NO_VARIABLES
      const request = { applicationId, codec: codec.codec, script: codec.decoderScript, variables, receivedAtMs }
      outcome = await addObject(held.payload, request, this.#decoder)
      this.#count(held, outcome)
    } catch (error) {
      this.#log.error({ err: error, applicationId, devEui }, 'uplink.look_failed')
      outcome = UNKNOWN
    }
    this.#settle(held, outcome)
  }

  #count(held: Held, { payload, error }: UplinkWithObject): void {
    // It has gone on already.
    if (held.outcome !== undefined) return
    if (error !== undefined) this.#numbers.failed += 1
    else if (payload !== held.payload) this.#numbers.decoded += 1
  }

  /** The first word counts: what has gone on can't be changed any more. */
  #settle(held: Held, outcome: NonNullable<Held['outcome']>): void {
    this.#decoding.delete(held)
    held.outcome ??= outcome
    this.#release(held.topic.devEui)
  }

  /** Lets a device's events go on, up to the first that is not decoded yet. */
  #release(devEui: string): void {
    const queue = this.#devices.get(devEui)
    if (queue === undefined) return
    for (let first = queue[0]; first?.outcome !== undefined; first = queue[0]) {
      queue.shift()
      this.#decoding.delete(first)
      this.#bounds.release(first.size)
      this.#goOn(first)
    }
    if (queue.length === 0) this.#devices.delete(devEui)
  }

  #goOn({ topic, payload, goOn, outcome }: Held): void {
    const completed = typeof outcome === 'object' ? outcome.payload : payload
    try {
      goOn(completed)
    } catch (error) {
      // There is no packet being handled to which it could be an answer, and what waits behind it must go on.
      this.#log.error({ err: error, topic }, 'uplink.route_failed')
    }
    if (outcome !== undefined) this.#tell(topic, payload, outcome)
  }

  /** Publishes the error event of an uplink that has gone on without `object`. */
  #tell(topic: EventTopic, payload: Buffer, outcome: UplinkWithObject | string): void {
    const { applicationId, devEui } = topic
    if (typeof outcome === 'object' && outcome.error === undefined) return
    const told = this.#told.get(applicationId) ?? 0
    if (told >= MAXIMUM_ERRORS_PER_TICK) {
      this.#numbers.errorsWithheld += 1
      return
    }
    const { error } = typeof outcome === 'object' ? outcome : withoutObject(payload, outcome)
    if (error === undefined) return
    this.#told.set(applicationId, told + 1)
    const message = {
      topicName: eventTopic(applicationId, devEui, error.kind),
      payload: error.payload,
      qos: 1,
    } as const
    this.#publisher.publish(message).catch(() => {
      this.#numbers.errorsLost += 1
    })
  }
}
