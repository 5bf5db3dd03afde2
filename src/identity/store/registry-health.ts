/**
 * Whether the file of a registry is whole, as far as SQLite can tell. SQLite has no checksums, so
 * it does not see a changed value that still makes sense.
 */

/** Primary result codes of SQLite (https://sqlite.org/rescode.html). */
const SQLITE_READONLY = 8
const SQLITE_IOERR = 10
const SQLITE_CORRUPT = 11
const SQLITE_FULL = 13
const SQLITE_NOTADB = 26
/** No room for the file of shared memory that a write-ahead log needs: SQLITE_IOERR_SHMSIZE. */
const SQLITE_IOERR_SHMSIZE = SQLITE_IOERR | (19 << 8)

/** Thrown for a change of a registry whose file is damaged: a write could spread the damage. */
export class RegistryDamagedError extends Error {
  readonly code = 'registry_damaged'

  constructor() {
    super('the registry is damaged: nothing is changed until a backup is restored')
    this.name = 'RegistryDamagedError'
  }
}

/** The known problems of a registry's file. */
export class RegistryHealth {
  readonly #tell: (problems: readonly string[]) => void
  #problems: readonly string[] = []

  /** `tell` is called at the first damage. */
  constructor(tell: (problems: readonly string[]) => void) {
    this.#tell = tell
  }

  /** Sentences for people. Empty when no damage is known. */
  get problems(): readonly string[] {
    return this.#problems
  }

  /** Notes the problems that a check of the file found. */
  noteProblems(problems: readonly string[]): void {
    if (problems.length === 0 || this.#problems.length > 0) return
    this.#problems = problems.map((problem) => problem.replaceAll('\n', ' '))
    this.#tell(this.#problems)
  }

  /** Notes an error of SQLite that tells of damage. Other errors are ignored. */
  noteError(error: unknown): void {
    if (isDamage(error) && error instanceof Error) this.noteProblems([`${error.message}.`])
  }
}

/** True for an error by which SQLite says that the file is damaged, or is no database. */
export function isDamage(error: unknown): boolean {
  const code = primaryCodeOf(error)
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB || error instanceof RegistryDamagedError
}

/** True for an error by which SQLite refuses to change a file that may only be read. */
export function isReadOnly(error: unknown): boolean {
  return primaryCodeOf(error) === SQLITE_READONLY
}

/** True for an error by which SQLite says that the disk has no room for files that a read needs. */
export function isWithoutRoom(error: unknown): boolean {
  return codeOf(error) === SQLITE_IOERR_SHMSIZE || primaryCodeOf(error) === SQLITE_FULL
}

function primaryCodeOf(error: unknown): number | undefined {
  const code = codeOf(error)
  return code === undefined ? undefined : code & 0xff
}

function codeOf(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined
}
