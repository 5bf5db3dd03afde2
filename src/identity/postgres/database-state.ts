/** The state of the registry's PostgreSQL, for people. */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { Schema } from '../store/schema.ts'
import type { PostgresAddress } from './postgres-pool.ts'

/** The database, and the standbys that follow it. */
export interface DatabaseState {
  /** Host and port as the settings name them. */
  readonly name: string
  readonly version: string
  /** How long the question took, ms. */
  readonly answerMs: number
  /** Servers that receive its changes as they happen. */
  readonly standbys: number
  /**
   * Bytes of the log that the slowest standby has not replayed. Undefined without standbys, and
   * where the role may not read it (`pg_monitor`).
   */
  readonly lagBytes: number | undefined
}

interface Row {
  readonly version: string
  readonly standbys: number
  readonly lag: number | null
}

/** Rejects when the database does not answer, or does not write. */
export async function readDatabase(
  db: Kysely<Schema>,
  { url }: Pick<PostgresAddress, 'url'>,
  clock: { steady(): number },
): Promise<DatabaseState> {
  const since = clock.steady()
  const { rows } = await sql<Row>`select current_setting('server_version') as version,
    (select count(*) from pg_stat_replication)::int as standbys,
    (select max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)) from pg_stat_replication)::float8 as lag`.execute(db)
  const { version = '', standbys = 0, lag = null } = rows[0] ?? {}
  const answerMs = clock.steady() - since
  return { name: new URL(url).host, version, answerMs, standbys, lagBytes: lag ?? undefined }
}
