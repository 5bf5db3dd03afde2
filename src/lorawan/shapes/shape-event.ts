/**
 * One shape of event, whatever the network server is: ChirpStack v3's spelling, ChirpStack v4's, or
 * the normalized one. The functions are pure. An event that has the wanted shape already keeps each
 * of its bytes.
 */
import { createHash } from 'node:crypto'
import { eventTextOf } from '../codecs/uplink-object.ts'
import type { PublishedEventKind } from '../topics.ts'
import { JsonText } from './event-facts.ts'
import type { EventFacts, EventShape } from './event-facts.ts'
import { UnreadableEvent } from './member-values.ts'
import { readFamilyA } from './read-family-a.ts'
import { readFamilyB } from './read-family-b.ts'
import { readableNames } from './readable-names.ts'
import { writeV3 } from './write-v3.ts'
import { writeV4 } from './write-v4.ts'

/** An event, and what its topic says. */
export interface EventToShape {
  readonly kind: PublishedEventKind
  readonly applicationId: string
  /** 16 lower-case hexadecimal digits. */
  readonly devEui: string
  readonly payload: Buffer
  /** When the event came in, ms since 1970. */
  readonly receivedAtMs: number
}

export type Shaped =
  /** `isChanged` is false for an event that had the shape: the payload is the very one given. */
  | { readonly ok: true; readonly payload: Buffer; readonly isChanged: boolean }
  /** A sentence that names the member, and what it must be. */
  | { readonly ok: false; readonly reason: string }

type Shape = Exclude<EventShape, ''>

/** Never throws. */
export function shapeEvent(event: EventToShape, shape: Shape): Shaped {
  const { payload, receivedAtMs, ...topic } = event
  const text = eventTextOf(payload)
  if (text === undefined) return { ok: false, reason: 'the event must be a JSON object of at most 65536 bytes' }
  const isFamilyB = text.members.has('deviceInfo')
  if (shape === (isFamilyB ? 'V4' : 'V3')) return { ok: true, payload, isChanged: false }
  const received = {
    ...topic,
    members: text.values,
    textOf: (member: string): string | undefined => {
      const span = text.members.get(member)
      return span === undefined ? undefined : text.text.slice(span.start, span.end)
    },
    id: () => uuidOf(payload),
    receivedAt: new Date(receivedAtMs).toISOString(),
  }
  try {
    const facts = isFamilyB ? readFamilyB(received) : readFamilyA(received)
    return { ok: true, payload: written(facts, shape), isChanged: true }
  } catch (error) {
    if (error instanceof UnreadableEvent) return { ok: false, reason: error.message }
    throw error
  }
}

/** The code of the error event about an event that could not be brought into its shape. */
const UNSHAPED_CODE = 'EVENT_NOT_SHAPED'

/**
 * The error event about an event that goes on as it was received, in the shape of the others. It
 * has the names of the event, as far as they can be read.
 */
export function unshapedError(event: EventToShape, shape: Shape, reason: string): Buffer {
  const { kind, applicationId, devEui, payload, receivedAtMs } = event
  const facts: EventFacts = {
    commandId: undefined,
    deduplicationId: uuidOf(payload),
    time: new Date(receivedAtMs).toISOString(),
    applicationId,
    devEui,
    ...readableNames(eventTextOf(payload)?.values),
    kind: 'error',
    level: 'ERROR',
    code: UNSHAPED_CODE,
    message: `the ${kind} event went on as it was received: ${reason}`,
    fCnt: undefined,
    member: undefined,
    context: {},
  }
  return written(facts, shape)
}

function written(facts: EventFacts, shape: Shape): Buffer {
  const members = shape === 'V3' ? writeV3(facts) : shape === 'V4' ? writeV4(facts) : { shape, ...facts }
  const parts = Object.entries(members).flatMap(([name, value]) => {
    if (value === undefined) return []
    return [`${JSON.stringify(name)}:${value instanceof JsonText ? value.json : JSON.stringify(value)}`]
  })
  return Buffer.from(`{${parts.join(',')}}`)
}

/**
 * A UUID made from the event: a network server that repeats an event gives the repetition the same
 * id.
 */
function uuidOf(payload: Buffer): string {
  const hex = createHash('sha256').update(payload).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}
