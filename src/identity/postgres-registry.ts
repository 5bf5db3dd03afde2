/** Opens a registry in PostgreSQL. Loaded only when it is asked for. */
import { Kysely, PostgresDialect, sql } from 'kysely'
import { createSharedLoginThrottle } from './people/shared-login-throttle.ts'
import { readDatabase } from './postgres/database-state.ts'
import { lock } from './postgres/locks.ts'
import { Outbox } from './postgres/outbox.ts'
import type { ChangeFeed } from './postgres/outbox.ts'
import { postgresMigrationDialect, postgresMigrations } from './postgres/postgres-migrations.ts'
import { createPostgresPool } from './postgres/postgres-pool.ts'
import type { PostgresAddress } from './postgres/postgres-pool.ts'
import { createPostgresStore } from './postgres/postgres-store.ts'
import type { OpenedStore, RegistryLog } from './registry.ts'
import type { Change } from './store/changes.ts'
import { migrate, RegistryError } from './store/migrations.ts'
import type { Schema } from './store/schema.ts'
import type { RegistryClock } from './store/store.ts'
import { brokenKeyText } from './store/stored-key.ts'

/** PostgreSQL 14 is the oldest version that is still maintained by its project. */
const OLDEST_VERSION = 14

interface Options {
  readonly postgres: PostgresAddress
  readonly feed?: ChangeFeed
  readonly clock: RegistryClock
  readonly log?: RegistryLog
}

/** Opens the database without the registry's parts. The caller calls `destroy`. */
export async function openPostgresDatabase(
  address: PostgresAddress,
  onError: (error: unknown) => void,
): Promise<Kysely<Schema>> {
  try {
    return new Kysely<Schema>({ dialect: new PostgresDialect({ pool: await createPostgresPool(address, onError) }) })
  } catch (error) {
    throw unusable(address, error)
  }
}

/**
 * Brings the schema up to date. Throws RegistryError `registry_newer`, or `registry_unusable` when
 * the database can't be reached or is too old.
 */
export async function preparePostgres(db: Kysely<Schema>, address: PostgresAddress, nowMs: number): Promise<void> {
  try {
    await checkVersion(db)
    await migrate(db, nowMs, postgresMigrations, postgresMigrationDialect)
  } catch (error) {
    throw error instanceof RegistryError ? error : unusable(address, error)
  }
}

/**
 * Opens the store, and follows the changes of other processes from here on. Throws RegistryError
 * `registry_newer` or `registry_unusable`.
 */
export async function openPostgresStore(
  { postgres, feed, clock, log }: Options,
  changes: { readonly emit: (change: Change) => void },
): Promise<OpenedStore> {
  const db = await openPostgresDatabase(postgres, (error) => log?.warn({ err: error }, 'registry.connection_lost'))
  const outbox = new Outbox({
    db,
    clock,
    tell: (change) => changes.emit(change),
    feed,
    onReach: (error) =>
      error === undefined ? log?.warn({}, 'registry.reached') : log?.error({ err: error }, 'registry.unreachable'),
  })
  try {
    await preparePostgres(db, postgres, clock.now())
    await outbox.open()
  } catch (error) {
    await outbox.close()
    await db.destroy()
    throw error
  }
  const store = createPostgresStore(db, clock, outbox)
  return {
    store,
    onBrokenKey: (kid) => log?.error({ problems: [brokenKeyText(kid)] }, 'registry.damaged'),
    throttle: createSharedLoginThrottle(store),
    alone: (work) =>
      db.transaction().execute(async (trx) => {
        await lock(trx, 'start')
        await work()
      }),
    database: () => readDatabase(db, postgres, clock),
    health: () => (outbox.isReachable ? '' : 'the registry’s database can’t be reached'),
    async close() {
      await outbox.close()
      await db.destroy()
    },
  }
}

async function checkVersion(db: Kysely<Schema>): Promise<void> {
  const { rows } = await sql<{
    readonly version: string
  }>`select current_setting('server_version_num') as version`.execute(db)
  const major = Math.floor(Number(rows[0]?.version) / 10_000)
  if (major >= OLDEST_VERSION) return
  throw new RegistryError(
    'registry_unusable',
    `PostgreSQL ${major} is too old: the registry needs ${OLDEST_VERSION} or newer`,
  )
}

function unusable({ url }: PostgresAddress, cause: unknown): RegistryError {
  const { host, pathname } = new URL(url)
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new RegistryError('registry_unusable', `the registry ${host}${pathname} can’t be opened: ${reason}`, { cause })
}
