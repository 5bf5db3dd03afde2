/**
 * Schemas of the OpenAPI document for people: the possible values in a few words, a row for each
 * member, and an example.
 */
import { isDeepStrictEqual } from 'node:util'

/** A schema of the document, or any object of it. */
export type Schema = Readonly<Record<string, unknown>>

/**
 * One member of an object. The name has the names of the outer members in front:
 * `application.name`, `result[].id`.
 */
export interface MemberRow {
  readonly name: string
  readonly isRequired: boolean
  /** `string, at most 100 characters` */
  readonly type: string
  readonly description: string
}

/** How deep members of members are shown. */
const MAXIMUM_DEPTH = 5

/** The schemas that the document's references name. */
export class SchemaReader {
  readonly #schemas: Schema

  constructor(document: Schema) {
    this.#schemas = asSchema(asSchema(document['components'])['schemas'])
  }

  /**
   * The schema behind a reference, or the schema itself. The keywords beside a reference hold as
   * well.
   */
  resolved(schema: Schema): Schema {
    const { $ref: reference, ...beside } = schema
    if (typeof reference !== 'string') return schema
    return { ...asSchema(this.#schemas[reference.slice(reference.lastIndexOf('/') + 1)]), ...beside }
  }

  /**
   * A row for each member, in the document's order. The members of objects inside have rows too.
   */
  rows(schema: Schema, prefix = '', depth = 0): MemberRow[] {
    const whole = this.resolved(schema)
    if (whole['type'] === 'array') return this.rows(asSchema(whole['items']), `${prefix}[]`, depth)
    const required = Array.isArray(whole['required']) ? (whole['required'] as unknown[]) : []
    return Object.entries(asSchema(whole['properties'])).flatMap(([key, value]) => {
      const member = this.resolved(asSchema(value))
      const name = prefix === '' ? key : `${prefix}.${key}`
      const row: MemberRow = {
        name,
        isRequired: required.includes(key),
        type: this.words(member),
        description: textOf(member['description']),
      }
      return depth < MAXIMUM_DEPTH ? [row].concat(this.rows(member, name, depth + 1)) : [row]
    })
  }

  /** The possible values in words: `integer from 1 to 255`, `list of objects`, `string or null`. */
  words(schema: Schema): string {
    const whole = this.resolved(schema)
    if (Array.isArray(whole['anyOf'])) return (whole['anyOf'] as Schema[]).map((one) => this.words(one)).join(', or ')
    if (Array.isArray(whole['enum'])) return (whole['enum'] as unknown[]).map((one) => JSON.stringify(one)).join(', ')
    const types = [whole['type']].flat().map(String)
    return (
      types.map((type) => (type === 'array' ? `list of ${this.words(asSchema(whole['items']))}s` : type)).join(' or ') +
      boundsOf(whole)
    )
  }

  /** A value that the schema takes. The example has the optional members that help a reader. */
  example(schema: Schema, depth = 0): unknown {
    const whole = this.resolved(schema)
    if (Array.isArray(whole['examples'])) return (whole['examples'] as unknown[])[0]
    if (Array.isArray(whole['enum'])) return (whole['enum'] as unknown[]).find((one) => one !== '') ?? ''
    if (Array.isArray(whole['anyOf'])) return this.example(asSchema((whole['anyOf'] as unknown[])[0]), depth)
    switch ([whole['type']].flat()[0]) {
      case 'object':
        return this.#exampleObject(whole, depth)
      case 'array':
        return this.#exampleList(whole, depth)
      case 'boolean':
        return false
      case 'integer':
      case 'number':
        return Number(whole['minimum'] ?? 0)
      case 'string':
        return exampleText(whole)
      default:
        return {}
    }
  }

  #exampleList(whole: Schema, depth: number): unknown[] {
    // Its items would be too deep to have their members.
    if (depth >= MAXIMUM_DEPTH) return []
    const one = this.example(asSchema(whole['items']), depth + 1)
    return Array.from({ length: Math.max(1, Number(whole['minItems'] ?? 0)) }, () => one)
  }

  #exampleObject(whole: Schema, depth: number): Schema {
    const required = Array.isArray(whole['required']) ? (whole['required'] as unknown[]) : []
    const members = Object.entries(asSchema(whole['properties'])).filter(
      ([name, value]) => required.includes(name) || Array.isArray(this.resolved(asSchema(value))['examples']),
    )
    const shown = members.length === 0 ? Object.entries(asSchema(whole['properties'])).slice(0, 1) : members
    if (depth > MAXIMUM_DEPTH) return {}
    return Object.fromEntries(shown.map(([name, value]) => [name, this.example(asSchema(value), depth + 1)]))
  }
}

/** Texts that one or another pattern takes. */
const TEXTS = [
  '1',
  'example',
  '0101010101010101',
  '123456',
  'AQID',
  '2026-01-15T12:00:00.000Z',
  'a long enough text',
  '',
]

function exampleText(schema: Schema): string {
  if (schema['format'] === 'date-time') return '2026-01-15T12:00:00.000Z'
  const pattern = typeof schema['pattern'] === 'string' ? new RegExp(schema['pattern'], 'u') : /^/
  const minimum = Number(schema['minLength'] ?? 0)
  const fitting = TEXTS.find((text) => text.length >= minimum && pattern.test(text))
  const words = ['example', ...TEXTS].find((text) => text.length >= minimum && pattern.test(text))
  return (typeof schema['pattern'] === 'string' && pattern.source.includes('0-9') ? fitting : words) ?? ''
}

function boundsOf(schema: Schema): string {
  const { minimum, maximum, minLength, maxLength, maxItems, format, additionalProperties } = schema
  const said: string[] = []
  if (minimum !== undefined && maximum !== undefined) said.push(`${numberOf(minimum)} to ${numberOf(maximum)}`)
  else if (minimum !== undefined) said.push(`at least ${numberOf(minimum)}`)
  else if (maximum !== undefined) said.push(`at most ${numberOf(maximum)}`)
  if (minLength !== undefined && minLength !== 0 && minLength !== 1)
    said.push(`at least ${numberOf(minLength)} characters`)
  if (maxLength !== undefined) said.push(`at most ${numberOf(maxLength)} characters`)
  if (maxItems !== undefined) said.push(`at most ${numberOf(maxItems)}`)
  if (format === 'date-time') said.push('a time by RFC 3339')
  if (format === 'byte') said.push('base64')
  if (isDeepStrictEqual(additionalProperties, { type: 'string' })) said.push('whose values are texts')
  return said.length === 0 ? '' : `, ${said.join(', ')}`
}

function numberOf(value: unknown): string {
  return Number(value).toLocaleString('en')
}

/** A part of the document as an object; an empty one where there is none. */
export function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {}
}

/** A part of the document as a text; empty where there is none. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
