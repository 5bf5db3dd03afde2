/**
 * Stored events as JSON text. A payload that is JSON stands in it byte for byte: it is neither
 * parsed nor written again.
 */
import type { StoredEvent } from '../../lorawan/uplinks/event-history.ts'
import { timestamp } from '../api/fields.ts'
import { isJson } from '../api/json-text.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20

/**
 * A larger payload is written as base64: its check would hold up all other requests for more than
 * some 10 ms.
 */
const MAXIMUM_CHECKED_BYTES = 4 * 1024 * 1024

/** The text around events: before the first, between two, behind the last. */
export interface EventFrame {
  readonly before: string
  readonly between: string
  readonly behind: string
}

/**
 * The events as objects with `id, time, applicationID, devEUI, kind, qos`, and `event` (the JSON
 * that was published) or `payload` (base64 of a payload that is no JSON). Each object is one line:
 * line breaks between the parts of a payload become spaces.
 */
export function textOfEvents(events: readonly StoredEvent[], { before, between, behind }: EventFrame): Buffer {
  const heads: string[] = []
  const bodies: (Buffer | string)[] = []
  let bytes = Buffer.byteLength(behind)
  let lead = before
  // Neighbouring events are mostly of the same second, and a Date costs more than the rest of the
  // text.
  let second = Number.NaN
  let start = ''
  for (const event of events) {
    const milliseconds = event.timeMs % 1000
    if (event.timeMs - milliseconds !== second) {
      second = event.timeMs - milliseconds
      start = timestamp(second).slice(0, -4)
    }
    const members = membersOf(event, `${start}${String(milliseconds).padStart(3, '0')}Z`)
    const isJsonText = event.payload.length <= MAXIMUM_CHECKED_BYTES && isJson(event.payload)
    const head = lead + (isJsonText ? `${members},"event":` : `${members},"payload":"`)
    const body = isJsonText ? oneLine(event.payload) : `${event.payload.toString('base64')}"`
    heads.push(head)
    bodies.push(body)
    bytes += head.length + body.length + 1
    lead = between
  }
  const text = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const [index, body] of bodies.entries()) {
    at += text.write(heads[index] as string, at, 'latin1')
    at += typeof body === 'string' ? text.write(body, at, 'latin1') : body.copy(text, at)
    at += text.write('}', at, 'latin1')
  }
  text.write(behind, at, 'latin1')
  return text
}

/** All of them are ASCII without anything to escape: ids, digits, hexadecimal, words of ours. */
function membersOf({ id, applicationId, devEui, kind, qos }: StoredEvent, time: string): string {
  return (
    `{"id":"${id}","time":"${time}","applicationID":"${applicationId}","devEUI":"${devEui}",` +
    `"kind":"${kind}","qos":${qos}`
  )
}

/** JSON strings have only escaped line breaks, so each line break here is white space. */
function oneLine(json: Buffer): Buffer {
  if (!json.includes(LINE_FEED) && !json.includes(CARRIAGE_RETURN)) return json
  return json.map((byte) => (byte === LINE_FEED || byte === CARRIAGE_RETURN ? SPACE : byte)) as Buffer
}
