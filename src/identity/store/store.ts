/** The store: the tables of the registry, and the one way to change them. */
import type { CompiledQuery, Kysely, Transaction } from 'kysely'
import { writeAuditEntry } from './audit-log.ts'
import type { Change } from './changes.ts'
import type { Clock } from '../../clock.ts'
import type { RegistryFile } from './registry-file.ts'
import type { Actor } from './result.ts'
import type { Schema } from './schema.ts'

/** The tools of a change. */
export interface Unit {
  readonly trx: Transaction<Schema>
  readonly nowMs: number
  /** The same by the clock that stamps events. */
  readonly nowOfEventsMs: number
  /**
   * Notes the deed in the audit, in the same transaction, and returns the id of the entry. A deed
   * of several transactions has one entry: each later transaction gives the `entryId` that the
   * first transaction got. The id of a transaction that failed must not be given: another entry may
   * have got that id since.
   */
  readonly audit: (
    action: string,
    subject: string,
    organizationId: string | null,
    detail?: Record<string, unknown>,
    entryId?: number,
  ) => Promise<number>
  /** Tells of the change once it is on disk. */
  readonly emit: (change: Change) => void
}

/** The clocks of a registry. */
export interface RegistryClock extends Pick<Clock, 'now' | 'steady'> {
  /**
   * The time of day by the clock that stamps events, ms since 1970, where that is not the clock of
   * this process.
   */
  readonly nowOfEvents?: () => number
}

/** The tables, and the one way to change them. */
export interface Store {
  readonly db: Kysely<Schema>
  readonly clock: RegistryClock
  /** SQLite belongs to one process; several processes may share a PostgreSQL. */
  readonly dialect: 'sqlite' | 'postgres'
  /**
   * Reads the rows of a compiled query at once, without a Promise: for questions that packets wait
   * for. Undefined where this is not possible now, because the database is elsewhere, is inside a
   * transaction, or fails. Then `db` is to be asked.
   */
  readAtOnce<Row>(query: CompiledQuery<Row>): readonly Row[] | undefined
  /**
   * Runs `work` as one transaction, then tells of its changes. Changes run one after the other,
   * also those of several processes. If `work` throws, nothing has happened. `work` may run twice:
   * the first run is then undone. `work` must not use `db`, which waits for the transaction to end,
   * nor wait for anything slow: all other callers would wait too.
   */
  change<T>(actor: Actor, work: (unit: Unit) => Promise<T>): Promise<T>
  /** Like `change`, for a deed without an actor that nobody is told of. */
  transaction<T>(work: (trx: Kysely<Schema>) => Promise<T>): Promise<T>
  /**
   * Runs one statement that is no change: a note that nobody decides by. It does not wait for
   * changes of other processes.
   */
  note(work: (db: Kysely<Schema>) => Promise<unknown>): Promise<void>
  /**
   * Resolves when the facts in memory may be answered from: at once, unless the changes of other
   * processes could not be asked for lately. Throws RegistryUnavailableError when they still can't.
   */
  beInTouch(): Promise<void> | undefined
}

/** The unit of a transaction; its changes go to `emitted`. */
export function unitOf(trx: Transaction<Schema>, clock: RegistryClock, actor: Actor, emitted: Change[]): Unit {
  const nowMs = clock.now()
  return {
    trx,
    nowMs,
    nowOfEventsMs: clock.nowOfEvents?.() ?? nowMs,
    audit: (action, subject, organizationId, detail, entryId) =>
      writeAuditEntry(trx, nowMs, actor, { action, subject, organizationId, detail: detail ?? {} }, entryId),
    emit: (change) => emitted.push(change),
  }
}

/** A store in SQLite that tells of its changes by `emit`. */
export function createStore(
  db: Kysely<Schema>,
  file: Pick<RegistryFile, 'readAtOnce'>,
  clock: Store['clock'],
  emit: (change: Change) => void,
): Store {
  return {
    db,
    clock,
    dialect: 'sqlite',
    readAtOnce: <Row>({ sql, parameters }: CompiledQuery<Row>) =>
      file.readAtOnce(sql, parameters) as readonly Row[] | undefined,
    async change(actor, work) {
      const emitted: Change[] = []
      const outcome = await db.transaction().execute((trx) => work(unitOf(trx, clock, actor, emitted)))
      for (const change of emitted) emit(change)
      return outcome
    },
    transaction: (work) => db.transaction().execute(work),
    async note(work) {
      await work(db)
    },
    beInTouch: () => undefined,
  }
}
