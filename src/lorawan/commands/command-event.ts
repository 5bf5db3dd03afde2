/**
 * An event that may be about a command: the id by which it names a downlink, and its payload with
 * the command's id added.
 */
import { objectOf } from '../../json.ts'
import type { JsonObject } from '../../json.ts'

/** An event of a device that may be about a command. */
export interface CommandEvent {
  readonly devEui: string
  readonly kind: string
  readonly payload: Buffer
}

/** The largest length of an id that a network server gives; ChirpStack's ids are UUIDs. */
const MAXIMUM_ID_LENGTH = 64

const OBJECT_START = /^\s*\{\s*/

/** The id by which an event of family B names a downlink, in lower case. */
export function downlinkIdIn({ queueItemId, context }: JsonObject): string | undefined {
  const id = queueItemId ?? objectOf(context)?.['queue_item_id']
  return typeof id === 'string' && id.length <= MAXIMUM_ID_LENGTH ? id.toLowerCase() : undefined
}

/**
 * The payload, a JSON object, with `commandId` as its first member. The member is written into the
 * text, so that the rest of the event stays as it is: no number is rounded, no member moves.
 */
export function withCommandId(payload: Buffer, commandId: string): Buffer {
  const text = payload.toString()
  const start = OBJECT_START.exec(text)?.[0].length ?? 0
  const comma = text[start] === '}' ? '' : ','
  return Buffer.from(`{"commandId":${JSON.stringify(commandId)}${comma}${text.slice(start)}`)
}
