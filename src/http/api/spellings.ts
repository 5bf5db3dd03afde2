/**
 * Other spellings of the members of requests: `organizationId`, `organization_id` and
 * `organizationid` where the reference says `organizationID`. The specification itself has two
 * spellings, and the JSON mapping of Protocol Buffers takes the names of the fields as well. A
 * member that would else be unknown, and dropped, is taken for the one that is meant.
 */
import { isObject } from '../../json.ts'

/** The members of an object in a schema. */
interface MemberSchemas {
  readonly type?: string
  readonly properties?: Readonly<Record<string, MemberSchemas>>
  readonly items?: MemberSchemas
}

/** Two spellings of one member, with different values. */
export interface SpellingConflict {
  readonly path: readonly string[]
  readonly spellings: readonly [string, string]
}

type Members = Readonly<Record<string, unknown>>

/** Documented names by their folded form, of each object of a schema that was asked for. */
const namesOf = new WeakMap<object, ReadonlyMap<string, string>>()

/**
 * The value with each member under its documented name. If every name is the documented one, the
 * result is the same object. Members that the schema does not know in any spelling stay.
 */
export function withDocumentedSpellings(
  schema: MemberSchemas,
  value: unknown,
  path: readonly string[] = [],
): { readonly value: unknown } | { readonly conflict: SpellingConflict } {
  const { properties, items } = schema
  if (Array.isArray(value) && items !== undefined) return ofList(items, value, path)
  if (properties === undefined || !isObject(value)) return { value }
  const renamed = renamedMembers(properties, value, path)
  if ('conflict' in renamed) return renamed
  const { members } = renamed
  const changed = new Map<string, unknown>()
  for (const [name, property] of Object.entries(properties)) {
    if (!Object.hasOwn(members, name)) continue
    const inner = withDocumentedSpellings(property, members[name], [...path, name])
    if ('conflict' in inner) return inner
    if (inner.value !== members[name]) changed.set(name, inner.value)
  }
  return { value: changed.size === 0 ? members : { ...members, ...Object.fromEntries(changed) } }
}

/** The fault in a sentence that begins with the member. */
export function conflictSentence({ path, spellings: [one, other] }: SpellingConflict): string {
  const nameOf = (name: string): string => [...path, name].join('.')
  return `${nameOf(other)}: is another spelling of ${nameOf(one)}, and has another value`
}

function ofList(
  items: MemberSchemas,
  list: readonly unknown[],
  path: readonly string[],
): ReturnType<typeof withDocumentedSpellings> {
  const found: unknown[] = []
  for (const [index, item] of list.entries()) {
    const inner = withDocumentedSpellings(items, item, [...path, String(index)])
    if ('conflict' in inner) return inner
    found.push(inner.value)
  }
  return { value: found.every((item, index) => item === list[index]) ? list : found }
}

function renamedMembers(
  properties: NonNullable<MemberSchemas['properties']>,
  members: Members,
  path: readonly string[],
): { readonly members: Members } | { readonly conflict: SpellingConflict } {
  const others = Object.keys(members).filter((name) => !Object.hasOwn(properties, name))
  if (others.length === 0) return { members }
  const names = documentedNames(properties)
  const spelled = new Map<string, string>()
  const renamed = new Map(Object.entries(members))
  for (const other of others) {
    const name = names.get(folded(other))
    if (name === undefined) continue
    renamed.delete(other)
    const before = Object.hasOwn(members, name) ? name : spelled.get(name)
    if (before !== undefined && JSON.stringify(members[before]) !== JSON.stringify(members[other])) {
      return { conflict: { path, spellings: [before, other] } }
    }
    spelled.set(name, other)
    renamed.set(name, members[other])
  }
  return { members: spelled.size === 0 ? members : Object.fromEntries(renamed) }
}

function documentedNames(properties: NonNullable<MemberSchemas['properties']>): ReadonlyMap<string, string> {
  const known = namesOf.get(properties)
  if (known !== undefined) return known
  const names = new Map<string, string>()
  const twice = new Set<string>()
  for (const name of Object.keys(properties)) {
    if (names.has(folded(name))) twice.add(folded(name))
    names.set(folded(name), name)
  }
  // Where the reference itself has two spellings of a name, other spellings of it mean neither.
  for (const name of twice) names.delete(name)
  namesOf.set(properties, names)
  return names
}

function folded(name: string): string {
  return name.replaceAll('_', '').toLowerCase()
}
