/** The advisory locks in the registry's database, by which processes wait for each other. */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { Schema } from '../store/schema.ts'

/** The first key of each lock, so that locks of other programs in the database are others. */
const FIELDGATE = 0x46_47_41_54

/** The second keys. */
const LOCKS = { changes: 1, notes: 2, start: 3 } as const

/** Waits for the lock, and holds it until the end of the transaction. */
export async function lock(trx: Kysely<Schema>, name: keyof typeof LOCKS): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sql.lit(FIELDGATE)}, ${sql.lit(LOCKS[name])})`.execute(trx)
}
