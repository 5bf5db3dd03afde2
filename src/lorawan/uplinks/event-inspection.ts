/**
 * Looks at some of the events that a network server publishes, for settings that make them
 * unreadable for everybody: Protocol Buffers instead of JSON, ids in base64, payloads of another
 * device. The event goes on unchanged.
 */
import { isUtf8 } from 'node:buffer'
import type { PublishedEventKind } from '../topics.ts'
import { membersOf } from '../events.ts'

/** A fault in an event. The event goes on all the same. */
export interface EventFault {
  /** Stable: docs/errors.md has a paragraph for each. */
  readonly code: string
  /** A sentence with the setting to change. */
  readonly reason: string
  /**
   * False when a fault in this kind of event, of the same network server, was told within the last
   * minute.
   */
  readonly isNews: boolean
}

/** The first event of each kind is looked at, and then every thousandth. */
const EVENTS_BETWEEN_LOOKS = 1_000
/** An event after this time is looked at as well, for network servers that send few events. */
const SECONDS_BETWEEN_LOOKS = 60
/** The largest event that is looked at, in bytes. Real events have 500 to 2,000. */
const MAXIMUM_EVENT_BYTES = 65_536
/** Characters of a DevEUI that a reason repeats. */
const MAXIMUM_SHOWN = 24

/** The counts of one kind of event. */
interface Looks {
  /** Events until the next look. */
  left: number
  second: number
  toldSecond: number
}

/** An event. Its payload is made when it is asked for. */
interface PublishedEvent {
  readonly payload: Buffer
}

/** Looks at the events of one network server, or of one connection of it. */
export class EventInspection {
  /** By kind of event. */
  readonly #looks = new Map<PublishedEventKind, Looks>()
  /** The kind of the last event, and its counts: nearly all events of a device are of one kind. */
  #lastKind: PublishedEventKind | undefined = undefined
  #last: Looks | undefined = undefined

  /**
   * Looks at the event if it is its turn. Undefined: the event has no fault, or nobody looked at
   * it. `second` counts the seconds from any beginning, by a clock that is never set.
   */
  inspect(kind: PublishedEventKind, devEui: string, event: PublishedEvent, second: number): EventFault | undefined {
    const looks = kind === this.#lastKind ? (this.#last as Looks) : this.#looksOf(kind)
    looks.left -= 1
    if (looks.left > 0 && second - looks.second < SECONDS_BETWEEN_LOOKS) return undefined
    return this.#look(looks, devEui, event.payload, second)
  }

  #looksOf(kind: PublishedEventKind): Looks {
    let looks = this.#looks.get(kind)
    if (looks === undefined) {
      looks = { left: 0, second: 0, toldSecond: -Infinity }
      this.#looks.set(kind, looks)
    }
    this.#lastKind = kind
    this.#last = looks
    return looks
  }

  #look(looks: Looks, devEui: string, payload: Buffer, second: number): EventFault | undefined {
    looks.left = EVENTS_BETWEEN_LOOKS
    looks.second = second
    const fault = faultOf(devEui, payload)
    if (fault === undefined) return undefined
    const isNews = second - looks.toldSecond >= SECONDS_BETWEEN_LOOKS
    if (isNews) looks.toldSecond = second
    return { ...fault, isNews }
  }
}

const BINARY = {
  code: 'event_unreadable_binary',
  reason:
    'the event is not JSON but binary, as Protocol Buffers are: set json=true in [integration.mqtt] of ChirpStack v4, or marshaler="json_v3" in [application_server.integration] of v3',
}
const TEXT = { code: 'event_unreadable_text', reason: 'the event is not a JSON object; integrators expect one' }
const BASE64_IDS = {
  code: 'event_unreadable_ids',
  reason:
    'the event has the DevEUI in base64; integrators expect hexadecimal digits: set marshaler="json_v3" in [application_server.integration] of ChirpStack v3',
}

function faultOf(devEui: string, payload: Buffer): Omit<EventFault, 'isNews'> | undefined {
  if (payload.length > MAXIMUM_EVENT_BYTES) return undefined
  const members = membersOf(payload)
  if (members === undefined) return isText(payload) ? TEXT : BINARY
  const { deviceInfo, devEUI } = members
  const isOfNewFamily = typeof deviceInfo === 'object' && deviceInfo !== null && 'devEui' in deviceInfo
  const named: unknown = isOfNewFamily ? deviceInfo.devEui : devEUI
  if (typeof named !== 'string' || named.toLowerCase() === devEui) return undefined
  if (Buffer.from(named, 'base64').toString('hex') === devEui) return BASE64_IDS
  const reason = `the event names the device "${named.slice(0, MAXIMUM_SHOWN)}", and its topic another one: compare the event topic in the network server’s settings`
  return { code: 'event_unreadable_device', reason }
}

/** True for UTF-8 without control characters other than white space. */
function isText(payload: Buffer): boolean {
  return isUtf8(payload) && !payload.some((byte) => byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d)
}
