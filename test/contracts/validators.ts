/** Validates messages against the contracts, by a validator that knows nothing of their source. */
import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { CONTRACTS } from '../../src/lorawan/contracts/contracts.ts'
import { schemaDocument } from '../../src/lorawan/contracts/schema-documents.ts'

const validators = compiled()

function compiled(): ReadonlyMap<string, ValidateFunction> {
  const ajv = new Ajv2020({ allErrors: true, strict: true })
  formats.default(ajv)
  return new Map(
    CONTRACTS.map((contract) => [
      contract.path,
      ajv.compile(schemaDocument(contract, 'https://fieldgate.example.org')),
    ]),
  )
}

/** One sentence for each fault of the message; `path` is the address of its contract. */
export function faultsOf(path: string, message: unknown): readonly string[] {
  const validate = validators.get(path)
  assert.ok(validate !== undefined, `there is no contract ${path}`)
  if (validate(message)) return []
  return (validate.errors ?? []).map(({ instancePath, message: sentence = '' }) => `${path}${instancePath} ${sentence}`)
}

/** The address of the contract of an event, by the rule that docs/events.md gives to clients. */
export function contractOf(kind: string, payload: object): string {
  return `events/${'deviceInfo' in payload ? 'b' : 'a'}/${kind}`
}
