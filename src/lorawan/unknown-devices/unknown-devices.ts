/**
 * Keeps the events of devices that are not registered, until the devices are registered. Then their
 * events go out in the order in which they came, before newer events of the same devices.
 */
import type { Publisher } from '../../broker/ports/consumer.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { DevicePlace, DevicePlaces } from '../commands/command-ports.ts'
import type { DurableState, LoadedState } from '../commands/durable-state.ts'
import { eventTopic } from '../topics.ts'
import type { PublishedEventKind } from '../topics.ts'
import { keptEvent, readKeptEvent, UNKNOWN_PREFIX } from './kept-event.ts'
import type { EventSource, KeptEvent } from './kept-event.ts'
import { Shelves, sizeOf } from './shelves.ts'
import type { Shelf, UnknownDevice } from './shelves.ts'

/** The bounds of one network server; with a bound of 0 nothing is kept. */
export interface UnknownDeviceLimits {
  readonly keptMs: number
  readonly events: number
  readonly bytes: number
}

export interface UnknownDevicesParts {
  readonly state: DurableState
  /** Names this process among all processes whose events may come together in one state. */
  readonly process: string
  readonly publisher: Publisher
  readonly places: DevicePlaces
  readonly limits: UnknownDeviceLimits
  /** Is told of each event that was kept for an organization, or for the whole deployment. */
  readonly onKept?: (organizationId: string | null, devEui: string) => void
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

/** An event that a network server brings. */
export interface UnknownEvent {
  readonly applicationId: string
  /** 16 lower-case hexadecimal digits. */
  readonly devEui: string
  readonly kind: PublishedEventKind
  /** Copied where the event is kept. */
  readonly payload: Buffer
}

/**
 * The network servers of an organization have together this many times the bounds of one. Beyond
 * it, the organization's largest shelf gives its oldest event up. An organization can make as many
 * credentials as it likes.
 */
const OWNER_TIMES = 4
/**
 * Bytes of all kept events, 512 MB of memory. Beyond it no further event is kept: nobody's flood
 * takes the events of others away.
 */
const MAXIMUM_BYTES_IN_ALL = 536_870_912
/** Devices whose events go out at the same time. */
const MAXIMUM_RELEASES = 32
/** Events that one tick gives up because of their age, for each network server. */
const EXPIRED_PER_TICK = 1_000

export class UnknownDevices {
  readonly #parts: UnknownDevicesParts
  readonly #shelves = new Shelves()
  readonly #numbers = { kept: 0, delivered: 0, givenUp: 0 }
  /** DevEUIs to look at; bounded by the devices that wait. */
  readonly #toRelease = new Set<string>()
  readonly #releasing = new Set<string>()
  /** DevEUIs whose events could not be delivered: the next tick tries again. */
  readonly #undelivered = new Set<string>()
  #sequence = 0
  #isClosed = false

  constructor(parts: UnknownDevicesParts) {
    this.#parts = parts
  }

  /** Counted since the start of the process; `events` and `bytes` are current. */
  numbers(): Readonly<Record<'kept' | 'delivered' | 'givenUp' | 'events' | 'bytes', number>> {
    return { ...this.#numbers, events: this.#shelves.events, bytes: this.#shelves.bytes }
  }

  /**
   * Reads stored events: of this node at the start, and later those of dead nodes, which the state
   * of this node owns by then.
   */
  async load(entries: LoadedState): Promise<void> {
    const { log, onKept } = this.#parts
    const stored: KeptEvent[] = []
    for await (const { key, value } of entries(UNKNOWN_PREFIX)) {
      try {
        stored.push(readKeptEvent(key, value))
      } catch (error) {
        log.error({ key, error }, 'unknown_device.event_unreadable')
      }
    }
    this.#shelves.merge(stored)
    for (const { source, sequence, devEui } of stored) {
      this.#sequence = Math.max(this.#sequence, sequence)
      onKept?.(source.organizationId, devEui)
    }
    this.releaseAll()
  }

  /**
   * True when events wait that go out before any newer event of the device, which belongs to the
   * organization.
   */
  precede(devEui: string, organizationId: string): boolean {
    return this.#shelves.events > 0 && this.#isOn && this.#shelves.has(devEui, organizationId)
  }

  get #isOn(): boolean {
    const { keptMs, events, bytes } = this.#parts.limits
    return keptMs > 0 && events > 0 && bytes > 0 && !this.#isClosed
  }

