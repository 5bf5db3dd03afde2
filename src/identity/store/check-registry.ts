/** Checks the file of a registry that no process has open, for `fieldgate check`. */
import { DatabaseSync } from 'node:sqlite'
import { brokenKeyText, isWholeKey } from './stored-key.ts'
import { newestSchemaVersion } from './migrations.ts'

/** The contents of a registry's file in numbers, and its problems. */
export interface RegistryReport {
  readonly organizations: number
  readonly users: number
  readonly devices: number
  /** Sentences for people. Empty when the file has no problem. */
  readonly problems: readonly string[]
}

/** Problems of one kind that are told. A damaged file can have thousands. */
const MAXIMUM_TOLD = 20

/**
 * Verifies every page, index and reference of a registry that no process has open. Changes nothing.
 */
export function checkRegistry(file: string): RegistryReport {
  const problems: string[] = []
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file, { readOnly: true })
    for (const { integrity_check: found } of database.prepare(`pragma integrity_check(${MAXIMUM_TOLD})`).all()) {
      if (found !== 'ok') problems.push(`${String(found)}.`)
    }
    for (const { table, parent } of database.prepare('pragma foreign_key_check').all().slice(0, MAXIMUM_TOLD)) {
      problems.push(`A row of ${String(table)} speaks of one in ${String(parent)} that is not there.`)
    }
    for (const row of database.prepare('select kid, public_jwk, private_jwk from signing_keys').all()) {
      const key = {
        kid: String(row['kid']),
        public_jwk: String(row['public_jwk']),
        private_jwk: String(row['private_jwk']),
      }
      if (!isWholeKey(key)) problems.push(brokenKeyText(key.kid))
    }
    const version = count(database, 'select max(version) as count from schema_versions')
    if (version > newestSchemaVersion) {
      const known = `this program knows ${newestSchemaVersion}`
      problems.push(`It has schema version ${version}, ${known}: it was written by a newer version.`)
    }
    return {
      organizations: count(database, 'select count(*) as count from organizations where removed_at is null'),
      users: count(database, 'select count(*) as count from users'),
      devices: count(database, 'select count(*) as count from devices'),
      problems,
    }
  } catch (error) {
    problems.push(`It can’t be read: ${error instanceof Error ? error.message : String(error)}.`)
    return { organizations: 0, users: 0, devices: 0, problems }
  } finally {
    database?.close()
  }
}

function count(database: DatabaseSync, query: string): number {
  return Number(database.prepare(query).get()?.['count'] ?? 0)
}
