/**
 * The differences between two versions of a schema that break a client. Messages that clients
 * receive may only promise more, and messages that clients send may only be taken more widely.
 */
import assert from 'node:assert/strict'

type Direction = 'received' | 'sent'

type Node = Readonly<Record<string, unknown>>

/** Keywords of a promise about a text: another value is another promise. */
const TEXT_RULES = ['pattern', 'format', 'contentEncoding'] as const
const LOWER_BOUNDS = ['minimum', 'minLength', 'minItems'] as const
const UPPER_BOUNDS = ['maximum', 'maxLength', 'maxItems'] as const
const ALL_TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] as const

interface Comparison {
  readonly before: Node
  readonly now: Node
  readonly direction: Direction
  readonly found: string[]
}

/** One sentence for each breaking change between two documents; none where nothing breaks. */
export function breakingChanges(before: Node, now: Node, direction: Direction): readonly string[] {
  const comparison: Comparison = { before, now, direction, found: [] }
  compare(before, now, '', comparison)
  return comparison.found
}

function compare(earlier: unknown, later: unknown, path: string, comparison: Comparison): void {
  const before = resolved(earlier, comparison.before)
  const now = resolved(later, comparison.now)
  const { direction } = comparison
  const at = path === '' ? 'the message' : path
  const tell = (sentence: string): void => void comparison.found.push(`${at}: ${sentence}`)
  if (before['title'] !== now['title']) tell(`the type ${String(before['title'])} has another name`)
  if (before['anyOf'] !== undefined || now['anyOf'] !== undefined) {
    compareBranches(before, now, path, comparison)
    return
  }
  // A message that is received may become narrower, and one that is sent wider.
  const [wide, narrow] = direction === 'received' ? [before, now] : [now, before]
  compareTypes(wide, narrow, tell)
  compareWords(wide, narrow, tell)
  compareRules(wide, narrow, tell)
  compareMembers(before, now, path, comparison)
}

function compareTypes(wide: Node, narrow: Node, tell: (sentence: string) => void): void {
  const allowed = typesOf(wide)
  const foreign = [...typesOf(narrow)].filter(
    (type) => !allowed.has(type) && !(type === 'integer' && allowed.has('number')),
  )
  if (foreign.length > 0) tell(`the type has changed (${foreign.join(', ')})`)
}

function typesOf({ type, const: value, enum: values }: Node): ReadonlySet<string> {
  if (Array.isArray(type)) return new Set(type as string[])
  if (typeof type === 'string') return new Set([type])
  const words = value === undefined ? (values as unknown[] | undefined) : [value]
  return words === undefined ? new Set(ALL_TYPES) : new Set(words.map((word) => typeof word))
}

function compareWords(wide: Node, narrow: Node, tell: (sentence: string) => void): void {
  const allowed = wordsOf(wide)
  const words = wordsOf(narrow)
  if (allowed === undefined) return
  if (words === undefined) tell('any word is possible now')
  else for (const word of words) if (!allowed.includes(word)) tell(`the word ${String(word)} has come or gone`)
}

function wordsOf({ const: value, enum: values }: Node): readonly unknown[] | undefined {
  return value === undefined ? (values as readonly unknown[] | undefined) : [value]
}

function compareRules(wide: Node, narrow: Node, tell: (sentence: string) => void): void {
  for (const rule of TEXT_RULES) {
    if (wide[rule] !== undefined && wide[rule] !== narrow[rule]) tell(`${rule} has changed`)
  }
  for (const bound of LOWER_BOUNDS) {
    if (numberOf(narrow[bound], -Infinity) < numberOf(wide[bound], -Infinity)) tell(`${bound} has changed`)
  }
  for (const bound of UPPER_BOUNDS) {
    if (numberOf(narrow[bound], Infinity) > numberOf(wide[bound], Infinity)) tell(`${bound} has changed`)
  }
}

function numberOf(value: unknown, absent: number): number {
  return typeof value === 'number' ? value : absent
}

function compareMembers(before: Node, now: Node, path: string, comparison: Comparison): void {
  const [earlier, later] = [membersOf(before), membersOf(now)]
  const [demandedBefore, demandedNow] = [requiredOf(before), requiredOf(now)]
  for (const [name, member] of Object.entries(earlier)) {
    const at = path === '' ? name : `${path}.${name}`
    const other = later[name]
    if (other === undefined) comparison.found.push(`${at}: was removed`)
    else compare(member, other, at, comparison)
    if (comparison.direction === 'received' && demandedBefore.has(name) && !demandedNow.has(name)) {
      comparison.found.push(`${at}: may be missing now`)
    }
  }
  if (comparison.direction === 'sent') {
    for (const name of demandedNow) {
      if (!demandedBefore.has(name)) comparison.found.push(`${path === '' ? name : `${path}.${name}`}: is required now`)
    }
  }
  if (before['items'] !== undefined) compare(before['items'], now['items'] ?? {}, `${path}[]`, comparison)
  compareOthers(before, now, path, comparison)
}

/** The members that the schema doesn't name. */
function compareOthers(before: Node, now: Node, path: string, comparison: Comparison): void {
  const [earlier, later] = [before['additionalProperties'] ?? true, now['additionalProperties'] ?? true]
  const [wide, narrow] = comparison.direction === 'received' ? [earlier, later] : [later, earlier]
  if (wide === true) return
  if (typeof wide === 'object' && typeof narrow === 'object') compare(earlier, later, `${path}.*`, comparison)
  else if (wide !== narrow) comparison.found.push(`${path}: other members have changed`)
}

function compareBranches(before: Node, now: Node, path: string, comparison: Comparison): void {
  const [earlier, later] = [branchesOf(before, comparison.before), branchesOf(now, comparison.now)]
  for (const [key, branch] of earlier) {
    const other = later.get(key)
    if (other === undefined) comparison.found.push(`${path}: the shape ${key} was removed`)
    else compare(branch, other, path === '' ? key : `${path}(${key})`, comparison)
  }
  if (comparison.direction === 'sent') return
  for (const [key, branch] of later) {
    // Clients tell these shapes apart by a word, and pass over words that they don't know.
    const isTold = Object.values(membersOf(branch)).some((member) => typeof (member as Node)['const'] === 'string')
    if (!earlier.has(key) && !isTold) comparison.found.push(`${path}: the shape ${key} is new`)
  }
}

function branchesOf(node: Node, document: Node): ReadonlyMap<string, Node> {
  const branches = (node['anyOf'] as readonly unknown[] | undefined) ?? [node]
  return new Map(branches.map((branch) => resolved(branch, document)).map((branch) => [keyOf(branch), branch]))
}

function keyOf({ title, type }: Node): string {
  return typeof title === 'string' ? title : String(type)
}

function membersOf(node: Node): Node {
  return (node['properties'] as Node | undefined) ?? {}
}

function requiredOf(node: Node): ReadonlySet<string> {
  return new Set((node['required'] as readonly string[] | undefined) ?? [])
}

function resolved(part: unknown, document: Node): Node {
  assert.ok(typeof part === 'object' && part !== null, 'a schema is an object here')
  const { $ref: reference } = part as Node
  if (typeof reference !== 'string') return part as Node
  const definition = (document['$defs'] as Node | undefined)?.[reference.replace('#/$defs/', '')]
  assert.ok(definition !== undefined, `the document has no ${reference}`)
  return definition as Node
}
