import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
} from 'kysely'
import { BoundedCache } from './bounded-cache.ts'

/**
 * How many prepared statements are kept. Statements with lists of varying length make new texts without end; those
 * go that were not used lately.
 */
const statementMaximum = 256
/** Turns that are over are forgotten so many at a time. */
const turnsKept = 1024

/**
 * Kysely over `node:sqlite`: one connection, a write-ahead log, and a sync to disk at each commit, so that a change
 * that was answered survives a power cut. Each statement runs at once and holds up the event loop while it does.
 */
export function createSqliteDialect(file: string): Dialect {
  return {
    createAdapter: () => new NodeSqliteAdapter(),
    createDriver: () => new NodeSqliteDriver({ database: () => Promise.resolve(openDatabase(file)) }),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

class NodeSqliteAdapter extends SqliteAdapter {
  /**
   * The driver hands its one connection to one after the other. Kysely's own lock would wake everybody who waits at
   * each release: quadratic work, which a burst of connections would turn into seconds.
   */
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

class NodeSqliteDriver extends SqliteDriver {
  /** Those who wait for the connection, first come first served. Each is one call in flight; nothing else is kept. */
  #waiting: (() => void)[] = []
  /** Where those begin that have not had their turn: taking them off the front would move all that follow. */
  #next = 0
  #isTaken = false

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
    if (this.#next === turnsKept) {
      this.#waiting.splice(0, turnsKept)
      this.#next = 0
    }
    next()
  }

  /** Takes the write lock at once: a transaction that reads first could not wait for another process's write. */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }
}

function openDatabase(file: string): SqliteDatabase {
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: true, timeout: 2000 })
  database.exec('pragma journal_mode = wal')
  database.exec('pragma synchronous = full')
  // 64 MB of pages: the upper levels of every index of a million devices.
  database.exec('pragma cache_size = -65536')
  const statements = new BoundedCache<SqliteStatement>(statementMaximum)
  return {
    close: () => database.close(),
    prepare(text) {
      const known = statements.get(text)
      if (known !== undefined) return known
      const statement = adapt(database.prepare(text))
      statements.set(text, statement)
      return statement
    },
  }
}

function adapt(statement: StatementSync): SqliteStatement {
  const reader = statement.columns().length > 0
  // The row ids that the text index gives itself are beyond what a number holds.
  if (!reader) statement.setReadBigInts(true)
  return {
    reader,
    all: (parameters) => statement.all(...(parameters as SQLInputValue[])),
    run: (parameters) => statement.run(...(parameters as SQLInputValue[])),
    iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
  }
}
