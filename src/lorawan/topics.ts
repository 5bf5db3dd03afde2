/**
 * The topics of device events and downlink commands (specification §6): how to write them, and a
 * strict reading of Topic Names and Topic Filters of exactly these shapes. All other files name
 * topics through this one.
 */
import assert from 'node:assert/strict'

/**
 * The kinds of event that the specification names, in the order in which the topic endpoint lists
 * them.
 */
export const EVENT_KINDS = ['up', 'join', 'ack', 'error', 'status', 'location', 'txack'] as const

export type EventKind = (typeof EVENT_KINDS)[number]

/**
 * The kinds of event that a network server may publish below `event/`: the seven kinds, and two
 * that ChirpStack v4 adds. ChirpStack v4 publishes `log` in the place of `error`, and `integration`
 * for results of its own integrations. Both are taken, and reach the subscribers to `event/+`.
 * Refusing them would end the network server's connection: it publishes at QoS 0, where a refusal
 * has no other form.
 */
export type PublishedEventKind = EventKind | 'log' | 'integration'

/**
 * The kinds of event below `event/`: those of network servers, and `state`, which the service
 * itself publishes when the state of a device has changed.
 */
export type AnyEventKind = PublishedEventKind | 'state'

/**
 * The last level of a Response Topic as docs/commands.md recommends it. No event has this kind, but
 * answers come there.
 */
export const RESPONSE_LEVEL = 'response'

/** The parts of a Topic Name of this service. */
export type ParsedTopic =
  | {
      readonly kind: 'event'
      readonly applicationId: string
      readonly devEui: string
      readonly eventKind: AnyEventKind
    }
  | { readonly kind: 'command'; readonly applicationId: string; readonly devEui: string }

/** The parts of a Topic Filter of this service; `+` stands for any value of that level. */
export interface ParsedTopicFilter {
  readonly applicationId: string
  readonly devEui: string
  readonly tail: { readonly event: AnyEventKind | '+' } | { readonly command: 'down' | '+' }
}

/**
 * The longest application id, in characters; UUIDs have 36. It bounds the cost of reading a hostile
 * topic.
 */
const MAXIMUM_APPLICATION_ID_LENGTH = 64

/** The number of hexadecimal digits of a DevEUI. */
const DEV_EUI_LENGTH = 16

const APPLICATION_LEVEL = 'application/'
const DEVICE_LEVEL = '/device/'
const EVENT_LEVEL = '/event/'
const COMMAND_LEVEL = '/command/'
const COMMAND_DOWN = '/command/down'
/** All devices of all applications. */
const ALL_APPLICATIONS = 'application/+/device/+'

const SLASH = 0x2f

/**
 * The Topic Name of one kind of event of one device. The DevEUI is 16 lower-case hexadecimal
 * digits.
 */
export function eventTopic(applicationId: string, devEui: string, kind: AnyEventKind): string {
  return `${deviceTopic(applicationId, devEui)}${EVENT_LEVEL}${kind}`
}

/** The Topic Filter of all kinds of event of one device. */
export function deviceEventsTopic(applicationId: string, devEui: string): string {
  return `${deviceTopic(applicationId, devEui)}${EVENT_LEVEL}+`
}

/** The Topic Filter of the events of all devices of one application: of one kind, or of all. */
export function applicationEventsTopic(applicationId: string, kind: AnyEventKind | '+' = '+'): string {
  assertApplicationId(applicationId)
  return `${APPLICATION_LEVEL}${applicationId}${DEVICE_LEVEL}+${EVENT_LEVEL}${kind}`
}

/**
 * The Topic Filter of the events of all applications of one organization: of one kind, or of all.
 * It names no organization. The broker delivers the reader's own events alone.
 */
export function organizationEventsTopic(kind: AnyEventKind | '+' = '+'): string {
  return `${ALL_APPLICATIONS}${EVENT_LEVEL}${kind}`
}

/** True for the Topic Filters of `organizationEventsTopic`. */
export function isOrganizationEventsTopic(topicFilter: string): boolean {
  if (!topicFilter.startsWith(ALL_APPLICATIONS)) return false
  const kind = topicFilter.slice(ALL_APPLICATIONS.length + EVENT_LEVEL.length)
  return topicFilter.startsWith(EVENT_LEVEL, ALL_APPLICATIONS.length) && (kind === '+' || isEventKind(kind))
}

/** The Topic Name to which downlink commands for one device are published. */
export function commandTopic(applicationId: string, devEui: string): string {
  return `${deviceTopic(applicationId, devEui)}${COMMAND_DOWN}`
}

