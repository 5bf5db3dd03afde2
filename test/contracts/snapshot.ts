/**
 * The committed documents of this version of the contracts, in `sdk/schemas/`: the SDKs' types are
 * generated from them, and changes are compared with them.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CONTRACTS, CONTRACT_VERSION } from '../../src/lorawan/contracts/contracts.ts'
import { schemaDocument, schemaIndex } from '../../src/lorawan/contracts/schema-documents.ts'
import { breakingChanges } from './breaking-changes.ts'

/** The folder of the committed documents. */
export const SNAPSHOT_FOLDER = fileURLToPath(new URL(`../../sdk/schemas/${CONTRACT_VERSION}/`, import.meta.url))

/** Each file of the folder, by its path, as the contracts of the source make it. */
export function madeFiles(): ReadonlyMap<string, string> {
  const files = new Map([['index.json', written(schemaIndex(''))]])
  for (const contract of CONTRACTS) {
    files.set(`${contract.path}.json`, written(schemaDocument(contract, '')))
    files.set(`${contract.path}.sample.json`, written(contract.sample))
  }
  return files
}

function written(document: unknown): string {
  return `${JSON.stringify(document, null, 2)}\n`
}

interface Index {
  readonly schemas: readonly { readonly schema: string; readonly direction: 'received' | 'sent' }[]
}

/**
 * One sentence for each change of the contracts since the committed documents that breaks a client;
 * none before the first commit of a version.
 */
export function changesThatBreak(): readonly string[] {
  const made = madeFiles()
  const index = committed('index.json') as Index | undefined
  return (index?.schemas ?? []).flatMap(({ schema, direction }) => {
    const path = schema.slice(schema.indexOf(`/${CONTRACT_VERSION}/`) + CONTRACT_VERSION.length + 2)
    const now = made.get(path)
    if (now === undefined) return [`${path}: was removed`]
    const document = JSON.parse(now) as Readonly<Record<string, unknown>>
    return breakingChanges(committed(path) ?? {}, document, direction).map((sentence) => `${path}: ${sentence}`)
  })
}

function committed(path: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(readFileSync(`${SNAPSHOT_FOLDER}${path}`, 'utf8')) as Readonly<Record<string, unknown>>
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
