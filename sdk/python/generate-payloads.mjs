// Writes src/fieldgate/payloads.py from the contracts of the service (src/lorawan/contracts/).
// `node sdk/python/generate-payloads.mjs` writes the file; with `--check` it only compares.
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const contractsFolder = process.env.FIELDGATE_CONTRACTS ?? join(here, '..', '..', 'src', 'lorawan', 'contracts')
const load = (/** @type {string} */ name) => import(pathToFileURL(join(contractsFolder, name)).href)
const { CONTRACTS } = await load('contracts.ts')
const { schemaDocument } = await load('schema-documents.ts')
const FILE = join(here, 'src', 'fieldgate', 'payloads.py')

const HEAD = `"""The payloads of events, and the JSON of commands, as the service promises them.

Generated from the JSON Schemas of the service (/api/schemas/v1/index.json) by generate-payloads.mjs.
Further members may come in every object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Union, final
`

/** @typedef {Readonly<Record<string, any>>} Schema */

/** @type {Map<string, Schema>} */
const named = new Map()
for (const contract of CONTRACTS) {
  if (contract.path === 'events/event') continue
  const { $defs = {}, ...schema } = schemaDocument(contract, '')
  for (const [name, part] of Object.entries($defs)) named.set(name, /** @type {Schema} */ (part))
  named.set(String(schema.title), schema)
}

const text = `${HEAD}\n\n${[...named].map(([name, schema]) => definition(name, schema)).join('\n\n')}`
if (process.argv.includes('--check')) {
  if (readFileSync(FILE, 'utf8') !== text) {
    console.error('payloads.py is not up to date: run node sdk/python/generate-payloads.mjs')
    process.exit(1)
  }
} else writeFileSync(FILE, text)

/**
 * @param {string} name
 * @param {Schema} schema
 */
function definition(name, schema) {
  if (schema.type !== 'object')
    return `${name} = Union[${schema.anyOf.map(typeOf).join(', ')}]\n${docstring(schema, '')}\n`
  const required = new Set(schema.required ?? [])
  const members = Object.entries(/** @type {Record<string, Schema>} */ (schema.properties ?? {}))
  const must = members.filter(([member]) => required.has(member))
  const may = members.filter(([member]) => !required.has(member))
  const about = docstring(schema, '    ')
  if (may.length === 0) return `@final\nclass ${name}(TypedDict):\n${about}\n\n${must.map(memberText).join('')}`
  if (must.length === 0) {
    return `@final\nclass ${name}(TypedDict, total=False):\n${about}\n\n${may.map(memberText).join('')}`
  }
  // Python 3.10 has no NotRequired: the members that may be missing are in a class of their own.
  const base = `class _${name}(TypedDict):\n${must.map(memberText).join('')}`
  return `${base}\n\n@final\nclass ${name}(_${name}, total=False):\n${about}\n\n${may.map(memberText).join('')}`
}

/** @param {[string, Schema]} member */
function memberText([member, schema]) {
  return `    ${member}: ${typeOf(schema)}\n${docstring(schema, '    ')}${schema.description === undefined ? '' : '\n'}`
}

/**
 * @param {Schema} schema
 * @param {string} indent
 */
function docstring({ description }, indent) {
  return description === undefined ? '' : `${indent}"""${description.replaceAll('\\', '\\\\')}"""`
}

/**
 * @param {Schema} schema
 * @returns {string}
 */
function typeOf(schema) {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1)
  if (schema.const !== undefined) return literal([schema.const])
  if (schema.enum !== undefined) return literal(schema.enum)
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' | ')
  switch (schema.type) {
    case 'string':
      return 'str'
    case 'integer':
      return 'int'
    case 'number':
      return 'float'
    case 'boolean':
      return 'bool'
    case 'null':
      return 'None'
    case 'array':
      return `Sequence[${typeOf(schema.items)}]`
    case 'object':
      return `Mapping[str, ${typeof schema.additionalProperties === 'object' ? typeOf(schema.additionalProperties) : 'Any'}]`
    default:
      return 'Any'
  }
}

/** @param {readonly unknown[]} values */
function literal(values) {
  return `Literal[${values.map((value) => (typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value))).join(', ')}]`
}
