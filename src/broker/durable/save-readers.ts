/**
 * Saves the readers that have changed, for a checkpoint. The records of each tenant wait for room
 * in its share, and are made when there is some.
 */
import type { Clock } from '../../clock.ts'
import type { EngineFailure, StateChange } from '../ports/engine.ts'
import type { Reader, ReaderChanges } from '../sessions/reader.ts'
import { Session } from '../sessions/session.ts'
import type { StateWay } from './state-way.ts'
import { putBack, unsavedSubscriptions } from './unsaved-subscriptions.ts'

/**
 * Readers saved in one turn of the event loop, so that a checkpoint of very many Sessions delays no
 * other work.
 */
const READERS_PER_TURN = 256
/**
 * Bytes of records in one write: the records of a thousand subscriptions take a megabyte, and a few
 * ms to encode.
 */
const BYTES_PER_WRITE = 65_536

export interface SaveReadersParts {
  readonly way: StateWay
  readonly clock: Pick<Clock, 'afterTurn'>
  readonly changes: ReaderChanges
  /** The engine does not own the records of these readers: they are to be saved later. */
  readonly refused: (readers: readonly Reader[], failure: EngineFailure) => void
}

/** Resolves when the engine has answered for all of the readers. True: it owns all of them. */
export async function saveReaders(readers: readonly Reader[], parts: SaveReadersParts): Promise<boolean> {
  // Members before their groups: a message that a group has given away must be found with the
  // member.
  const sorted = readers.toSorted((a, b) => Number(a.isSavedLast) - Number(b.isSavedLast))
  const saving: Promise<boolean>[] = []
  let count = 0
  for (const [tenant, own] of Map.groupBy(sorted, (reader) => reader.tenant)) {
    for (const group of groupsOf(own)) {
      // The loop does not wait for the write: each tenant's writes keep their order.
      saving.push(saveGroup(tenant, group, parts))
      count += group.length
      if (count < READERS_PER_TURN) continue
      count = 0
      await new Promise<void>((resolve) => parts.clock.afterTurn(resolve))
    }
  }
  const saved = await Promise.all(saving)
  return saved.every(Boolean)
}

/** The readers in groups, each for one write. */
function* groupsOf(readers: readonly Reader[]): Generator<readonly Reader[]> {
  let group: Reader[] = []
  let bytes = 0
  for (const reader of readers) {
    group.push(reader)
    bytes += reader.recordBytes
    if (group.length < READERS_PER_TURN && bytes < BYTES_PER_WRITE) continue
    yield group
    group = []
    bytes = 0
  }
  if (group.length > 0) yield group
}

function saveGroup(tenant: string, readers: readonly Reader[], parts: SaveReadersParts): Promise<boolean> {
  return new Promise((resolve) => {
    const refused = (failure: EngineFailure): void => {
      parts.refused(readers, failure)
      resolve(false)
    }
    const run = (): void => {
      const changes: StateChange[] = []
      const taken: [Session, ReadonlySet<string>][] = []
      for (const reader of readers) {
        reader.isUnsaved = false
        // While it waited, the reader may have become one that ends with its connection.
        if (!reader.isKept) continue
        if (reader instanceof Session) taken.push([reader, unsavedSubscriptions(reader)])
        changes.push(...reader.changes(parts.changes))
      }
      const failed = (failure: EngineFailure): void => {
        for (const [session, topicFilters] of taken) putBack(session, topicFilters)
        refused(failure)
      }
      if (changes.length === 0) resolve(true)
      else parts.way.write(tenant, { changes, committed: () => resolve(true), failed })
    }
    const bytes = readers.reduce((sum, { recordBytes }) => sum + recordBytes, 0)
    parts.way.whenRoom(tenant, bytes, run, (failure) => {
      for (const reader of readers) reader.isUnsaved = false
      refused(failure)
    })
  })
}
