/**
 * The common shape of JSON objects of one kind: their members, the kinds of the values, and the
 * members that are never missing.
 */
import assert from 'node:assert/strict'

export interface Member {
  /**
   * The kinds of values that were seen: `integer`, `uuid`, `time`, `base64`, `word
   * DOWNLINK_GATEWAY` ...
   */
  readonly kinds: Set<string>
  /** The number of objects that have the member. */
  count: number
  /** The number of objects that could have had the member. */
  parents: number
}

/** By path, such as `rxInfo[].rssi`. */
export type Shape = ReadonlyMap<string, Member>

/** Members whose content belongs to the deployment or the device. */
const OPEN_MEMBERS: ReadonlySet<string> = new Set(['object', 'tags'])
/** Members in base64, which can look like the text of other members. */
const BASE64_MEMBERS: ReadonlySet<string> = new Set(['data', 'context'])
/** Members whose values were chosen by people. */
const NAMED_MEMBERS: ReadonlySet<string> = new Set([
  'applicationName',
  'deviceName',
  'deviceProfileName',
  'tenantName',
  'name',
  'description',
  'error',
])

const TEXTS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['uuid', /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/],
  ['eui', /^[0-9a-f]{16}$/],
  ['digits', /^\d{1,7}$/],
  ['address', /^[0-9a-f]{8}$/],
  ['time with Z', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/],
  ['time with +00:00', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\+00:00$/],
  ['seconds', /^\d+(?:\.\d+)?s$/],
]

/** Bounds of numbers, by the last name of their path; both bounds are included. */
const BOUNDS: Readonly<Record<string, readonly [low: number, high: number]>> = {
  fCnt: [0, 2 ** 32 - 1],
  fCntDown: [0, 2 ** 32 - 1],
  fPort: [0, 255],
  dr: [0, 15],
  margin: [-32, 31],
  batteryLevel: [0, 100],
  rssi: [-140, 0],
  snr: [-32, 32],
  loRaSNR: [-32, 32],
  channel: [0, 95],
  frequency: [863_000_000, 928_000_000],
  bandwidth: [125_000, 500_000],
  spreadingFactor: [7, 12],
  power: [0, 30],
  uplinkId: [0, 2 ** 32 - 1],
  downlinkId: [0, 2 ** 32 - 1],
  latitude: [-90, 90],
  longitude: [-180, 180],
  altitude: [-500, 9000],
}

/** The shape of several objects; a number out of its bounds fails. */
export function shapeOf(objects: readonly object[]): Shape {
  const shape = new Map<string, Member>()
  for (const object of objects) addObject(shape, '', object)
  const parents = new Map<string, number>()
  for (const object of objects) countParents(parents, '', object)
  for (const [path, member] of shape) {
    const parent = path.endsWith('[]') ? path : path.slice(0, Math.max(0, path.lastIndexOf('.')))
    member.parents = path.endsWith('[]') ? member.count : (parents.get(parent) ?? 0)
  }
  return shape
}

/**
 * The differences between an imitation and the real shape: one sentence for each additional or
 * missing member.
 */
export function differences(imitation: Shape, real: Shape): string[] {
  const sentences: string[] = []
  for (const [path, { kinds }] of imitation) {
    const known = real.get(path)
    if (known === undefined) {
      sentences.push(`${path}: the real one has no such member`)
      continue
    }
    for (const kind of kinds) {
      const isKnown = known.kinds.has(kind) || (kind === 'integer' && known.kinds.has('number'))
      if (!isKnown) sentences.push(`${path}: ${kind}, where the real one has ${[...known.kinds].join(', ')}`)
    }
  }
  for (const [path, { count, parents }] of real) {
    const imitated = imitation.get(path)
    // If the imitation never has an object, the object is reported, but not its members.
    const isReachable = [...imitation.keys()].some((each) => each === parentOf(path)) || parentOf(path) === ''
    // A list may be empty.
    const isAlways = count === parents && !path.endsWith('[]')
    if (!isAlways || !isReachable) continue
    if (imitated === undefined) sentences.push(`${path}: is missing`)
    else if (imitated.count < imitated.parents) sentences.push(`${path}: is missing in some, and never in the real one`)
  }
  return sentences
}

/** An event's kind, with the code of a fault. Events with the same kind and code have one shape. */
export function eventKind({ kind, payload }: { readonly kind: string; readonly payload: object }): string {
  const { code, type } = payload as { readonly code?: string; readonly type?: string }
  const fault = kind === 'log' ? code : type
  return (kind === 'log' || kind === 'error') && fault !== undefined ? `${kind} ${fault}` : kind
}

/** The differences of all imitated events, kind by kind. */
export function eventDifferences(
  imitated: readonly { readonly kind: string; readonly payload: object }[],
  real: readonly { readonly kind: string; readonly payload: object }[],
): string[] {
  return [...new Set(imitated.map(eventKind))].flatMap((kind) => {
    const [ours, theirs] = [imitated, real].map((events) =>
      shapeOf(events.filter((event) => eventKind(event) === kind).map(({ payload }) => payload)),
    )
    assert.ok(ours !== undefined && theirs !== undefined)
    if (theirs.size === 0) return [`${kind}: the real one tells of no such thing`]
    return differences(ours, theirs).map((difference) => `${kind}: ${difference}`)
  })
}

function addObject(shape: Map<string, Member>, path: string, object: object): void {
  for (const [name, value] of Object.entries(object)) {
    const at = path === '' ? name : `${path}.${name}`
    addValue(shape, at, name, value)
  }
}

function addValue(shape: Map<string, Member>, path: string, name: string, value: unknown): void {
  const member = shape.get(path) ?? { kinds: new Set<string>(), count: 0, parents: 0 }
  shape.set(path, member)
  member.count += 1
  member.kinds.add(kindOf(name, value, path))
  if (OPEN_MEMBERS.has(name)) return
  if (Array.isArray(value)) for (const item of value) addValue(shape, `${path}[]`, name, item)
  else if (typeof value === 'object' && value !== null) addObject(shape, path, value)
}

function countParents(parents: Map<string, number>, path: string, object: object): void {
  parents.set(path, (parents.get(path) ?? 0) + 1)
  for (const [name, value] of Object.entries(object)) {
    if (OPEN_MEMBERS.has(name)) continue
    const at = path === '' ? name : `${path}.${name}`
    const items: readonly (readonly [string, unknown])[] = Array.isArray(value)
      ? value.map((item) => [`${at}[]`, item] as const)
      : [[at, value]]
    for (const [itemPath, item] of items) {
      if (typeof item === 'object' && item !== null) countParents(parents, itemPath, item)
    }
  }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('.')))
}

function kindOf(name: string, value: unknown, path: string): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'number') {
    const [low, high] = BOUNDS[name] ?? [-Infinity, Infinity]
    assert.ok(value >= low && value <= high, `${path}: ${value} is not from ${low} to ${high}`)
    return Number.isInteger(value) ? 'integer' : 'number'
  }
  if (typeof value !== 'string') return typeof value
  if (BASE64_MEMBERS.has(name)) return Buffer.from(value, 'base64').toString('base64') === value ? 'base64' : 'text'
  if (NAMED_MEMBERS.has(name)) return 'text'
  const known = TEXTS.find(([, pattern]) => pattern.test(value))
  if (known !== undefined) return known[0]
  return /^[A-Z][A-Z0-9_]+$/.test(value) ? `word ${value}` : 'text'
}
