/**
 * The one connection to the file of a registry. The file is opened so that it can be read on a full
 * disk, and it is watched for damage.
 */
import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { SQLInputValue, StatementSync } from 'node:sqlite'
import type { SqliteDatabase, SqliteStatement } from 'kysely'
import { BoundedCache } from '../../bounded-cache.ts'
import { isReadOnly, isWithoutRoom, RegistryDamagedError } from './registry-health.ts'
import type { RegistryHealth } from './registry-health.ts'

/**
 * Prepared statements that are kept. Statements with lists of varying length make new texts without
 * end; at the bound, the statements that were not used lately are dropped.
 */
const MAXIMUM_STATEMENT = 256
/**
 * How often the connection tries whether the disk has room again for the shared memory of the
 * write-ahead log.
 */
const REOPEN_MS = 1_000
/** How often a health check may read the file. */
const READ_AGAIN_MS = 5_000
/** Each commit is on disk before it is answered. */
const SYNCS_COMMITS = 'pragma synchronous = full'
/** A commit is in the write-ahead log, which a checkpoint syncs before it uses it. */
const SYNCS_CHECKPOINTS = 'pragma synchronous = normal'
/**
 * Pages of the write-ahead log that a checkpoint moves to the file. It stops the event loop for
 * some 3 ms, and for 20 with SQLite's own 1,000.
 */
const CHECKPOINT_PAGES = 250
/** Problems that are told. A damaged file can have thousands. */
const MAXIMUM_TOLD = 20

/**
 * Begins the text of a statement that a power cut may undo, because nobody was promised anything.
 * SQLite writes it, and syncs it with the next other statement: a sync stops the event loop for as
 * long as the disk takes. Inside a transaction the mark has no effect.
 */
export const UNSYNCED = '/* unsynced */'

export class RegistryFile implements SqliteDatabase {
  readonly #file: string
  readonly #health: RegistryHealth
  readonly #statements = new BoundedCache<SqliteStatement>(MAXIMUM_STATEMENT)
  #database: DatabaseSync
  /**
   * True while no other connection can read the file, and the index of the write-ahead log is in
   * memory instead of a file.
   */
  #isAlone = false
  #triedAtMs = 0
  #readAtMs = -Infinity

  /** Opens the file. Throws SQLite's errors. */
  constructor(file: string, health: RegistryHealth) {
    this.#file = file
    this.#health = health
    this.#database = this.#open()
  }

  get isInTransaction(): boolean {
    return this.#database.isTransaction
  }

  close(): void {
    this.#database.close()
  }

  prepare(text: string): SqliteStatement {
    if (this.#isAlone) this.#shareAgain()
    const known = this.#statements.get(text)
    if (known !== undefined) return known
    const statement = this.#adapt(
      this.#watched(() => this.#database.prepare(text)),
      text.trimStart().startsWith(UNSYNCED),
    )
    this.#statements.set(text, statement)
    return statement
  }

  /**
   * The rows of a query, read in the middle of other work. Undefined inside a transaction, whose
   * changes nobody may see yet, and when the read fails: the health has the reason of a damage.
   */
  readAtOnce(text: string, parameters: readonly unknown[]): readonly unknown[] | undefined {
    if (this.#database.isTransaction) return undefined
    try {
      return this.prepare(text).all(parameters)
    } catch {
      return undefined
    }
  }

  /** Checks every page, and notes problems in the health. Reads the whole file. */
  check(): void {
    try {
      const rows = this.#database.prepare(`pragma quick_check(${MAXIMUM_TOLD})`).all()
      const found = rows.map(({ quick_check: line }) => String(line)).filter((line) => line !== 'ok')
      this.#health.noteProblems(found.map((line) => `${line}.`))
    } catch (error) {
      this.#health.noteError(error)
    }
    this.#protect()
  }

  /** Notes damage that only the reader of a value can see. */
  noteProblem(problem: string): void {
    this.#health.noteProblems([problem])
    this.#protect()
  }

  /**
   * Reads a little of the file itself, past the pages in memory, every few seconds at most. Notes
   * problems in the health.
   */
  readAgain(): void {
    const nowMs = performance.now()
    if (this.#isAlone || this.#file === ':memory:' || nowMs - this.#readAtMs < READ_AGAIN_MS) return
    this.#readAtMs = nowMs
    let other: DatabaseSync | undefined
    try {
      other = new DatabaseSync(this.#file, { readOnly: true })
      for (const table of ['users', 'organizations', 'applications', 'devices', 'tokens']) {
        other.prepare(`select * from ${table} limit 1`).get()
      }
    } catch (error) {
      this.#health.noteError(error)
    } finally {
      other?.close()
    }
    this.#protect()
  }

  /**
   * Writes a copy of the whole registry to a new file, which only the service's own user may read.
   * A file that is there already is left as it is. Throws the errors of SQLite and of the disk.
   */
  saveAs(path: string): void {
    if (existsSync(path)) return
    const partial = `${path}.partial`
    rmSync(partial, { force: true })
    closeSync(openSync(partial, 'wx', 0o600))
    this.#database.prepare('vacuum into ?').run(partial)
    renameSync(partial, path)
  }

  /** Forbids changes of a damaged file: a write could spread the damage. */
  #protect(): void {
    if (this.#health.problems.length > 0 && !this.#database.isTransaction) this.#database.exec('pragma query_only = on')
  }

  #open(): DatabaseSync {
    try {
      this.#isAlone = false
      return opened(this.#file, '')
    } catch (error) {
      if (!isWithoutRoom(error)) throw error
      // The disk is full, but its files can be read.
      this.#isAlone = true
      this.#triedAtMs = performance.now()
      return opened(this.#file, 'pragma locking_mode = exclusive')
    }
  }

  /**
   * Ends the sole use of the file: backups and `fieldgate check` read it beside this connection.
   */
  #shareAgain(): void {
    if (this.#database.isTransaction || performance.now() - this.#triedAtMs < REOPEN_MS) return
    this.#statements.clear()
    this.#database.close()
    this.#database = this.#open()
    this.#protect()
  }

  #adapt(statement: StatementSync, isUnsynced: boolean): SqliteStatement {
    const reader = statement.columns().length > 0
    // The row ids of the text index itself are greater than a number can hold.
    if (!reader) statement.setReadBigInts(true)
    const runs = <Result>(run: () => Result): Result => this.#watched(isUnsynced ? () => this.#unsynced(run) : run)
    return {
      reader,
      all: (parameters) => runs(() => statement.all(...(parameters as SQLInputValue[]))),
      run: (parameters) => runs(() => statement.run(...(parameters as SQLInputValue[]))),
      iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
    }
  }

  /** Nothing else runs meanwhile: the statement is over when the call returns. */
  #unsynced<Result>(run: () => Result): Result {
    if (this.#database.isTransaction) return run()
    this.#database.exec(SYNCS_CHECKPOINTS)
    try {
      return run()
    } finally {
      this.#database.exec(SYNCS_COMMITS)
    }
  }

  #watched<Result>(run: () => Result): Result {
    try {
      return run()
    } catch (error) {
      this.#health.noteError(error)
      this.#protect()
      throw this.#health.problems.length > 0 && isReadOnly(error) ? new RegistryDamagedError() : error
    }
  }
}

function opened(file: string, first: string): DatabaseSync {
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: true, timeout: 2000 })
  try {
    if (first !== '') database.exec(first)
    database.exec('pragma journal_mode = wal')
    database.exec(SYNCS_COMMITS)
    database.exec(`pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
    // 64 MB of pages: enough for the upper levels of every index of a million devices.
    database.exec('pragma cache_size = -65536')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}
