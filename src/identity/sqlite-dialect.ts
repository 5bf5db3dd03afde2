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

/**
 * How many prepared statements are kept. Statements with lists of varying length make new texts without end; the one
 * that was not used for longest goes.
 */
const statementMaximum = 256

/**
 * Kysely over `node:sqlite`: one connection, a write-ahead log, and a sync to disk at each commit, so that a change
 * that was answered survives a power cut. Each statement runs at once and holds up the event loop while it does.
 */
export function createSqliteDialect(file: string): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new NodeSqliteDriver({ database: () => Promise.resolve(openDatabase(file)) }),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

class NodeSqliteDriver extends SqliteDriver {
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
  const statements = new Map<string, SqliteStatement>()
  return {
    close: () => database.close(),
    prepare(text) {
      const statement = statements.get(text) ?? adapt(database.prepare(text))
      statements.delete(text)
      statements.set(text, statement)
      if (statements.size > statementMaximum) {
        for (const oldest of statements.keys()) {
          statements.delete(oldest)
          break
        }
      }
      return statement
    },
  }
}

function adapt(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...(parameters as SQLInputValue[])),
    run: (parameters) => statement.run(...(parameters as SQLInputValue[])),
    iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
  }
}
