/**
 * One kept event of a device that is not registered: its form in memory and in the durable state.
 */
import { isObject, numberAt, textAt } from '../../json.ts'
import { isDevEui, isEventKind } from '../topics.ts'
import type { PublishedEventKind } from '../topics.ts'

/** The beginning of the keys of kept events in the durable state. */
export const UNKNOWN_PREFIX = 'unknown/'

/** Digits of a sequence number in a key, so that the order of keys is the order of the events. */
const SEQUENCE_DIGITS = 16

/** The network server that brought an event, and the organization for which the event is kept. */
export interface EventSource {
  /**
   * Names the network server: `credential:<id>` of a service credential, `entry:<name>` of
   * an entry, or `http` for those that post their events.
   */
  readonly networkServer: string
  /** Null for a network server of the whole deployment. */
  readonly organizationId: string | null
}

export interface KeptEvent {
  readonly source: EventSource
  /** Its key in the durable state: no event of another node has it. */
  readonly key: string
  /** µs since 1970, at least. Grows with each event of the process. */
  readonly sequence: number
  /** The application in the topic: an id of the network server's own. */
  readonly applicationId: string
  /** 16 lower-case hexadecimal digits. */
  readonly devEui: string
  readonly kind: PublishedEventKind
  /** When the event came, ms since 1970. */
  readonly atMs: number
  /** As the network server sent it; a part of `stored`. */
  readonly payload: Buffer
  /** The value in the durable state: a line of JSON, and then the payload. */
  readonly stored: Buffer
}

/** Makes an event of a process. The payload is copied. */
export function keptEvent(event: Omit<KeptEvent, 'key' | 'stored'>, process: string): KeptEvent {
  const { source, sequence, applicationId, devEui, kind, atMs } = event
  const key = `${UNKNOWN_PREFIX}${String(sequence).padStart(SEQUENCE_DIGITS, '0')}/${process}`
  const { networkServer, organizationId } = source
  const head = Buffer.from(`${JSON.stringify({ networkServer, organizationId, applicationId, devEui, kind, atMs })}\n`)
  const stored = Buffer.concat([head, event.payload])
  return { source, key, sequence, applicationId, devEui, kind, atMs, payload: stored.subarray(head.length), stored }
}

/** The sequence number in a key. Throws for a key of something else. */
function sequenceOf(key: string): number {
  const [, digits] = /^unknown\/(\d{16})\//.exec(key) ?? []
  if (digits === undefined) throw new Error('no key of a kept event')
  return Number(digits)
}

/** Reads a stored event. Throws for a value that is none. */
export function readKeptEvent(key: string, stored: Buffer): KeptEvent {
  const sequence = sequenceOf(key)
  const end = stored.indexOf(0x0a)
  const head: unknown = JSON.parse(stored.toString('utf8', 0, Math.max(end, 0)))
  if (!isObject(head)) throw new Error('no kept event')
  const networkServer = textAt(head, 'networkServer')
  const applicationId = textAt(head, 'applicationId')
  const devEui = textAt(head, 'devEui')
  const kind = textAt(head, 'kind')
  const atMs = numberAt(head, 'atMs')
  if (networkServer === undefined || applicationId === undefined || atMs === undefined) throw new Error('no kept event')
  const isKind = kind !== undefined && isEventKind(kind) && kind !== 'state'
  if (devEui === undefined || !isDevEui(devEui) || !isKind) throw new Error('no kept event')
  const source = { networkServer, organizationId: textAt(head, 'organizationId') ?? null }
  return { source, key, sequence, applicationId, devEui, kind, atMs, payload: stored.subarray(end + 1), stored }
}
