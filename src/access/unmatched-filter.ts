/**
 * Why a Topic Filter that an integrator may subscribe to can match no event: a misspelled kind or
 * DevEUI, or a device that does not exist.
 */
import type { Unmatched } from '../broker/ports/policy.ts'
import type { DevicePlace, Directory } from '../identity/devices/directory.ts'
import { isDevEui, isEventKind, RESPONSE_LEVEL } from '../lorawan/topics.ts'

/** Characters of a level that a reason repeats. */
const MAXIMUM_LEVEL_LENGTH = 40
/** Sixteen hexadecimal digits in any case, with or without a prefix and separators. */
const DEV_EUI_IN_ANY_FORM = /^(?:0x)?[0-9a-f]{2}(?:[-:]?[0-9a-f]{2}){7}$/i
const SEPARATORS = /^0x|[-:]/gi

/**
 * The reason; undefined when an event may match. The Topic Filter is one that the organization's
 * event topics cover. `applications` are the organization's own: a device of another organization
 * gets the same reason as a device that does not exist.
 */
export function whyUnmatched(
  topicFilter: string,
  applications: ReadonlySet<string>,
  directory: Pick<Directory, 'device'>,
): Unmatched | undefined | Promise<Unmatched | undefined> {
  const [, applicationId = '', , devEui = '', , kind = ''] = topicFilter.split('/')
  // Answers to commands are published there, and no events.
  if (kind === RESPONSE_LEVEL) return undefined
  if (kind !== '+' && !isEventKind(kind)) return unknownKind(kind)
  if (devEui === '+') return undefined
  if (!isDevEui(devEui)) return malformedDevEui(devEui)
  const place = directory.device(devEui)
  if (place instanceof Promise) return place.then((found) => ofDevice(found, applicationId, applications))
  return ofDevice(place, applicationId, applications)
}

function unknownKind(kind: string): Unmatched {
  const isOtherCase = isEventKind(kind.toLowerCase())
  const advice = isOtherCase
    ? `write ${kind.toLowerCase()}`
    : 'write up, join, ack, error, status, location, txack or +'
  return { code: 'event_kind_unknown', reason: `no event is of the kind "${shown(kind)}": ${advice}` }
}

function malformedDevEui(given: string): Unmatched {
  const digits = given.replace(SEPARATORS, '').toLowerCase()
  const advice = DEV_EUI_IN_ANY_FORM.test(given)
    ? `write ${digits}`
    : 'a DevEUI has 16 hexadecimal digits, in lower case in topics'
  return { code: 'dev_eui_malformed', reason: `no event has "${shown(given)}" as DevEUI: ${advice}` }
}

function ofDevice(
  place: DevicePlace | undefined,
  applicationId: string,
  applications: ReadonlySet<string>,
): Unmatched | undefined {
  if (place?.applicationId === applicationId) return place.isDisabled ? DISABLED : undefined
  if (place === undefined || !applications.has(place.applicationId)) return UNKNOWN
  return { code: 'device_elsewhere', reason: `the device belongs to application ${place.applicationId}` }
}

const UNKNOWN: Unmatched = { code: 'device_unknown', reason: 'no such device is registered in the application' }
const DISABLED: Unmatched = { code: 'device_disabled', reason: 'the device is disabled, and its events are refused' }

function shown(level: string): string {
  return level.length <= MAXIMUM_LEVEL_LENGTH ? level : `${level.slice(0, MAXIMUM_LEVEL_LENGTH)}…`
}
