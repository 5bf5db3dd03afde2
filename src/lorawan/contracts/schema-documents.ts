/**
 * The JSON Schemas of the contracts as documents (JSON Schema 2020-12): each with its address as
 * `$id`, and with its named parts under `$defs`, so that a document needs no other document.
 */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { CONTRACTS, CONTRACT_VERSION } from './contracts.ts'
import type { Contract } from './contracts.ts'

/** A document of JSON. */
export type SchemaDocument = Readonly<Record<string, unknown>>

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** The path of the folder of all schemas on the server. */
export const SCHEMAS_PATH = `/api/schemas/${CONTRACT_VERSION}`

/** The address of a contract's schema. `baseUrl` is that of the server, or empty. */
function schemaAddress(baseUrl: string, path: string): string {
  return `${baseUrl}${SCHEMAS_PATH}/${path}.json`
}

/** The schema of a contract as a document. */
export function schemaDocument({ path, schema }: Contract, baseUrl: string): SchemaDocument {
  const definitions: Record<string, unknown> = {}
  const { title, description, ...rest } = schema
  const body = Object.entries(rest).map(([name, member]) => [name, withReferences(member, '#/$defs/', definitions)])
  const named = Object.entries(definitions).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return {
    $schema: DIALECT,
    $id: schemaAddress(baseUrl, path),
    title,
    description,
    ...(Object.fromEntries(body) as SchemaDocument),
    ...(named.length === 0 ? {} : { $defs: Object.fromEntries(named) }),
  }
}

/**
 * A copy of a schema in which each part with a title is a reference, `<prefix><title>`. The parts
 * are put into `definitions`. Throws where two different parts have one title.
 */
export function withReferences(part: unknown, prefix: string, definitions: Record<string, unknown>): unknown {
  if (Array.isArray(part)) return part.map((item) => withReferences(item, prefix, definitions))
  if (typeof part !== 'object' || part === null) return part
  const entries = Object.entries(part).map(([name, member]) => [name, withReferences(member, prefix, definitions)])
  const copy = Object.fromEntries(entries) as Record<string, unknown>
  const { title } = copy
  if (typeof title !== 'string') return copy
  const known = definitions[title]
  assert(known === undefined || isDeepStrictEqual(known, copy), `two different schemas have the title ${title}`)
  definitions[title] = copy
  return { $ref: `${prefix}${title}` }
}

/** The list of all schemas and samples: their addresses, in the order of the contracts. */
export function schemaIndex(baseUrl: string): SchemaDocument {
  return {
    version: CONTRACT_VERSION,
    schemas: CONTRACTS.map(({ path, schema: { title, description }, direction }) => ({
      title,
      description,
      direction,
      schema: schemaAddress(baseUrl, path),
      sample: `${baseUrl}${SCHEMAS_PATH}/${path}.sample.json`,
    })),
  }
}
