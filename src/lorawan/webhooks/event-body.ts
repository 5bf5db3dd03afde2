/** The bodies of a webhook's requests. */
import type { QueuedEvent } from './hook-queue.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * One event as JSON. `data` is the event as it was published. A payload that is no JSON stands as
 * Base64 in `payload`.
 */
export function eventBody(event: QueuedEvent, organizationId: string): string {
  const { message, branch, devEui, kind } = event
  const head = JSON.stringify({
    type: kind,
    id: message.id,
    timestamp: new Date(message.ownedAtMs).toISOString(),
    organizationId,
    applicationId: branch.applicationId,
    devEui,
  })
  const data = jsonText(message.payload)
  const payload = data === undefined ? `,"payload":${JSON.stringify(message.payload.toString('base64'))}` : ''
  // The text of the payload goes out as it is: numbers keep their digits.
  return `${head.slice(0, -1)},"data":${data ?? 'null'}${payload}}`
}

/** A list of events, in the order of the log for each device. */
export function batchBody(bodies: readonly string[]): string {
  return `[${bodies.join(',')}]`
}

/** The payload as a text of JSON; undefined when it is none. */
function jsonText(payload: Buffer): string | undefined {
  try {
    const text = utf8.decode(payload)
    JSON.parse(text)
    return text
  } catch {
    return undefined
  }
}