  /**
   * Keeps an event. The promise resolves when the durable state owns the event, and rejects when it
   * can't own it. Undefined: the event can't be kept, because the bounds leave no room for it.
   */
  keep(source: EventSource, unknown: UnknownEvent): Promise<void> | undefined {
    const { limits, clock } = this.#parts
    if (!this.#isOn) return undefined
    const atMs = clock.now()
    const sequence = Math.max(this.#sequence + 1, Math.floor(atMs * 1_000))
    const event = keptEvent({ ...unknown, source, sequence, atMs }, this.#parts.process)
    const size = sizeOf(event)
    if (size > limits.bytes || this.#shelves.bytes + size > MAXIMUM_BYTES_IN_ALL) return undefined
    this.#sequence = sequence
    const shelf = this.#shelves.add(event)
    const givenUp = this.#makeRoom(shelf)
    return this.#own(event, givenUp)
  }

  async #own(event: KeptEvent, givenUp: readonly KeptEvent[]): Promise<void> {
    try {
      await this.#write([event], givenUp)
    } catch (error) {
      this.#shelves.remove(event)
      throw error
    }
    this.#numbers.kept += 1
    // The device may have been registered while the event was on its way here.
    this.release(event.devEui)
    this.#parts.onKept?.(event.source.organizationId, event.devEui)
  }

  /** Gives the oldest events up, until the network server and its owner are within their bounds. */
  #makeRoom(shelf: Shelf): readonly KeptEvent[] {
    const { limits } = this.#parts
    const { organizationId } = shelf.source
    const givenUp: KeptEvent[] = []
    while (shelf.events.size > limits.events || shelf.bytes > limits.bytes) this.#giveUp(shelf, givenUp)
    for (;;) {
      const usage = this.#shelves.usageOf(organizationId)
      if (usage.events <= limits.events * OWNER_TIMES && usage.bytes <= limits.bytes * OWNER_TIMES) return givenUp
      let largest = shelf
      for (const other of this.#shelves.shelvesOf(organizationId)) if (other.bytes > largest.bytes) largest = other
      this.#giveUp(largest, givenUp)
    }
  }

  #giveUp(shelf: Shelf, givenUp: KeptEvent[]): void {
    const [oldest] = shelf.events.values()
    if (oldest === undefined) return
    shelf.givenUp += 1
    this.#numbers.givenUp += 1
    this.#shelves.remove(oldest)
    givenUp.push(oldest)
  }

  #write(kept: readonly KeptEvent[], gone: readonly KeptEvent[]): Promise<void> {
    const changes = [
      ...kept.map(({ key, stored }) => ({ key, value: stored })),
      ...gone.map(({ key }) => ({ key, value: undefined })),
    ]
    const [first] = [...kept, ...gone]
    return this.#parts.state.write(changes, first?.source.organizationId ?? undefined)
  }

  /** Forgets events in the durable state. An event that stays there by a fault comes again. */
  #erase(gone: readonly KeptEvent[]): void {
    for (const own of Map.groupBy(gone, ({ source }) => source.organizationId).values()) {
      this.#write([], own).catch((error: unknown) => {
        this.#parts.log.error({ events: own.length, error }, 'unknown_device.events_not_erased')
      })
    }
  }

  /** The devices that wait for the owner: an organization, or null for the whole deployment. */
  devicesOf(organizationId: string | null): Iterable<UnknownDevice> {
    return this.#shelves.devicesOf(organizationId)
  }

  /** The device, where it waits for the owner. */
  device(organizationId: string | null, devEui: string): UnknownDevice | undefined {
    return this.#shelves.device(organizationId, devEui)
  }

  /** The organizations for which devices wait, and null for the whole deployment. */
  owners(): Iterable<string | null> {
    return this.#shelves.owners()
  }

  /** The network servers of the owner that have kept events, or gave some up. */
  shelvesOf(organizationId: string | null): Iterable<Shelf> {
    return this.#shelves.shelvesOf(organizationId)
  }

  /** Forgets the events of a device. False: the owner has no such device. */
  forget(organizationId: string | null, devEui: string): boolean {
    const device = this.#shelves.device(organizationId, devEui)
    if (device === undefined) return false
    const events = [...device.events.values()]
    for (const event of events) this.#shelves.remove(event)
    this.#erase(events)
    return true
  }

  /** Forgets all that waits for an organization that is removed. */
  organizationRemoved(organizationId: string): void {
    for (const { devEui } of this.#shelves.devicesOf(organizationId)) this.forget(organizationId, devEui)
  }

  /** Looks whether a device that waits is registered by now; then its events go out. */
  release(devEui: string): void {
    if (!this.#shelves.isWaiting(devEui) || this.#isClosed) return
    this.#toRelease.add(devEui)
    this.#releaseNext()
  }

  /** Looks at all devices that wait. */
  releaseAll(): void {
    for (const devEui of this.#shelves.devEuis()) this.#toRelease.add(devEui)
    this.#releaseNext()
  }

  #releaseNext(): void {
    for (const devEui of this.#toRelease) {
      if (this.#releasing.size >= MAXIMUM_RELEASES || this.#isClosed) return
      if (this.#releasing.has(devEui)) continue
      this.#toRelease.delete(devEui)
      this.#releasing.add(devEui)
      void this.#deliver(devEui)
        .catch((error: unknown) => {
          this.#parts.log.error({ devEui, error }, 'unknown_device.not_delivered')
          this.#undelivered.add(devEui)
        })
        .finally(() => {
          this.#releasing.delete(devEui)
          this.#releaseNext()
        })
    }
  }

  /** Delivers the events of a device, one after the other, if the device is registered. */
  async #deliver(devEui: string): Promise<void> {
    for (;;) {
      if (this.#isClosed) return
      const looked = this.#parts.places.device(devEui)
      const place = looked instanceof Promise ? await looked : looked
      // The events of a disabled device wait until it is enabled, or until they are too old.
      if (place === undefined || place.isDisabled) return
      const event = this.#shelves.first(devEui, place.organizationId)
      if (event === undefined) return
      await this.#publish(event, place)
      this.#numbers.delivered += 1
      if (this.#shelves.remove(event)) this.#erase([event])
    }
  }

  #publish({ devEui, kind, payload }: KeptEvent, place: DevicePlace): Promise<void> {
    const topicName = eventTopic(place.applicationId, devEui, kind)
    const tenant = `organization:${place.organizationId}`
    return this.#parts.publisher.publish({ topicName, payload, qos: 1, tenant })
  }

  /**
   * Gives up events that are too old, and delivers again what could not be delivered. The owner
   * calls it about once a second.
   */
  tick(): void {
    const undelivered = [...this.#undelivered]
    this.#undelivered.clear()
    for (const devEui of undelivered) this.release(devEui)
    const oldest = this.#parts.clock.now() - this.#parts.limits.keptMs
    const givenUp: KeptEvent[] = []
    for (const shelf of this.#shelves.all()) {
      for (let count = 0; count < EXPIRED_PER_TICK; count += 1) {
        const [event] = shelf.events.values()
        if (event === undefined || event.atMs >= oldest) break
        this.#giveUp(shelf, givenUp)
      }
    }
    if (givenUp.length > 0) this.#erase(givenUp)
  }

  /** Ends deliveries. The events that wait are in the durable state. */
  close(): void {
    this.#isClosed = true
  }
}
