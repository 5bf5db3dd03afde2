/**
 * Why a Topic Filter that an integrator may subscribe to can match no event: a misspelled kind or
 * DevEUI, or a device that does not exist.
 */
import type { Unmatched } from '../broker/ports/policy.ts'
import type { DevicePlace, Directory } from '../identity/devices/directory.ts'
import { devEuiInAnyForm, nearestEventKind } from '../lorawan/nearest-topic-filter.ts'
import { isDevEui, isEventKind, RESPONSE_LEVEL } from '../lorawan/topics.ts'

/** Characters of a level that a reason repeats. */
const MAXIMUM_LEVEL_LENGTH = 40

/**
 * The reason; undefined when an event may match. The Topic Filter is one that the organization's
 * event topics cover. `reaches` tells the applications that the client may know of: a device of
 * another one gets the same reason as a device that does not exist.
 */
export function whyUnmatched(
  topicFilter: string,
  reaches: (applicationId: string) => boolean,
  directory: Pick<Directory, 'device'>,
): Unmatched | undefined | Promise<Unmatched | undefined> {
  const [, applicationId = '', , devEui = '', , kind = ''] = topicFilter.split('/')
  // Answers to commands are published there, and no events.
  if (kind === RESPONSE_LEVEL) return undefined
  if (kind !== '+' && !isEventKind(kind)) return unknownKind(kind)
  if (devEui === '+') return undefined
  if (!isDevEui(devEui)) return malformedDevEui(devEui)
  const place = directory.device(devEui)
  const judge = (found: DevicePlace | undefined): Unmatched | undefined => {
    const tail = `device/${devEui}/event/${kind}`
    return ofDevice(found, applicationId, tail, reaches)
  }
  return place instanceof Promise ? place.then(judge) : judge(place)
}

function unknownKind(kind: string): Unmatched {
  const nearest = nearestEventKind(kind)
  const advice = `write ${nearest ?? 'up, join, ack, error, status, location, txack, state or +'}`
  return { code: 'event_kind_unknown', reason: `no event is of the kind "${shown(kind)}": ${advice}` }
}

function malformedDevEui(given: string): Unmatched {
  const digits = devEuiInAnyForm(given)
  const advice =
    digits === undefined ? 'a DevEUI has 16 hexadecimal digits, in lower case in topics' : `write ${digits}`
  return { code: 'dev_eui_malformed', reason: `no event has "${shown(given)}" as DevEUI: ${advice}` }
}

function ofDevice(
  place: DevicePlace | undefined,
  applicationId: string,
  tail: string,
  reaches: (applicationId: string) => boolean,
): Unmatched | undefined {
  if (place?.applicationId === applicationId) return place.isDisabled ? DISABLED : undefined
  if (place === undefined || !reaches(place.applicationId)) return UNKNOWN
  const { applicationId: own } = place
  const reason = `the device belongs to application ${own}: write application/${own}/${tail}`
  return { code: 'device_elsewhere', reason }
}

const UNKNOWN: Unmatched = { code: 'device_unknown', reason: 'no such device is registered in the application' }
const DISABLED: Unmatched = { code: 'device_disabled', reason: 'the device is disabled, and its events are refused' }

function shown(level: string): string {
  return level.length <= MAXIMUM_LEVEL_LENGTH ? level : `${level.slice(0, MAXIMUM_LEVEL_LENGTH)}…`
}
