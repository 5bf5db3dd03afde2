/**
 * The scope of a broker-access token or of an API key: the part of an organization's events and
 * commands that it is for. A scope only takes rights away. It gives none that its owner has not.
 */
import { given } from '../../given.ts'
import { isObject } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { MAXIMUM_ENTRY_KEY, MAXIMUM_ENTRY_VALUE } from '../devices/device-rows.ts'
import { parseDevEui } from '../devices/eui.ts'
import { granted, refuse } from '../store/result.ts'
import type { Refusal, Result } from '../store/result.ts'
import { isLine, isParagraph } from '../store/text-rules.ts'

/** The kinds of event that a scope can name, in the order in which they are written. */
export const SCOPE_EVENT_KINDS = [
  'up',
  'join',
  'ack',
  'error',
  'status',
  'location',
  'txack',
  'log',
  'integration',
  'state',
] as const

/** A kind of event, as the last level of its topic has it. */
export type EventKindName = (typeof SCOPE_EVENT_KINDS)[number]

/**
 * The limits of a right. An absent member is no limit, and a list is never empty. All members must
 * hold together: a device of a listed application that lacks a tag is outside.
 */
export interface Scope {
  /** Ids of applications, sorted, at most 100. */
  readonly applicationIds?: readonly string[]
  /** DevEUIs in lower case, sorted, at most 100. */
  readonly devEuis?: readonly string[]
  /** Tags that a device must have, all of them, at most 8. */
  readonly tags?: Readonly<Record<string, string>>
  /** Kinds of event. Commands have no kind, and are not limited by it. */
  readonly eventKinds?: readonly EventKindName[]
  /** No commands. */
  readonly isReadOnly?: true
  /**
   * May subscribe to all applications by one Topic Filter. It is a way to subscribe, and reaches no
   * event that the other members keep out.
   */
  readonly reachesAllApplications?: true
}

/** The most applications, and the most devices, of a scope. Bounds the cost of each check. */
export const MAXIMUM_SCOPE_IDS = 100
/** The most tags of a scope. */
export const MAXIMUM_SCOPE_TAGS = 8

/** A device, as far as a scope looks at it. */
export interface ScopedDevice {
  readonly applicationId: string
  /** In lower case. */
  readonly devEui: string
  readonly tags: Readonly<Record<string, string>>
}

