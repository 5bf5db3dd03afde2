/**
 * The port to the state that survives the process. It is in the same store as the message log, and
 * its writes are committed in the same order.
 */
import type { Engine, StateChange, StateEntry } from '../../broker/ports/engine.ts'

/** Keys and values of one room; the keys begin with the room's own prefix. */
export interface DurableState {
  /**
   * Writes all of the changes or none. Resolves when they are owned as durably as messages are, in
   * the order of the calls for the same organization. Rejects when they can't be owned: the disk is
   * full, or fails. `organizationId` is the organization whose share of the log they take; absent:
   * they are the service's own.
   */
  write(changes: readonly StateChange[], organizationId?: string): Promise<void>
  /**
   * The entries whose keys begin with the prefix, in the order of their keys. The caller has to
   * read all of them before the first `write`.
   */
  load(prefix: string): AsyncIterable<StateEntry>
}

/** Gives the stored entries whose keys begin with a prefix. */
export type LoadedState = DurableState['load']

/** The durable state of an engine that is open. `ownerOf` names an organization to the engine. */
export function durableStateOf(
  engine: Pick<Engine, 'write' | 'load'>,
  ownerOf: (organizationId: string) => string,
): DurableState {
  return {
    write: (changes, organizationId) =>
      new Promise((resolve, reject) => {
        const owner = organizationId === undefined ? undefined : ownerOf(organizationId)
        engine.write({ changes, owner, committed: resolve, failed: ({ reason }) => reject(new Error(reason)) })
      }),
    load: (prefix) => engine.load(prefix),
  }
}
