/**
 * The port to the state that survives the process: the same store, and the same order of commits,
 * as the message log's.
 */
import type { Engine, StateChange, StateEntry } from '../../broker/ports/engine.ts'

/** Keys and values of one room; its keys begin with the room's own prefix. */
export interface DurableState {
  /**
   * Writes all of the changes or none. Resolves when they are owned as durably as messages are;
   * writes are owned in the order of the calls. Rejects when they can't be owned: the disk is full,
   * or fails.
   */
  write(changes: readonly StateChange[]): Promise<void>
  /**
   * What is stored under keys that begin so, by key. To be read to its end before the first
   * `write`.
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
