/** Copies a registry from a file of SQLite into an empty PostgreSQL. */
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import type { Kysely, Transaction } from 'kysely'
import { openPostgresDatabase, preparePostgres } from './postgres-registry.ts'
import { lock } from './postgres/locks.ts'
import type { PostgresAddress } from './postgres/postgres-pool.ts'
import { checkRegistry } from './store/check-registry.ts'
import { newestSchemaVersion } from './store/migrations.ts'
import type { Schema } from './store/schema.ts'

/** A transfer that can't be made. The message is for people; nothing was copied. */
export class TransferRefused extends Error {
  readonly code = 'transfer_refused'
}

/**
 * The tables, each behind those that it refers to. The number of entries of the audit's holders is
 * kept by the database itself, and so is the search of devices.
 */
const TABLES = [
  'users',
  'organizations',
  'organization_bounds',
  'members',
  'applications',
  'devices',
  'service_credentials',
  'network_servers',
  'webhooks',
  'device_profiles',
  'device_profile_versions',
  'registration_rules',
  'library_scripts',
  'library_profiles',
  'inventory_steps',
  'metrics_tokens',
  'api_keys',
  'broker_tokens',
  'signing_keys',
  'second_factors',
  'recovery_codes',
  'audit_entries',
] as const satisfies readonly (keyof Schema)[]

/** The tables whose rows are numbered, and never get a number again. */
const NUMBERED = ['users', 'organizations', 'applications', 'devices', 'audit_entries'] as const

/** Rows of one statement. PostgreSQL takes 65,535 values; a device has 18. */
const BATCH = 500

/** The two ends of a transfer. */
export interface TransferOptions {
  /** The file of a registry that no process has open. It stays as it is. */
  readonly file: string
  readonly to: PostgresAddress
  readonly nowMs: number
  /** Is called now and then with the number of rows of the table that were copied. */
  readonly onProgress: (table: string, rows: number) => void
}

/**
 * Copies all tables in one transaction, and compares the counts before its end. Returns the number
 * of rows of each table. Throws TransferRefused, and RegistryError when the database can't be used.
 */
export async function transferRegistry(options: TransferOptions): Promise<ReadonlyMap<string, number>> {
  const { file, to, nowMs } = options
  const { problems } = checkRegistry(file)
  if (problems.length > 0) throw new TransferRefused(`${file} can’t be taken over: ${problems.join(' ')}`)
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    const version = Number(source.prepare('select max(version) as version from schema_versions').get()?.['version'])
    if (version !== newestSchemaVersion) {
      throw new TransferRefused(
        `${file} has schema version ${version}, this program knows ${newestSchemaVersion}: start and stop this version once with it`,
      )
    }
    const db = await openPostgresDatabase(to, () => undefined)
    try {
      await preparePostgres(db, to, nowMs)
      return await db.transaction().execute(async (trx) => {
        await lock(trx, 'changes')
        await refuseFull(trx)
        const counts = new Map<string, number>()
        for (const table of TABLES) counts.set(table, await copyTable(source, trx, table, options.onProgress))
        for (const table of NUMBERED) await continueNumbers(source, trx, table)
        return counts
      })
    } finally {
      await db.destroy()
    }
  } finally {
    source.close()
  }
}

async function refuseFull(trx: Transaction<Schema>): Promise<void> {
  for (const table of TABLES) {
    if ((await countOf(trx, table)) === 0) continue
    throw new TransferRefused(`the database is not empty: its table ${table} has rows. Nothing was copied`)
  }
}

async function copyTable(
  source: DatabaseSync,
  trx: Transaction<Schema>,
  table: (typeof TABLES)[number],
  onProgress: TransferOptions['onProgress'],
): Promise<number> {
  let copied = 0
  let batch: Record<string, unknown>[] = []
  const write = async (): Promise<void> => {
    if (batch.length === 0) return
    await trx.insertInto(table).values(batch).execute()
    copied += batch.length
    batch = []
    onProgress(table, copied)
  }
  for (const row of source.prepare(`select * from ${table}`).iterate()) {
    batch.push(row)
    if (batch.length === BATCH) await write()
  }
  await write()
  const there = await countOf(trx, table)
  if (there !== copied) {
    throw new TransferRefused(`${there} of ${copied} rows of ${table} arrived. Nothing was copied`)
  }
  return copied
}

/** The next row gets a number that no row ever had, also none that was removed. */
async function continueNumbers(
  source: DatabaseSync,
  trx: Transaction<Schema>,
  table: (typeof NUMBERED)[number],
): Promise<void> {
  const last = Number(source.prepare('select seq from sqlite_sequence where name = ?').get(table)?.['seq'] ?? 0)
  if (last < 1) return
  await sql`select setval(pg_get_serial_sequence(${table}, 'id'), ${last})`.execute(trx)
}

async function countOf(db: Kysely<Schema>, table: (typeof TABLES)[number]): Promise<number> {
  const { count } = await db
    .selectFrom(table)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}
