/**
 * The way of uplinks from a network server to their readers. Each uplink is held back until its
 * `object` has been added, and later events of its device wait behind it. An event about a command
 * that is just being handed over is held back until the command's id is known. Each event gets its
 * device's tags and the names of its profile. Events of other devices pass. When there is no room
 * to wait, the connection that brought the event waits. An uplink is never lost to its codec: when
 * the codec fails, the uplink goes on without `object`, and an error event behind it tells why.
 */
import type { HeldMessage, OwnMessage, PublishTransformer, Publisher } from '../../broker/ports/consumer.ts'
import type { Logger } from '../../logger.ts'
import { Topic } from '../../mqtt/topic.ts'
import type { Codecs } from '../codecs/codecs.ts'
import type { PassingCommandEvents } from '../commands/command-events.ts'
import { addObject } from '../codecs/uplink-object.ts'
import type { UplinkWithObject } from '../codecs/uplink-object.ts'
import { DecodingLanes } from './decoding-lanes.ts'
import { EventFaults } from './event-faults.ts'
import { DeviceLabels } from './device-labels.ts'
import { EventShaping } from './event-shaping.ts'
import { knownTopic } from './known-topic.ts'
import { parseTopic } from '../topics.ts'
import { HeldBounds } from './uplink-path-bounds.ts'
import type { HeldSize } from './uplink-path-bounds.ts'
import type { EventTopic, GoOn, Held, Waiter } from './held-event.ts'
import { isOfLastEvents } from './last-events.ts'
import { UplinkCodecs } from './uplink-path-registry.ts'
import type { RegisteredCodec, UplinkMemories, UplinkRegistry } from './uplink-path-registry.ts'

/** A tick is about a second. */
const TICK_MS = 1_000
/**
 * Ticks that an uplink waits on a connection that several organizations share and that has no room
 * for the events of the others. Then the uplink goes on without `object`.
 */
const MAXIMUM_TICKS = 2
/**
 * Ticks that an uplink waits when the shared connection seems to have room. Its client may have a
 * bound of its own.
 */
const MAXIMUM_TICKS_WITH_ROOM = 10

const NO_VARIABLES: Readonly<Record<string, string>> = {}

const BUSY = 'too many uplinks of the application or its organization wait to be decoded'
const LATE = 'decoding took too long'
const NO_TIME =
  'codec_time_used: the payload codecs of the organization have used their time in these seconds (codecMsPerSecond)'
const OFTEN_LATE =
  'decoding took too long before; for a while, or until the script is changed, uplinks do not wait for it'

export interface UplinkPathParts {
  readonly registry: UplinkRegistry
  readonly codecs: Pick<Codecs, 'decodeUplink' | 'hasTime'>
  /** Takes the events that may be about commands, and puts the commands' ids into them. */
  readonly commandEvents: PassingCommandEvents
  /**
   * Publishes error events, and events that network servers bring in without being clients of the
   * broker.
   */
  readonly publisher: Publisher
  readonly clock: { now(): number }
  readonly log: Logger
}

/** For telemetry; `held` is current. */
interface UplinkNumbers {
  held: number
  /** Uplinks to which their object was added. */
  decoded: number
  /** Uplinks whose codec failed. */
  failed: number
  /** Uplinks that went on without `object` because they had waited for too long. */
  late: number
  /** Uplinks that were not decoded because others share their connection. */
  refused: number
  /** Events that were brought into the shape of their application. */
  shaped: number
  /** Events that went on as received, because they could not be brought into the shape. */
  unshaped: number
  /**
   * Error events that were not published because there were too many of the application in that
   * second.
   */
  errorsWithheld: number
  /** Error events that the broker could not own. */
  errorsLost: number
}

/**
 * The broker's transformer, and the publisher of events that come in by other ways. The owner calls
 * `tick` about once a second.
 */
export class UplinkPath implements PublishTransformer, Publisher {
  readonly #codecs: UplinkCodecs
  readonly #decoder: UplinkPathParts['codecs']
  readonly #commandEvents: UplinkPathParts['commandEvents']
  readonly #publisher: Publisher
  readonly #clock: UplinkPathParts['clock']
  readonly #log: Logger
  readonly #bounds = new HeldBounds(() => this.#ticks * TICK_MS)
  /** The held events of each device, in the order in which they came. */
  readonly #devices = new Map<string, Held[]>()
  /** The events that are being decoded, in the order in which they came. */
  readonly #decoding = new Set<Held>()
  readonly #lanes = new DecodingLanes<Held>((held) => this.#decode(held))
  /** In the order in which they came. Bounded by the connections, bridges and webhooks. */
  readonly #waiters = new Set<Waiter>()
  #isAdmitting = false
  readonly #shaping: EventShaping
  readonly #faults: EventFaults
  readonly #numbers = { decoded: 0, failed: 0, late: 0, refused: 0 }
  #ticks = 0
  #isClosed = false

