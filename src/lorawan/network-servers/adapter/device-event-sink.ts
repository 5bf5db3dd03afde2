/**
 * Takes a network server's events to the broker: checks that it may speak for the device, and has
 * the broker own the event.
 */
import type { Clock } from '../../../clock.ts'
import type { Publisher } from '../../../broker/ports/consumer.ts'
import type { DevicePlace } from '../../commands/command-ports.ts'
import type { EventSink, NetworkServer } from '../../commands/network-server.ts'
import { EVENT_KINDS, eventTopic, isDevEui } from '../../topics.ts'
import type { PublishedEventKind } from '../../topics.ts'
import type { UnknownDevices, UnknownEvent } from '../../unknown-devices/unknown-devices.ts'
import type { EventInspection } from '../../uplinks/event-inspection.ts'
import type { NetworkServerCounters } from './counters.ts'
import { EventRefused } from './event-refused.ts'
import type { Logger } from '../../../logger.ts'

export interface DeviceEventSinkParts {
  /** Looks up a DevEUI of 16 lower-case hexadecimal digits. */
  readonly placeOf: (devEui: string) => DevicePlace | undefined | Promise<DevicePlace | undefined>
  /** The organization of an application; undefined where Fieldgate has no such application. */
  readonly organizationOf?: (applicationId: string) => string | undefined | Promise<string | undefined>
  readonly publisher: Publisher
  /** Keeps the events of devices that are not registered. Absent: they are refused. */
  readonly unknownDevices?: Pick<UnknownDevices, 'keep' | 'precede'>
  /** The name of the network server for events that are kept. */
  readonly networkServer?: string
  readonly ready: (networkServer: NetworkServer) => void
  readonly counters: NetworkServerCounters
  /** The inspection of the organization's events, or of the whole deployment's. */
  readonly inspection: EventInspection
  readonly clock: Pick<Clock, 'steady'>
  readonly log: Logger
}

/**
 * The largest event that is taken, in bytes. Real events have some KB, however many gateways heard
 * them.
 */
const MAXIMUM_EVENT_BYTES = 262_144

const KINDS: ReadonlySet<string> = new Set([...EVENT_KINDS, 'log', 'integration'] satisfies PublishedEventKind[])

type DeviceEvent = Parameters<EventSink['event']>[0]

/**
 * The sink of one network server. `organizationId` is the only organization for whose devices it
 * may speak; undefined for the whole deployment. Rejects with `EventRefused` for an event that is
 * refused for good.
 */
export class DeviceEventSink implements EventSink {
  readonly #parts: DeviceEventSinkParts
  readonly #organizationId: string | undefined
  /**
   * Settles when all earlier events have been looked up: events are published in the order in which
   * they came.
   */
  #lastTurn: Promise<unknown> = Promise.resolve()

  constructor(parts: DeviceEventSinkParts, organizationId: string | undefined) {
    this.#parts = parts
    this.#organizationId = organizationId
  }

  async event(event: DeviceEvent): Promise<void> {
    const { counters } = this.#parts
    try {
      const turn = this.#lastTurn.then(() => this.#publish(event))
      this.#lastTurn = turn.catch(() => undefined)
      await (
        await turn
      ).owned
      counters.eventsOwned += 1
    } catch (error) {
      if (error instanceof EventRefused) counters.eventsRefused += 1
      else counters.eventsFailed += 1
      throw error
    }
  }

  ready(networkServer: NetworkServer): void {
    this.#parts.ready(networkServer)
  }

  /** Resolves when the event was given to the broker; `owned` resolves when the broker owns it. */
  async #publish({ applicationId, devEui, kind, payload }: DeviceEvent): Promise<{ readonly owned: Promise<void> }> {
    if (!KINDS.has(kind)) throw new EventRefused('event_kind_unknown', 'no such kind of event')
    if (payload.length > MAXIMUM_EVENT_BYTES) {
      throw new EventRefused('event_too_large', `an event has at most ${MAXIMUM_EVENT_BYTES} bytes`)
    }
    const place = isDevEui(devEui) ? await this.#parts.placeOf(devEui) : undefined
    const event = { applicationId, devEui, kind: kind as PublishedEventKind, payload }
    const isElsewhere = this.#organizationId !== undefined && place?.organizationId !== this.#organizationId
    // The answer is the same for a device of somebody else and for no device: they must not be told
    // apart.
    if (place === undefined || isElsewhere) return { owned: this.#keep(event) ?? unknownDevice() }
    if (place.applicationId !== applicationId && (await this.#hasApplication(applicationId))) unknownDevice()
    if (place.isDisabled) throw new EventRefused('device_disabled', 'the device is disabled')
    if (this.#parts.unknownDevices?.precede(devEui, place.organizationId) === true) {
      const owned = this.#keep(event)
      if (owned !== undefined) return { owned }
    }
    this.#inspect(event.kind, { applicationId, devEui, payload })
    const topicName = eventTopic(place.applicationId, devEui, event.kind)
    const tenant = `organization:${place.organizationId}`
    return { owned: this.#parts.publisher.publish({ topicName, payload, qos: 1, tenant }) }
  }

  /** Undefined where the event can't be kept. */
  #keep(event: UnknownEvent): Promise<void> | undefined {
    const { unknownDevices, networkServer } = this.#parts
    if (networkServer === undefined || !isDevEui(event.devEui)) return undefined
    return unknownDevices?.keep({ networkServer, organizationId: this.#organizationId ?? null }, event)
  }

  /** False for an id that the network server has for itself. */
  async #hasApplication(applicationId: string): Promise<boolean> {
    const { organizationOf } = this.#parts
    if (organizationOf === undefined) return true
    const owner = await organizationOf(applicationId)
    return this.#organizationId === undefined ? owner !== undefined : owner === this.#organizationId
  }

  #inspect(kind: PublishedEventKind, event: Omit<DeviceEvent, 'kind'>): void {
    const { applicationId, devEui } = event
    const { inspection, clock, counters, log } = this.#parts
    const fault = inspection.inspect(kind, devEui, event, Math.floor(clock.steady() / 1_000))
    if (fault === undefined) return
    const { code, reason, isNews } = fault
    counters.eventsUnreadable += 1
    if (isNews) log.warn({ applicationId, kind, code, reason }, 'network_server.event_unreadable')
  }
}

function unknownDevice(): never {
  throw new EventRefused('event_device_unknown', 'no such device in this application')
}