/** The first two levels of all Topic Names of one application. */
export function applicationBranch(applicationId: string): string {
  assertApplicationId(applicationId)
  return `${APPLICATION_LEVEL}${applicationId}`
}

/** The prefix of all Topic Names of one application. */
export function applicationPrefix(applicationId: string): string {
  assertApplicationId(applicationId)
  return `${APPLICATION_LEVEL}${applicationId}/`
}

/**
 * The application whose Topic Names begin with these two levels. Undefined: the levels are not
 * those of an application.
 */
export function applicationOfBranch(topicBranch: string): string | undefined {
  if (!topicBranch.startsWith(APPLICATION_LEVEL)) return undefined
  const applicationId = topicBranch.slice(APPLICATION_LEVEL.length)
  return isApplicationId(applicationId) ? applicationId : undefined
}

/** The prefix of all Topic Names of one device. */
export function devicePrefix(applicationId: string, devEui: string): string {
  return `${deviceTopic(applicationId, devEui)}/`
}

/** True for 1 to 64 letters, digits and hyphens: digit strings and UUIDs alike. */
export function isApplicationId(text: string): boolean {
  return text.length > 0 && endOfApplicationId(text, 0) === text.length
}

/** True for a kind of event that network servers publish, and for `state`. */
export function isEventKind(text: string): text is AnyEventKind {
  return eventKindAt(text, 0) !== undefined
}

/** True for exactly 16 lower-case hexadecimal digits, as in topics. */
export function isDevEui(text: string): boolean {
  return text.length === DEV_EUI_LENGTH && hasDevEuiAt(text, 0)
}

/**
 * Topics that are remembered, in two halves: when the newer half is full, the older one is dropped.
 * Without this bound, ever new devices would fill the memory.
 */
const MAXIMUM_REMEMBERED = 131_072
let remembered = new Map<string, ParsedTopic>()
let rememberedBefore = new Map<string, ParsedTopic>()
/** A message's topic is read several times on its way: the last one is at hand. */
let lastName = ''
let lastParsed: ParsedTopic | undefined

/**
 * Reads a Topic Name. Undefined for every other shape: upper-case digits, wildcards, empty levels,
 * further levels, kinds of event that nobody publishes. The same topic gives the same object again,
 * so that look-ups by its ids find strings that they know.
 */
export function parseTopic(topicName: string): ParsedTopic | undefined {
  if (topicName === lastName) return lastParsed
  const parsed = findTopic(topicName)
  lastName = topicName
  lastParsed = parsed
  return parsed
}

function findTopic(topicName: string): ParsedTopic | undefined {
  const known = remembered.get(topicName) ?? rememberedBefore.get(topicName)
  if (known !== undefined) return known
  const parsed = readTopic(topicName)
  if (parsed === undefined) return undefined
  if (remembered.size >= MAXIMUM_REMEMBERED / 2) {
    rememberedBefore = remembered
    remembered = new Map()
  }
  remembered.set(topicName, parsed)
  return parsed
}

function readTopic(topicName: string): ParsedTopic | undefined {
  if (!topicName.startsWith(APPLICATION_LEVEL)) return undefined
  const applicationEnd = endOfApplicationId(topicName, APPLICATION_LEVEL.length)
  if (applicationEnd === APPLICATION_LEVEL.length || !topicName.startsWith(DEVICE_LEVEL, applicationEnd)) {
    return undefined
  }
  const devEuiStart = applicationEnd + DEVICE_LEVEL.length
  if (!hasDevEuiAt(topicName, devEuiStart)) return undefined
  const devEuiEnd = devEuiStart + DEV_EUI_LENGTH
  const applicationId = topicName.slice(APPLICATION_LEVEL.length, applicationEnd)
  const devEui = topicName.slice(devEuiStart, devEuiEnd)
  if (topicName.startsWith(EVENT_LEVEL, devEuiEnd)) {
    const eventKind = eventKindAt(topicName, devEuiEnd + EVENT_LEVEL.length)
    return eventKind === undefined ? undefined : { kind: 'event', applicationId, devEui, eventKind }
  }
  if (topicName.length === devEuiEnd + COMMAND_DOWN.length && topicName.startsWith(COMMAND_DOWN, devEuiEnd)) {
    return { kind: 'command', applicationId, devEui }
  }
  return undefined
}

/**
 * Reads a Topic Filter of this service's shapes. Each of the three variable levels and `down` may
 * be `+`, so that a grant can be compared level by level. Undefined for every other filter (`#`, a
 * `+` elsewhere, `$share/...`, another number of levels): it may be valid MQTT, but nothing here
 * grants it.
 */
