/**
 * Turns the schemas that check requests into the schemas that people and generators read: named
 * schemas become components, the error answers are written once, and the keywords of the checks are
 * left out.
 */
import { given } from '../../given.ts'
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { withExample } from './openapi-examples.ts'
import { DEMANDED, DOCUMENTED, NAME } from './schema-keywords.ts'
import { RULE } from './validate.ts'

/** Any object of the document. */
type Node = Readonly<Record<string, unknown>>

const METHODS = ['get', 'put', 'post', 'delete'] as const

/**
 * The finished document, in which the 4XX and 5XX of every operation refer to `responses`. Throws
 * where two different schemas have one name.
 */
export function withComponents<Document extends object>(
  document: Document,
  responses: Readonly<Record<'ClientError' | 'ServerError', Node>>,
): Document {
  const schemas: Record<string, unknown> = {}
  const generated = asNode(document)
  const paths: Record<string, unknown> = {}
  for (const [path, item] of Object.entries(asNode(generated['paths']))) {
    const operations = Object.entries(asNode(item)).map(([method, operation]) =>
      isMethod(method) ? [method, finishedOperation(asNode(operation), schemas)] : [method, operation],
    )
    paths[path] = Object.fromEntries(operations)
  }
  const shared = finished(responses, schemas)
  const components = { ...asNode(generated['components']), schemas: sorted(schemas), responses: shared }
  return { ...document, paths, components }
}

function isMethod(name: string): boolean {
  return METHODS.some((method) => method === name)
}

/** Unnamed objects of an operation's body and answer are named after the operation. */
function finishedOperation(operation: Node, schemas: Record<string, unknown>): Node {
  const { requestBody, responses, parameters, ...rest } = operation
  const operationId = String(operation['operationId'])
  const typeName = operationId.charAt(0).toUpperCase() + operationId.slice(1)
  const answers = Object.entries(asNode(responses)).map(([status, response]) => {
    if (status.startsWith('4')) return [status, { $ref: '#/components/responses/ClientError' }]
    if (status.startsWith('5')) return [status, { $ref: '#/components/responses/ServerError' }]
    return [status, finished(withNamedContent(asNode(response), `${typeName}Result`), schemas)]
  })
  return withExample({
    ...rest,
    ...(Array.isArray(parameters) ? { parameters: parameters.map((one) => finishedParameter(one, schemas)) } : {}),
    ...(requestBody === undefined
      ? {}
      : { requestBody: finished(withNamedContent(asNode(requestBody), `${typeName}Request`), schemas) }),
    responses: Object.fromEntries(answers),
  })
}

function finishedParameter(parameter: unknown, schemas: Record<string, unknown>): unknown {
  const { schema, ...rest } = asNode(parameter)
  const { [DEMANDED]: isDemanded, ...kept } = asNode(schema)
  return finished({ ...rest, ...(isDemanded === true ? { required: true } : {}), schema: kept }, schemas)
}

function withNamedContent(holder: Node, name: string): Node {
  if (holder['content'] === undefined) return holder
  const content = Object.entries(asNode(holder['content'])).map(([mediaType, media]) => {
    const schema = asNode(asNode(media)['schema'])
    const isNameless = schema['properties'] !== undefined && schema[NAME] === undefined
    return [mediaType, isNameless ? { ...asNode(media), schema: { ...schema, [NAME]: name } } : media]
  })
  return { ...holder, content: Object.fromEntries(content) }
}

/**
 * A copy without the keywords of the checks. A schema with a name moves to `schemas` and leaves a
 * reference.
 */
function finished(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => finished(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const { [NAME]: name, [RULE]: _rule, [DOCUMENTED]: documented, ...kept } = asNode(value)
  const node = documented === undefined ? kept : { ...notesOf(kept), ...asNode(documented) }
  const copy = withoutUnions(
    Object.fromEntries(Object.entries(node).map(([key, member]) => [key, finished(member, schemas)])),
  )
  if (typeof name !== 'string') return copy
  const known = schemas[name]
  assert(known === undefined || isDeepStrictEqual(known, copy), `two different schemas are named ${name}`)
  schemas[name] = copy
  return { $ref: `#/components/schemas/${name}` }
}

function notesOf({ description, examples }: Node): Node {
  return {
    ...given({ description, examples }),
  }
}

/**
 * `anyOf` of a simple type and null is a list of types: generators make one optional value of it,
 * not two classes.
 */
function withoutUnions(node: Node): Node {
  const { anyOf, ...rest } = node
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return node
  const [first, second] = anyOf.map(asNode)
  if (first === undefined || second?.['type'] !== 'null' || typeof first['type'] !== 'string') return node
  const values = Array.isArray(first['enum']) ? { enum: [...(first['enum'] as unknown[]), null] } : {}
  return { ...first, ...rest, ...values, type: [first['type'], 'null'] }
}

function sorted(schemas: Node): Node {
  return Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function asNode(value: unknown): Node {
  assert(typeof value === 'object' && value !== null, 'the document has an object here')
  return value as Node
}
