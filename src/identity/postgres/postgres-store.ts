/** The store in a PostgreSQL that several processes share. */
import type { Kysely, Transaction } from 'kysely'
import type { Clock } from '../../clock.ts'
import type { Change } from '../store/changes.ts'
import type { Schema } from '../store/schema.ts'
import { unitOf } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import { lock } from './locks.ts'
import type { Outbox } from './outbox.ts'
import { isConflict } from './postgres-pool.ts'

/** A transaction that met a deadlock is run so often at most. */
const MAXIMUM_RUNS = 3

/**
 * A store whose changes run one after the other, within the process and among processes, and are
 * told in this order by the outbox.
 */
export function createPostgresStore(db: Kysely<Schema>, clock: Pick<Clock, 'now' | 'steady'>, outbox: Outbox): Store {
  // Within the process changes wait here, and not each with a connection of its own. The callers
  // wait; nothing else is kept for them.
  const inTurn = createTurns()
  const notesInTurn = createTurns()

  function locked<T>(name: 'changes' | 'notes', work: (trx: Transaction<Schema>) => Promise<T>): Promise<T> {
    return repeated(() =>
      db.transaction().execute(async (trx) => {
        await lock(trx, name)
        return work(trx)
      }),
    )
  }

  return {
    db,
    clock,
    dialect: 'postgres',
    readAtOnce: () => undefined,
    change: (actor, work) =>
      inTurn(async () => {
        const { outcome, written } = await locked('changes', async (trx) => {
          const emitted: Change[] = []
          const done = await work(unitOf(trx, clock, actor, emitted))
          return { outcome: done, written: emitted.length === 0 ? undefined : await outbox.write(trx, emitted) }
        })
        if (written !== undefined) outbox.committed(written)
        return outcome
      }),
    transaction: (work) => inTurn(() => locked('changes', work)),
    async note(work) {
      await notesInTurn(() => locked('notes', work))
    },
    beInTouch: () => (outbox.isTrusted ? undefined : outbox.poll()),
  }
}

async function repeated<T>(run: () => Promise<T>): Promise<T> {
  for (let runs = 1; ; runs += 1) {
    try {
      return await run()
    } catch (error) {
      if (!isConflict(error) || runs === MAXIMUM_RUNS) throw error
    }
  }
}

/** Runs works one after the other. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const own = last.then(work)
    last = own.catch(() => undefined)
    return own
  }
}
