/** Kysely over `node:sqlite`, with one connection for everybody. */
import { CompiledQuery, SqliteAdapter, SqliteDriver, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { DatabaseConnection, Dialect } from 'kysely'
import type { RegistryFile } from './registry-file.ts'
import { RegistryDamagedError } from './registry-health.ts'
import type { RegistryHealth } from './registry-health.ts'

/** Past entries of the queue that are kept before they are dropped at once. */
const TURNS_KEPT = 1024

/**
 * Kysely over `node:sqlite`: one connection, a write-ahead log, and a sync to disk at each commit,
 * so that a change that was answered survives a power cut. Each statement runs at once, and blocks
 * the event loop meanwhile. A file that is known to be damaged is not changed: transactions throw
 * RegistryDamagedError.
 */
export function createSqliteDialect(file: RegistryFile, health: RegistryHealth): Dialect {
  return {
    createAdapter: () => new NodeSqliteAdapter(),
    createDriver: () => new NodeSqliteDriver(file, health),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

class NodeSqliteAdapter extends SqliteAdapter {
  /**
   * The driver lends its one connection to one caller after the other. Kysely's own lock would wake
   * every waiting caller at each release: quadratic work, which a burst of connections would turn
   * into seconds.
   */
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

class NodeSqliteDriver extends SqliteDriver {
  /**
   * The callers that wait for the connection, first come first served. A caller is one call in
   * flight.
   */
  #waiting: (() => void)[] = []
  /**
   * The index of the first caller that still waits. Removing callers from the front would move all
   * that follow.
   */
  #next = 0
  #isTaken = false
  readonly #file: RegistryFile
  readonly #health: RegistryHealth

  constructor(file: RegistryFile, health: RegistryHealth) {
    super({ database: () => Promise.resolve(file) })
    this.#file = file
    this.#health = health
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#isTaken) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    this.#isTaken = true
    return super.acquireConnection()
  }

  override async releaseConnection(): Promise<void> {
    const next = this.#waiting[this.#next]
    if (next === undefined) {
      this.#waiting = []
      this.#next = 0
      this.#isTaken = false
      return
    }
    // The connection goes to the next caller without being free in between, so that no other caller
    // takes it first.
    this.#next += 1
    if (this.#next === TURNS_KEPT) {
      this.#waiting.splice(0, TURNS_KEPT)
      this.#next = 0
    }
    next()
  }

  /**
   * Takes the write lock at once. A transaction that reads first could not wait for another
   * process's write.
   */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#health.problems.length > 0) throw new RegistryDamagedError()
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  /**
   * On a full disk SQLite has rolled back by itself; a second rollback would fail and hide the
   * reason.
   */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#file.isInTransaction) await super.rollbackTransaction(connection)
  }
}
