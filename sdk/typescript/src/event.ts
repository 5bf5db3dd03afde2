/** Events as a program gets them: the topic, the id, and the payload, in one typed object. */
import type { EventBodies } from './generated/events.ts'

/** The kinds of events. */
export type EventKind = keyof EventBodies

/** The spelling of a payload: `a` is that of ChirpStack v3, `b` that of ChirpStack v4. */
export type Family = 'a' | 'b'

/** The members that all events have. */
interface EventBase {
  /**
   * The id, which never changes; two events never share one. Undefined where the service does not
   * store events of QoS 0.
   */
  readonly id: string | undefined
  readonly applicationId: string
  /** 16 hexadecimal digits in lower case. */
  readonly devEui: string
  readonly deviceName: string
  readonly tags: Readonly<Record<string, string>>
}

/** The members of an uplink that both families have, under one name. */
interface UpMembers {
  /** The decrypted payload. */
  readonly data: Uint8Array
  readonly fPort: number
  readonly fCnt: number
  /** The decoded payload, nearly always an object; undefined without a codec. */
  readonly object: unknown
}

type EventOf<Kind extends EventKind> = {
  [Each in keyof EventBodies[Kind] & Family]: EventBase &
    (Kind extends 'up' ? UpMembers : unknown) & {
      readonly kind: Kind
      readonly family: Each
      /** The JSON that the network server published. */
      readonly body: EventBodies[Kind][Each]
    }
}[keyof EventBodies[Kind] & Family]

/** An uplink, of either family. */
export type UpEvent = EventOf<'up'>

type KnownEvent = { [Kind in EventKind]: EventOf<Kind> }[EventKind]

/** An event whose payload is no JSON object. */
export interface UnreadableEvent {
  readonly kind: 'unreadable'
  readonly id: string | undefined
  readonly applicationId: string
  readonly devEui: string
  /** The kind in the topic. */
  readonly publishedKind: EventKind
  readonly payload: Uint8Array
}

/** Any event; `kind` tells which. */
export type FieldgateEvent = KnownEvent | UnreadableEvent

/** The parts of an event's Topic Name. */
export interface EventTopic {
  readonly applicationId: string
  readonly devEui: string
  readonly kind: string
}

const TOPIC = /^application\/([^/]+)\/device\/([0-9a-f]{16})\/event\/([a-z]+)$/
const KINDS: ReadonlySet<string> = new Set<EventKind>([
  'up',
  'join',
  'ack',
  'error',
  'status',
  'location',
  'txack',
  'log',
  'integration',
])

/** The parts of a Topic Name; undefined where no event has such a name. */
export function readTopic(topicName: string): EventTopic | undefined {
  const [, applicationId, devEui, kind] = TOPIC.exec(topicName) ?? []
  if (applicationId === undefined || devEui === undefined || kind === undefined) return undefined
  return { applicationId, devEui, kind }
}

/** Whether the service has events of this kind. */
export function isEventKind(kind: string): kind is EventKind {
  return KINDS.has(kind)
}

/** The event of a message. The payload is copied where it is not read. */
export function readEvent(
  { applicationId, devEui }: EventTopic,
  kind: EventKind,
  id: string | undefined,
  payload: Uint8Array,
): FieldgateEvent {
  const body = objectOf(payload)
  if (body === undefined) {
    return { kind: 'unreadable', id, applicationId, devEui, publishedKind: kind, payload: Uint8Array.from(payload) }
  }
  const { deviceInfo } = body
  const names = isObject(deviceInfo) ? deviceInfo : body
  const base = {
    kind,
    family: isObject(deviceInfo) ? 'b' : 'a',
    id,
    applicationId,
    devEui,
    deviceName: typeof names['deviceName'] === 'string' ? names['deviceName'] : '',
    tags: isObject(names['tags']) ? names['tags'] : {},
    body,
  }
  // The service's contract says that the payload has the shape of its kind and family.
  return (kind === 'up' ? { ...base, ...upMembers(body) } : base) as unknown as KnownEvent
}

/** A member that is 0 may be missing in family B. */
function upMembers({ data, fPort, fCnt, object }: Readonly<Record<string, unknown>>): UpMembers {
  return {
    data: typeof data === 'string' ? bytesOf(data) : new Uint8Array(0),
    fPort: typeof fPort === 'number' ? fPort : 0,
    fCnt: typeof fCnt === 'number' ? fCnt : 0,
    object,
  }
}

/** Bytes as base64 (RFC 4648 §4). */
export function base64Of(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

/** The bytes of base64; none where the text is not base64. */
function bytesOf(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return new Uint8Array(0)
  }
}

/** The JSON object in a payload; undefined where it is none. */
export function objectOf(payload: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(payload))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
