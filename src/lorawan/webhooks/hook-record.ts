/** The record of a webhook in the durable state: where it has come. */
import { isObject, numberAt, objectAt, parseObject } from '../../json.ts'
import type { HookPlaces } from './hook-reader.ts'

/** Begins the keys of all records. */
export const HOOK_PREFIX = 'webhook/'

export interface HookRecord {
  /** The generation of the webhook that the places count for. */
  readonly generation: number
  readonly places: HookPlaces
  /** Events that the log has lost before they were sent: at most so many. */
  readonly missedAtMost: number
  /** How long nothing has been delivered, since the first failure; absent: nothing fails. */
  readonly failingForMs?: number
}

/** The key of a webhook's record. */
export function hookKeyOf(webhookId: string): string {
  return `${HOOK_PREFIX}${webhookId}`
}

/** The webhook whose record has the key. */
export function hookIdOf(key: string): string {
  return key.slice(HOOK_PREFIX.length)
}

/** The record in bytes. */
export function writeHookRecord(record: HookRecord): Buffer {
  return Buffer.from(JSON.stringify({ version: 1, ...record }))
}

/** Reads a record; undefined for bytes that are none. */
export function readHookRecord(value: Buffer): HookRecord | undefined {
  const record = parseObject(value)
  const generation = numberAt(record, 'generation')
  const places = objectAt(record, 'places')
  if (record === undefined || generation === undefined || !isObject(places)) return undefined
  const failingForMs = numberAt(record, 'failingForMs')
  return {
    generation,
    places: Object.fromEntries(
      Object.entries(places).filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1])),
    ),
    missedAtMost: numberAt(record, 'missedAtMost') ?? 0,
    ...(failingForMs === undefined ? {} : { failingForMs }),
  }
}
