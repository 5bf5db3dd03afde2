/**
 * Reads the names in an event that can't be read as a whole. The wrong member may be any of them,
 * so each is read by itself.
 */
import { textAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import type { CommonFacts } from './event-facts.ts'
import { objectIn, textsIn, UnreadableEvent } from './member-values.ts'

/** The names of the device, and of everything that it belongs to. */
type Names = Pick<
  CommonFacts,
  | 'applicationName'
  | 'deviceName'
  | 'deviceProfileId'
  | 'deviceProfileName'
  | 'tenantId'
  | 'tenantName'
  | 'deviceClass'
  | 'tags'
>

/** The names of an event of either family. A name that can't be read is empty. Never throws. */
export function readableNames(members: JsonObject | undefined): Names {
  const info = readable(() => objectIn(members, 'deviceInfo'))
  const place = info ?? members
  return {
    applicationName: textAt(place, 'applicationName') ?? '',
    deviceName: textAt(place, 'deviceName') ?? '',
    deviceProfileId: textAt(place, info === undefined ? 'deviceProfileID' : 'deviceProfileId') ?? '',
    deviceProfileName: textAt(place, 'deviceProfileName') ?? '',
    tenantId: textAt(info, 'tenantId') ?? '',
    tenantName: textAt(info, 'tenantName') ?? '',
    deviceClass: textAt(info, 'deviceClassEnabled'),
    tags: readable(() => textsIn(place, 'tags')) ?? {},
  }
}

function readable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof UnreadableEvent) return undefined
    throw error
  }
}
