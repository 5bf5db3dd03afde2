import { CompiledQuery, SqliteAdapter, SqliteDriver, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { DatabaseConnection, Dialect } from 'kysely'
import type { RegistryFile } from './registry-file.ts'
import { RegistryDamagedError } from './registry-health.ts'
import type { RegistryHealth } from './registry-health.ts'

/** Turns that are over are forgotten so many at a time. */
const TURNS_KEPT = 1024

/**
 * Kysely over `node:sqlite`: one connection, a write-ahead log, and a sync to disk at each commit,
 * so that a change that was answered survives a power cut. Each statement runs at once and holds up
 * the event loop while it does. Of a file that is known to be damaged nothing is changed:
 * transactions throw RegistryDamagedError.
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
   * The driver hands its one connection to one after the other. Kysely's own lock would wake
   * everybody who waits at each release: quadratic work, which a burst of connections would turn
   * into seconds.
   */
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

class NodeSqliteDriver extends SqliteDriver {
  /**
   * Those who wait for the connection, first come first served. Each is one call in flight; nothing
   * else is kept.
   */
  #waiting: (() => void)[] = []
  /**
   * Where those begin that have not had their turn: taking them off the front would move all that
   * follow.
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
    // Handed over without being free in between, so that nobody slips in.
    this.#next += 1
    if (this.#next === TURNS_KEPT) {
      this.#waiting.splice(0, TURNS_KEPT)
      this.#next = 0
    }
    next()
  }

  /**
   * Takes the write lock at once: a transaction that reads first could not wait for another
   * process's write.
   */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#health.problems.length > 0) throw new RegistryDamagedError()
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  /** SQLite has rolled back by itself where the disk is full; saying so would hide the reason. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#file.isInTransaction) await super.rollbackTransaction(connection)
  }
}
