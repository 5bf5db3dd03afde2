/**
 * Notes about many devices, in several statements: none of them may hold up the messages. The next
 * event of a device, or the next look at its state, makes up for a note that is lost.
 */
import { sql } from 'kysely'
import { systemClock } from '../../clock.ts'
import type { Clock } from '../../clock.ts'
import { Pauses } from '../../pauses.ts'
import { UNSYNCED } from '../store/registry-file.ts'
import type { Store } from '../store/store.ts'
import { batchesOf } from './batches.ts'

/**
 * Notes of one statement in SQLite, which holds up the event loop: a hundred of them took up to 5
 * ms beside other work.
 */
const SQLITE_NOTES = 25
/** Notes of one statement in PostgreSQL, which works in a process of its own. */
const POSTGRESQL_NOTES = 400
/** Notes in SQLite take at most an eighth of the time. */
const PAUSES = { factor: 7, maximumMs: 50 }

/** Begins each statement of notes: a power cut may undo them. */
export const unsynced = sql.raw(UNSYNCED)

/**
 * Writes the notes in order, some in each statement. In SQLite the writing pauses between the
 * statements, unless it is urgent: then the event loop only turns.
 */
export async function writeNotes<Note>(
  store: Store,
  notes: readonly Note[],
  write: (some: readonly Note[]) => Promise<void>,
  { isUrgent = false, clock = systemClock }: { readonly isUrgent?: boolean; readonly clock?: Clock } = {},
): Promise<void> {
  const isSqlite = store.dialect === 'sqlite'
  const pauses = new Pauses(clock, isSqlite && !isUrgent ? PAUSES : { factor: 0, maximumMs: 0 })
  let isFirst = true
  for (const some of batchesOf(notes, isSqlite ? SQLITE_NOTES : POSTGRESQL_NOTES)) {
    if (!isFirst) await pauses.pause()
    isFirst = false
    await write(some)
  }
}
