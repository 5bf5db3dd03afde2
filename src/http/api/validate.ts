/**
 * Schemas become checks here. Bodies are checked as they are, without coercion; members of paths
 * and queries arrive as text and become the integers and booleans that their schema asks for. A
 * refusal is one clear sentence that names the member: `organizationId: must be a string of
 * digits`.
 */
import type { FastifySchemaCompiler } from 'fastify'
import { Compile } from 'typebox/compile'
import type { TSchema } from 'typebox'
import { invalidArgument } from './errors.ts'
import { conflictSentence, withDocumentedSpellings } from './spellings.ts'

/** The keyword in which a schema says its rule in words: what follows `member: ` in the refusal. */
export const RULE = 'x-rule'

interface SchemaNode {
  readonly type?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
  readonly [RULE]?: string
}

interface ValidationFault {
  readonly keyword: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
}

/**
 * Fastify's validator compiler. A schema becomes a check with the first request that needs it: most
 * of them never are needed between two starts.
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  let compiled: ReturnType<typeof Compile<TSchema>> | undefined
  const node: SchemaNode = schema
  return (value: unknown) => {
    const spelled = httpPart === 'body' || httpPart === 'querystring' ? withDocumentedSpellings(node, value) : { value }
    if ('conflict' in spelled) return { error: invalidArgument(conflictSentence(spelled.conflict)) }
    const candidate = httpPart === 'body' ? spelled.value : fromText(node, spelled.value)
    const check = (compiled ??= Compile(schema))
    if (check.Check(candidate)) return { value: candidate }
    return { error: invalidArgument(faultSentence(schema, check.Errors(candidate), httpPart)) }
  }
}

/** As `compileValidator`, for a route whose handler checks the body itself: a stream, or bytes. */
export const skipBody: FastifySchemaCompiler<TSchema> = (part) =>
  part.httpPart === 'body' ? (value: unknown) => ({ value }) : compileValidator(part)

/**
 * Reads integers and booleans out of the text of a query or path. A text that is neither stays a
 * text and is refused.
 */
function fromText(schema: SchemaNode, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || schema.properties === undefined) return value
  const converted: Record<string, unknown> = {}
  // Only members that the schema names are taken over: unknown ones are ignored, whatever they are
  // called.
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!Object.hasOwn(value, name)) continue
    const text: unknown = Reflect.get(value, name)
    converted[name] = typeof text === 'string' ? typed(property, text) : text
  }
  return converted
}

function typed(property: SchemaNode, text: string): unknown {
  if (property.type === 'integer') {
    // Adding 0 turns -0, which a database would take for a fraction, into 0.
    return /^-?[0-9]{1,15}$/.test(text) ? Number(text) + 0 : text
  }
  if (property.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return text
}

/** One sentence about the first fault; the others of a union would only repeat it. */
export function faultSentence(schema: TSchema, faults: readonly ValidationFault[], subject = 'row'): string {
  const node: SchemaNode = schema
  const fault = faults[0]
  if (fault === undefined) return `${subject}: is not valid`
  const path = fault.instancePath.split('/').slice(1)
  if (fault.keyword === 'required') return `${[...path, firstMissing(fault.params)].join('.')}: is missing`
  const named = path.length === 0 ? subject : path.join('.')
  return `${named}: ${ruleAt(node, path) ?? inWords(fault.message)}`
}

function inWords(message: string): string {
  return message
    .replace(/^must be (?=object|array|integer)/, 'must be an ')
    .replace(/^must be (?=string|boolean|number)/, 'must be a ')
}

function firstMissing(params: object): string {
  const names: unknown = Reflect.get(params, 'requiredProperties')
  return Array.isArray(names) ? String(names[0]) : ''
}

function ruleAt(schema: SchemaNode, path: readonly string[]): string | undefined {
  let node: SchemaNode | undefined = schema
  let rule = node[RULE]
  for (const name of path) {
    const properties: SchemaNode['properties'] = node.properties
    const next: SchemaNode | undefined =
      properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : node.items
    if (next === undefined) return rule
    node = next
    rule = node[RULE] ?? rule
  }
  return node[RULE] ?? rule
}