export function parseTopicFilter(topicFilter: string): ParsedTopicFilter | undefined {
  if (!topicFilter.startsWith(APPLICATION_LEVEL)) return undefined
  const applicationEnd =
    endOfPlus(topicFilter, APPLICATION_LEVEL.length) ?? endOfApplicationId(topicFilter, APPLICATION_LEVEL.length)
  if (applicationEnd === APPLICATION_LEVEL.length || !topicFilter.startsWith(DEVICE_LEVEL, applicationEnd)) {
    return undefined
  }
  const devEuiStart = applicationEnd + DEVICE_LEVEL.length
  const devEuiEnd = endOfPlus(topicFilter, devEuiStart) ?? devEuiStart + DEV_EUI_LENGTH
  if (devEuiEnd - devEuiStart === DEV_EUI_LENGTH && !hasDevEuiAt(topicFilter, devEuiStart)) return undefined
  const tail = filterTail(topicFilter, devEuiEnd)
  if (tail === undefined) return undefined
  return {
    applicationId: topicFilter.slice(APPLICATION_LEVEL.length, applicationEnd),
    devEui: topicFilter.slice(devEuiStart, devEuiEnd),
    tail,
  }
}

function filterTail(topicFilter: string, from: number): ParsedTopicFilter['tail'] | undefined {
  if (topicFilter.startsWith(EVENT_LEVEL, from)) {
    const level = from + EVENT_LEVEL.length
    const event = topicFilter.slice(level) === '+' ? '+' : eventKindAt(topicFilter, level)
    return event === undefined ? undefined : { event }
  }
  if (!topicFilter.startsWith(COMMAND_LEVEL, from)) return undefined
  const command = topicFilter.slice(from + COMMAND_LEVEL.length)
  return command === 'down' || command === '+' ? { command } : undefined
}

/** The index after a level that is only `+`; undefined for another level. */
function endOfPlus(text: string, from: number): number | undefined {
  return text.charCodeAt(from) === 0x2b && text.charCodeAt(from + 1) === SLASH ? from + 1 : undefined
}

/**
 * The index of the first character that can't be part of an application id; `from` itself when the
 * id is empty or too long.
 */
function endOfApplicationId(text: string, from: number): number {
  const bound = Math.min(text.length, from + MAXIMUM_APPLICATION_ID_LENGTH + 1)
  let index = from
  while (index < bound && isIdCharacter(text.charCodeAt(index))) index += 1
  return index - from > MAXIMUM_APPLICATION_ID_LENGTH ? from : index
}

function isIdCharacter(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x2d
  )
}

/**
 * True when 16 lower-case hexadecimal digits stand at `from`. The caller checks the characters
 * behind them.
 */
function hasDevEuiAt(text: string, from: number): boolean {
  if (text.length < from + DEV_EUI_LENGTH) return false
  for (let index = from; index < from + DEV_EUI_LENGTH; index += 1) {
    const code = text.charCodeAt(index)
    if (!((code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66))) return false
  }
  return true
}

/**
 * The kind of event from `from` to the end. It is found by its length first, so that no text is
 * sliced off for the comparison.
 */
function eventKindAt(text: string, from: number): AnyEventKind | undefined {
  switch (text.length - from) {
    case 2:
      return kindIfAt(text, from, 'up')
    case 3:
      return kindIfAt(text, from, 'ack') ?? kindIfAt(text, from, 'log')
    case 4:
      return kindIfAt(text, from, 'join')
    case 5:
      return kindIfAt(text, from, 'txack') ?? kindIfAt(text, from, 'error') ?? kindIfAt(text, from, 'state')
    case 6:
      return kindIfAt(text, from, 'status')
    case 8:
      return kindIfAt(text, from, 'location')
    case 11:
      return kindIfAt(text, from, 'integration')
    default:
      return undefined
  }
}

function kindIfAt(text: string, from: number, kind: AnyEventKind): AnyEventKind | undefined {
  return text.startsWith(kind, from) ? kind : undefined
}

function deviceTopic(applicationId: string, devEui: string): string {
  assertApplicationId(applicationId)
  // An id with a wildcard or a slash would name topics of somebody else.
  assert(isDevEui(devEui), 'a DevEUI in a topic is 16 lower-case hexadecimal digits')
  return `${APPLICATION_LEVEL}${applicationId}${DEVICE_LEVEL}${devEui}`
}

function assertApplicationId(applicationId: string): void {
  assert(isApplicationId(applicationId), 'an application id is 1 to 64 letters, digits and hyphens')
}
