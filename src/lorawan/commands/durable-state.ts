/**
 * The port to the state that survives the process. It is in the same store as the message log, and
 * its writes are committed in the same order.
 */
import type { Engine, StateChange, StateEntry } from '../../broker/ports/engine.ts'

/** Keys and values of one room; the keys begin with the room's own prefix. */
export interface DurableState {
  /**
   * Writes all of the changes or none. Resolves when they are owned as durably as messages are, in
   * the order of the calls. Rejects when they can't be owned: the disk is full, or fails.
   */
  write(changes: readonly StateChange[]): Promise<void>
  /**
   * The entries whose keys begin with the prefix, in the order of their keys. The caller has to
   * read all of them before the first `write`.
   */
  load(prefix: string): AsyncIterable<StateEntry>
}

/** The durable state of an engine that is open. */
export function durableStateOf(engine: Pick<Engine, 'write' | 'load'>): DurableState {
  return {
    write: (changes) =>
      new Promise((resolve, reject) => {
        engine.write({ changes, committed: resolve, failed: ({ reason }) => reject(new Error(reason)) })
      }),
    load: (prefix) => engine.load(prefix),
  }
}