/** Digits without leading zeros, or a UUID in lower case: the one spelling of each id. */
const APPLICATION_ID = /^(?:[1-9][0-9]{0,18}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/

/**
 * Reads the scope out of the members of a body; other members are passed over. Undefined: the body
 * has no member of a scope, or only flags that are false. Refuses as `scope_invalid`, with a
 * sentence that begins with the member.
 */
export function parseScope(body: JsonObject): Result<Scope | undefined> {
  const applicationIds = parseList(body, 'applicationIds', MAXIMUM_SCOPE_IDS, readApplicationId)
  if (!applicationIds.ok) return applicationIds
  const devEuis = parseList(body, 'devEuis', MAXIMUM_SCOPE_IDS, readDevEui)
  if (!devEuis.ok) return devEuis
  const tags = parseTags(body['tags'])
  if (!tags.ok) return tags
  const eventKinds = parseList(body, 'eventKinds', SCOPE_EVENT_KINDS.length, readEventKind)
  if (!eventKinds.ok) return eventKinds
  const isReadOnly = parseFlag(body, 'isReadOnly')
  if (!isReadOnly.ok) return isReadOnly
  const reachesAllApplications = parseFlag(body, 'reachesAllApplications')
  if (!reachesAllApplications.ok) return reachesAllApplications
  return granted(
    scopeOf({
      applicationIds: applicationIds.value,
      devEuis: devEuis.value,
      tags: tags.value,
      eventKinds: eventKinds.value,
      isReadOnly: isReadOnly.value,
      reachesAllApplications: reachesAllApplications.value,
    }),
  )
}

/** The scope as the registry keeps it: equal scopes have equal texts. Null: no limit. */
export function scopeText(scope: Scope | undefined): string | null {
  const canonical = scope === undefined ? undefined : scopeOf(scope)
  return canonical === undefined ? null : JSON.stringify(canonical)
}

/**
 * The scope of a text that `scopeText` wrote. Throws for any other text: a scope that can't be read
 * must not become no limit.
 */
export function readScope(text: string | null): Scope | undefined {
  if (text === null) return undefined
  const read: unknown = JSON.parse(text)
  const parsed = isObject(read) ? parseScope(read) : undefined
  if (parsed?.ok !== true || parsed.value === undefined) throw new Error('the scope of a token can’t be read')
  return parsed.value
}

/**
 * The narrower of two: only what both reach. `reachesAllApplications` is a way to subscribe, and
 * stays if either has it. Undefined: no limit. Refuses as `scope_empty` where nothing is left, and
 * as `scope_invalid` where the tags of both are too many.
 */
export function intersectScopes(first: Scope | undefined, second: Scope | undefined): Result<Scope | undefined> {
  if (first === undefined || second === undefined) return granted(first ?? second)
  const applicationIds = inBoth(first.applicationIds, second.applicationIds)
  const devEuis = inBoth(first.devEuis, second.devEuis)
  const eventKinds = inBoth(first.eventKinds, second.eventKinds)
  for (const list of [applicationIds, devEuis, eventKinds]) if (list?.length === 0) return nothingLeft()
  const tags = bothTags(first.tags, second.tags)
  if (tags === 'contradiction') return nothingLeft()
  if (tags !== undefined && Object.keys(tags).length > MAXIMUM_SCOPE_TAGS) return tooManyTags()
  return granted(
    scopeOf({
      applicationIds,
      devEuis,
      tags,
      eventKinds,
      isReadOnly: first.isReadOnly ?? second.isReadOnly,
      reachesAllApplications: first.reachesAllApplications ?? second.reachesAllApplications,
    }),
  )
}

/** The scope with commands taken away. */
export function readOnlyScope(scope: Scope | undefined): Scope {
  return { ...scope, isReadOnly: true }
}

/** Whether the scope reaches the device. Says nothing of kinds of event and of commands. */
export function reachesDevice(scope: Scope | undefined, device: ScopedDevice): boolean {
  if (scope === undefined) return true
  return (
    reachesApplication(scope, device.applicationId) &&
    (scope.devEuis?.includes(device.devEui) ?? true) &&
    hasTags(device.tags, scope.tags)
  )
}

/** Whether the scope names the application, or names none. Parts of it may still be outside. */
export function reachesApplication(scope: Scope | undefined, applicationId: string): boolean {
  return scope?.applicationIds?.includes(applicationId) ?? true
}

/** Whether the scope lets events of the kind through. */
export function reachesEventKind(scope: Scope | undefined, kind: string): boolean {
  return scope?.eventKinds?.some((one) => one === kind) ?? true
}

/** Whether the scope takes away any event that its organization has. */
export function limitsEvents(scope: Scope | undefined): boolean {
  return (
    scope?.applicationIds !== undefined ||
    scope?.devEuis !== undefined ||
    scope?.tags !== undefined ||
    scope?.eventKinds !== undefined
  )
}

/** Whether `tags` has all of `wanted`. */
export function hasTags(
  tags: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>> | undefined,
): boolean {
  if (wanted === undefined) return true
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(tags, key) && tags[key] === value)
}

/** The members of a scope that may be undefined. */
type Members = { readonly [Name in keyof Scope]: Scope[Name] | undefined }

/** The members that are there, in one order, with sorted lists; undefined for no limit. */
function scopeOf(members: Members): Scope | undefined {
  const { applicationIds, devEuis, tags, eventKinds, isReadOnly, reachesAllApplications } = members
  const scope = given({
    applicationIds: applicationIds && sorted(applicationIds),
    devEuis: devEuis && sorted(devEuis),
    tags: tags && Object.fromEntries(sorted(Object.keys(tags)).map((key) => [key, tags[key] as string])),
    eventKinds: eventKinds && SCOPE_EVENT_KINDS.filter((kind) => eventKinds.includes(kind)),
    isReadOnly,
    reachesAllApplications,
  })
  return Object.keys(scope).length === 0 ? undefined : scope
}

