/**
 * Compares a Topic Filter with the topics that events have: names the first fault, and the nearest
 * Topic Filter that events match.
 */
import { isDevEui, isEventKind, isOrganizationEventsTopic, RESPONSE_LEVEL } from './topics.ts'
import type { AnyEventKind } from './topics.ts'

/** The organization's things, as far as Topic Filters name them. */
export interface KnownThings {
  readonly applicationIds: ReadonlySet<string>
  /** The application of a device of the organization; undefined: it has no such device. */
  applicationOf(devEui: string): string | undefined | Promise<string | undefined>
}

/** Why no event can match a Topic Filter. */
export interface TopicFault {
  readonly code:
    | 'wildcard_too_wide'
    | 'level_wrong'
    | 'level_missing'
    | 'level_count_wrong'
    | 'command_topic'
    | 'application_unknown'
    | 'dev_eui_malformed'
    | 'device_unknown'
    | 'device_elsewhere'
    | 'event_kind_unknown'
  /** A clause for people, without a full stop. */
  readonly reason: string
  /** The nearest Topic Filter that events match; undefined where nothing is near. */
  readonly nearest: string | undefined
}

/** Sixteen hexadecimal digits in any case, with or without a prefix and separators. */
const DEV_EUI_IN_ANY_FORM = /^(?:0x)?[0-9a-f]{2}(?:[-:]?[0-9a-f]{2}){7}$/i
const SEPARATORS = /^0x|[-:]/gi
/** The fixed words of the topics of events, by level. */
const WORDS = ['application', undefined, 'device', undefined, 'event', undefined] as const
const LEVELS = WORDS.length
/** Characters of a level that a reason repeats. */
const MAXIMUM_LEVEL_LENGTH = 40

/** Words that people write for kinds of event. */
const OTHER_WORDS: ReadonlyMap<string, AnyEventKind> = new Map([
  ['uplink', 'up'],
  ['uplinks', 'up'],
  ['rx', 'up'],
  ['joined', 'join'],
  ['acknowledgement', 'ack'],
  ['battery', 'status'],
  ['gps', 'location'],
  ['tx', 'txack'],
])

/** The kind of event that a misspelled one stands for; undefined where nothing is near. */
export function nearestEventKind(given: string): AnyEventKind | undefined {
  const word = given.toLowerCase()
  if (isEventKind(word)) return word
  const singular = word.replace(/s$/, '')
  return OTHER_WORDS.get(word) ?? (isEventKind(singular) ? singular : undefined)
}

/** The DevEUI in its one spelling; undefined for a text that is none in any form. */
export function devEuiInAnyForm(text: string): string | undefined {
  return DEV_EUI_IN_ANY_FORM.test(text) ? text.replace(SEPARATORS, '').toLowerCase() : undefined
}

/**
 * The first fault of a Topic Filter; undefined where events can match it. The Topic Filter has no
 * `$share/{ShareName}/` in front.
 */
export async function faultOfTopicFilter(topicFilter: string, known: KnownThings): Promise<TopicFault | undefined> {
  if (isOrganizationEventsTopic(topicFilter)) return undefined
  const levels = topicFilter.split('/')
  const found = await firstFault(levels, known)
  return found && { ...found, nearest: await nearestOf(levels, known) }
}

type Found = Omit<TopicFault, 'nearest'>

async function firstFault(levels: readonly string[], known: KnownThings): Promise<Found | undefined> {
  const [, applicationId = '', , devEui = '', fifth, kind = ''] = levels
  if (levels.includes('#') || levels[0] === '+' || applicationId === '+') {
    return fault('wildcard_too_wide', 'a wildcard reaches beyond the events of one application')
  }
  if (levels.length === LEVELS && fifth === 'command') {
    return fault('command_topic', 'commands are published there, and events have topics of their own')
  }
  if (levels.length === LEVELS - 1 && nearestEventKind(fifth ?? '') !== undefined) {
    return fault('level_missing', 'the level "event" before the kind of event is missing')
  }
  if (levels.length !== LEVELS) {
    const count = levels.length === 1 ? '1 level' : `${levels.length} levels`
    return fault('level_count_wrong', `it has ${count}, and the topics of events have ${LEVELS}`)
  }
  const wrong = levels.findIndex((level, index) => WORDS[index] !== undefined && WORDS[index] !== level)
  if (wrong >= 0) {
    return fault('level_wrong', `level ${wrong + 1} is "${shown(levels[wrong])}", and has to be "${WORDS[wrong]}"`)
  }
  if (!known.applicationIds.has(applicationId)) {
    return fault('application_unknown', `the organization has no application ${shown(applicationId)}`)
  }
  if (kind !== '+' && kind !== RESPONSE_LEVEL && !isEventKind(kind)) {
    return fault('event_kind_unknown', `no event is of the kind "${shown(kind)}"`)
  }
  // A Response Topic may have any text in the place of the DevEUI.
  return devEui === '+' || kind === RESPONSE_LEVEL ? undefined : faultOfDevice(devEui, applicationId, known)
}

async function faultOfDevice(devEui: string, applicationId: string, known: KnownThings): Promise<Found | undefined> {
  if (!isDevEui(devEui)) {
    const isOtherForm = devEuiInAnyForm(devEui) !== undefined
    const rule = 'the DevEUI in a topic has 16 hexadecimal digits in lower case'
    return fault('dev_eui_malformed', isOtherForm ? `${rule}, without separators` : rule)
  }
  const place = await known.applicationOf(devEui)
  if (place === undefined) return fault('device_unknown', `the organization has no device ${devEui}`)
  if (place === applicationId) return undefined
  return fault('device_elsewhere', `the device ${devEui} belongs to application ${place}`)
}

/** Keeps what the Topic Filter says of the application, the device and the kind of event. */
async function nearestOf(levels: readonly string[], known: KnownThings): Promise<string | undefined> {
  const devEui = levels.map(devEuiInAnyForm).find((found) => found !== undefined)
  const place = devEui === undefined ? undefined : await known.applicationOf(devEui)
  const [only] = known.applicationIds
  const applicationId =
    place ??
    levels.find((level) => known.applicationIds.has(level)) ??
    (known.applicationIds.size === 1 ? only : undefined)
  if (applicationId === undefined) return undefined
  const kind = nearestEventKind(levels.at(-1) ?? '') ?? '+'
  return `application/${applicationId}/device/${place === undefined ? '+' : devEui}/event/${kind}`
}

function fault(code: TopicFault['code'], reason: string): Found {
  return { code, reason }
}

function shown(level = ''): string {
  return level.length <= MAXIMUM_LEVEL_LENGTH ? level : `${level.slice(0, MAXIMUM_LEVEL_LENGTH)}…`
}