  constructor({ registry, codecs, commandEvents, publisher, clock, log }: UplinkPathParts) {
    this.#codecs = new UplinkCodecs(registry)
    this.#decoder = codecs
    this.#commandEvents = commandEvents
    this.#publisher = publisher
    this.#shaping = new EventShaping(clock)
    this.#faults = new EventFaults(publisher, this.#shaping)
    this.#clock = clock
    this.#log = log
  }

  /** The facts of the registry that are remembered here, to be told of changes. */
  get memories(): UplinkMemories {
    return this.#codecs.memories
  }

  numbers(): Readonly<UplinkNumbers> {
    return { held: this.#bounds.messages, ...this.#numbers, ...this.#shaping.numbers, ...this.#faults.numbers }
  }

  holds(topic: Topic): boolean {
    const known = knownTopic(topic)
    const { parsed } = known
    if (this.#codecs.isPlain(known)) return parsed !== undefined && this.#isBehind(parsed.devEui)
    const isUplink = topic.name.endsWith('/event/up')
    if (!isUplink && this.#commandEvents.wants(topic.name)) return true
    if (parsed?.kind !== 'event') return false
    if (this.#codecs.mayHaveTags(parsed.devEui)) return true
    const application = this.#codecs.codecAtOnce(parsed.applicationId)
    if (application !== undefined && changesEvents(application, parsed)) return true
    if (this.#isClosed) return false
    if (application === undefined || (isUplink && application.codec !== '')) return true
    if (isUplink) this.#codecs.notePlain(known)
    return this.#isBehind(parsed.devEui)
  }

  /** True when earlier events of the device are held back. */
  #isBehind(devEui: string): boolean {
    return !this.#isClosed && this.#devices.size > 0 && this.#devices.has(devEui)
  }

  transform(message: HeldMessage, goOn: GoOn): Promise<void> | undefined {
    const { topicName, payload: received } = message
    const topic = parseTopic(topicName)
    // A Topic Name that only looks like one of an event. No permit grants it.
    if (topic?.kind !== 'event') {
      goOn(received)
      return undefined
    }
    // An uplink looks its application up where it is decoded.
    const application = topic.eventKind === 'up' ? undefined : this.#codecs.codecOf(topic.applicationId)
    if (!(application instanceof Promise)) return this.#withLabels(topic, message, received, goOn)
    return application.then(
      () => this.#withLabels(topic, message, received, goOn),
      (error: unknown) => {
        this.#log.error({ err: error, applicationId: topic.applicationId }, 'event.shape_not_read')
        return this.#withLabels(topic, message, received, goOn)
      },
    )
  }

  #withLabels(topic: EventTopic, message: HeldMessage, received: Buffer, goOn: GoOn): Promise<void> | undefined {
    const labels = this.#codecs.labelsOf(topic.devEui)
    if (labels === undefined) return this.#transform(topic, message, received, goOn)
    if (labels instanceof DeviceLabels) return this.#transform(topic, message, labels.into(received), goOn)
    return labels.then(
      (found) => this.#transform(topic, message, found?.into(received) ?? received, goOn),
      (error: unknown) => {
        this.#log.error({ err: error, devEui: topic.devEui }, 'event.tags_not_read')
        return this.#transform(topic, message, received, goOn)
      },
    )
  }

  #transform(topic: EventTopic, message: HeldMessage, received: Buffer, goOn: GoOn): Promise<void> | undefined {
    const { topicName } = message
    const { applicationId, devEui, eventKind } = topic
    const isOfCommand = this.#commandEvents.wants(topicName)
    const event = { applicationId, devEui, kind: eventKind, payload: received }
    const told = isOfCommand ? this.#commandEvents.told(event) : received
    const awaitsName = told instanceof Promise
    const payload = awaitsName ? received : told
    const codec = this.#codecs.knownFor(topic)
    const application = this.#codecs.known(applicationId)
    const { organizationId = '', decoderScript = '' } = codec ?? {}
    const size: HeldSize = { applicationId, organizationId, payloadBytes: payload.length, decoderScript }
    const held: Held = {
      topic,
      payload,
      size,
      message,
      goOn,
      tick: this.#ticks,
      awaitsName,
      outcome: undefined,
      application,
    }
    // A promise of the events never rejects.
    if (awaitsName) void told.then((named) => this.#settle(held, { payload: named, error: undefined }))
    else if (eventKind !== 'up' || (codec?.codec === '' && application !== undefined) || this.#isClosed)
      held.outcome = { payload, error: undefined }
    else if (message.isShared && this.#bounds.isTooSlow(size, message.room)) held.outcome = this.#refused(OFTEN_LATE)
    if (held.outcome !== undefined && !this.#devices.has(devEui)) {
      this.#goOn(held)
      return undefined
    }
    if (this.#waiters.size === 0 && this.#bounds.hasRoom(size)) {
      this.#enter(held)
      return undefined
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiters.add({ held, resolve })
    this.#admitLater()
    return promise
  }

  publish(message: OwnMessage): Promise<void> {
    const { topicName, payload } = message
    if (!this.holds(new Topic(topicName))) return this.#publisher.publish(message)
    return new Promise((resolve, reject) => {
      const giveBack = (): boolean => {
        reject(new Error('the service is shutting down'))
        return true
      }
      const held = { topicName, payload, room: 0, isShared: true, tenant: message.tenant, isGone: false, giveBack }
      void this.transform(held, (completed, retains = false) => {
        this.#publisher.publish({ ...message, payload: completed, retains }).then(resolve, reject)
      })
    })
  }

  /** Whether the last events of the application's devices are retained. Rejects as `codecOf`. */
  async retainsLastEvents(applicationId: string): Promise<boolean> {
    return (await this.#codecs.codecOf(applicationId)).retainsLastEvents
  }

  /** Lets events go on that have waited for too long. */
  tick(): void {
    this.#ticks += 1
    this.#faults.tick()
    this.#lanes.tick()
    for (const held of this.#decoding) {
      if (this.#ticks - held.tick <= MAXIMUM_TICKS) break
      if (!this.#isLate(held)) continue
      const { applicationId, organizationId } = held.size
      this.#numbers.late += 1
      if (this.#bounds.late(held.size)) this.#log.warn({ applicationId, organizationId }, 'uplinks.late')
      this.#settle(held, this.#decoder.hasTime(organizationId) ? LATE : NO_TIME)
    }
    for (const waiter of this.#waiters) {
      const { held, resolve } = waiter
      if (this.#ticks - held.tick <= MAXIMUM_TICKS || !held.message.isShared) continue
      this.#waiters.delete(waiter)
      if (held.outcome === undefined && !held.awaitsName) held.outcome = this.#refused(BUSY)
      this.#passUp(held)
      resolve()
    }
    this.#admitLater()
  }

  /**
   * For the time before the broker closes: gives back the events that will come again, lets the
   * others go on as they came, and holds nothing back from now on.
   */
  close(): void {
    this.#isClosed = true
    for (const { held, resolve } of this.#waiters) {
      this.#passUp(held)
      resolve()
    }
    this.#waiters.clear()
    for (const queue of this.#devices.values()) {
      for (const held of queue) held.outcome ??= { payload: held.payload, error: undefined }
    }
    for (const devEui of this.#devices.keys()) this.#release(devEui)
  }

  #refused(reason: string): string {
    this.#numbers.refused += 1
    return reason
  }

  /** True when an uplink has waited for too long on a connection that it shares with others. */
  #isLate({ message, tick }: Held): boolean {
    if (!message.isShared) return false
    return this.#ticks - tick > (message.room > 0 ? MAXIMUM_TICKS_WITH_ROOM : MAXIMUM_TICKS)
  }

  #enter(held: Held): void {
    const { devEui, applicationId } = held.topic
    this.#bounds.take(held.size)
    const queue = this.#devices.get(devEui)
    if (queue === undefined) this.#devices.set(devEui, [held])
    else queue.push(held)
    if (held.outcome !== undefined) this.#release(devEui)
    else if (!held.awaitsName) {
      this.#decoding.add(held)
      this.#lanes.push(applicationId, held)
    }
  }

  /** Admits once for all events that go on in this turn. */
  #admitLater(): void {
    if (this.#isAdmitting || this.#waiters.size === 0) return
    this.#isAdmitting = true
    queueMicrotask(() => {
      this.#isAdmitting = false
      this.#admit()
    })
  }

  /**
   * Admits waiting events while there is room. Events of an organization keep their order, and do
   * not hold up those of another.
   */
  #admit(): void {
    const full = new Set<string>()
    for (const waiter of this.#waiters) {
      const { held, resolve } = waiter
      const { organizationId } = held.size
      if (full.has(organizationId)) continue
      if (this.#bounds.hasRoom(held.size)) {
        this.#waiters.delete(waiter)
        this.#enter(held)
        resolve()
      } else full.add(organizationId)
    }
  }

  /**
   * Lets an event go on that can't wait. The waiting events of its device go before it, because it
   * must not overtake them.
   */
  #passUp(held: Held): void {
    const { devEui } = held.topic
    held.outcome ??= { payload: held.payload, error: undefined }
    for (const before of this.#devices.get(devEui) ?? []) {
      before.outcome ??= this.#isClosed || before.awaitsName ? { payload: before.payload, error: undefined } : BUSY
    }
    this.#release(devEui)
    this.#goOn(held)
  }

  /**
   * Undefined for an event that needs no decoding any more; a promise of false for an event that is
   * to be tried again.
   */
  #decode(held: Held): Promise<boolean> | undefined {
    if (held.outcome !== undefined) return undefined
    if (!held.message.isGone) return this.#lookAndDecode(held)
    this.#settle(held, { payload: held.payload, error: undefined })
    return undefined
  }

  async #lookAndDecode(held: Held): Promise<boolean> {
    const { applicationId, devEui } = held.topic
    const receivedAtMs = this.#clock.now()
    let isBusy = false
    const decoder: Pick<Codecs, 'decodeUplink'> = {
      decodeUplink: async (request) => {
        const decoded = await this.#decoder.decodeUplink(request)
        isBusy = !decoded.ok && (decoded.reason === 'codec_busy' || decoded.reason === 'codec_time_used')
        return decoded
      },
    }
    try {
      const looked = this.#codecs.profileFor(devEui)
      const profile = looked instanceof Promise ? await looked : looked
      const application = await this.#codecs.codecOf(applicationId)
      held.application ??= application
      const codec = profile ?? application
      // Asked before the event is read: thousands of uplinks may be tried again with each tick.
      if (codec.codec === 'CUSTOM_JS' && !this.#decoder.hasTime(codec.organizationId)) return false
      const own = codec.codec === 'CUSTOM_JS' ? await this.#codecs.variablesOf(devEui) : NO_VARIABLES
      const variables = profile === undefined ? own : { ...profile.variables, ...own }
      const { codec: kind, decoderScript: script } = codec
      const request = { applicationId, codec: kind, script, variables, receivedAtMs, profile }
      const outcome = await addObject(held.payload, request, decoder)
      if (isBusy) return false
      this.#count(held, outcome)
      this.#settle(held, outcome)
      return true
    } catch (error) {
      // The uplink waits until the registry answers.
      this.#log.error({ err: error, applicationId, devEui }, 'uplink.look_failed')
      return false
    }
  }

  #count(held: Held, { payload, error }: UplinkWithObject): void {
    // The event has gone on already.
    if (held.outcome !== undefined) return
    if (error !== undefined) this.#numbers.failed += 1
    else if (payload !== held.payload) this.#numbers.decoded += 1
  }

  /** Only the first outcome counts: an event that has gone on can't be changed. */
  #settle(held: Held, outcome: NonNullable<Held['outcome']>): void {
    this.#decoding.delete(held)
    held.outcome ??= outcome
    this.#release(held.topic.devEui)
  }

  /** Lets a device's events go on, up to the first event that still waits. */
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
    this.#admitLater()
  }

  #goOn(held: Held): void {
    const { topic, payload, message, goOn, outcome } = held
    if ((this.#isClosed || message.isGone) && message.giveBack()) return
    const completed = typeof outcome === 'object' ? outcome.payload : payload
    const application = held.application ?? this.#codecs.known(topic.applicationId)
    const shape = application?.eventShape ?? ''
    const shaped = this.#shaping.shape(topic, completed, shape)
    try {
      goOn(shaped.payload, application?.retainsLastEvents === true && isOfLastEvents(topic))
    } catch (error) {
      // No packet is being handled that the error could be an answer to, and the events behind this
      // one must go on.
      this.#log.error({ err: error, topic }, 'uplink.route_failed')
    }
    const { tenant } = message
    if (outcome !== undefined) this.#faults.uplink(topic, payload, outcome, { shape, tenant })
    if (topic.eventKind === 'log') this.#faults.logged(topic, completed, shaped.payload, tenant)
    if (shape !== '') this.#faults.shaped(topic, shape, shaped, tenant)
  }
}

/** True for an application whose events of the topic do not simply go on as they came. */
function changesEvents({ eventShape, retainsLastEvents }: RegisteredCodec, topic: EventTopic): boolean {
  return eventShape !== '' || (retainsLastEvents && isOfLastEvents(topic))
}