/** Each text once, in the order of the code units. */
function sorted(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].toSorted((a, b) => (a < b ? -1 : 1))
}

function parseList<Name extends string>(
  body: JsonObject,
  member: string,
  maximum: number,
  read: (value: unknown) => Name | undefined,
): Result<readonly Name[] | undefined> {
  const value = body[member]
  if (value === undefined) return granted(undefined)
  if (!Array.isArray(value) || value.length === 0 || value.length > maximum) {
    return invalid(`${member}: must be a list of 1 to ${maximum}; leave it out for no limit`)
  }
  const names: Name[] = []
  for (const [index, one] of value.entries()) {
    const name = read(one)
    if (name === undefined) return invalid(`${member}.${index}: ${RULES[member] ?? 'is not valid'}`)
    names.push(name)
  }
  return granted(names)
}

const RULES: Readonly<Record<string, string>> = {
  applicationIds: 'must be a string of digits, or a UUID in lower case',
  devEuis: 'must be 16 hexadecimal digits',
  eventKinds: `must be one of ${SCOPE_EVENT_KINDS.join(', ')}`,
}

function readApplicationId(value: unknown): string | undefined {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  return typeof text === 'string' && text.length <= 36 && APPLICATION_ID.test(text) ? text : undefined
}

function readDevEui(value: unknown): string | undefined {
  return typeof value === 'string' ? parseDevEui(value) : undefined
}

function readEventKind(value: unknown): EventKindName | undefined {
  return SCOPE_EVENT_KINDS.find((kind) => kind === value)
}

function parseTags(value: unknown): Result<Readonly<Record<string, string>> | undefined> {
  if (value === undefined) return granted(undefined)
  const entries = isObject(value) ? Object.entries(value) : []
  if (entries.length === 0 || entries.length > MAXIMUM_SCOPE_TAGS) {
    return invalid(`tags: must be an object of 1 to ${MAXIMUM_SCOPE_TAGS} texts; leave it out for no limit`)
  }
  for (const [key, text] of entries) {
    if (!isLine(key, 1, MAXIMUM_ENTRY_KEY) || typeof text !== 'string' || !isParagraph(text, MAXIMUM_ENTRY_VALUE)) {
      return invalid('tags: must be texts by the names of tags')
    }
  }
  return granted(value as Record<string, string>)
}

/** False means the same as leaving the flag out. */
function parseFlag(body: JsonObject, member: string): Result<true | undefined> {
  const value = body[member]
  if (value === undefined || value === false) return granted(undefined)
  return value === true ? granted(true as const) : invalid(`${member}: must be true or false`)
}

function inBoth<Name extends string>(
  first: readonly Name[] | undefined,
  second: readonly Name[] | undefined,
): readonly Name[] | undefined {
  if (first === undefined || second === undefined) return first ?? second
  return first.filter((name) => second.includes(name))
}

function bothTags(first: Scope['tags'], second: Scope['tags']): Scope['tags'] | 'contradiction' {
  if (first === undefined || second === undefined) return first ?? second
  const isContradiction = Object.entries(second).some(
    ([key, value]) => Object.hasOwn(first, key) && first[key] !== value,
  )
  return isContradiction ? 'contradiction' : Object.fromEntries([...Object.entries(first), ...Object.entries(second)])
}

function invalid(message: string): Refusal {
  return refuse('invalid_argument', 'scope_invalid', message)
}

function tooManyTags(): Refusal {
  return invalid(`tags: together there may be at most ${MAXIMUM_SCOPE_TAGS}`)
}

function nothingLeft(): Refusal {
  return refuse('invalid_argument', 'scope_empty', 'nothing is within both scopes')
}
