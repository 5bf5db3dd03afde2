/** The states of the nodes, as an heir needs them. The engine over NATS has them. */
import type { StateEntry, StateRequest } from '../broker/ports/engine.ts'

export interface NodeSpaces {
  /** From here on nothing is stored that a process with this node's name writes. */
  fence(node: string): Promise<void>
  /** The entries of a fenced node, in the order of their keys. */
  stateOf(node: string): Promise<readonly StateEntry[]>
  /**
   * Removes the state that `stateOf` has read. A later process of the node may write already: its
   * state stays.
   */
  forgetStateOf(node: string): Promise<void>
  /** Writes to this node's own state. */
  write(request: StateRequest): void
}

/**
 * The key of the home of an entry's thing, by the entry's key. An heir takes the entries of things
 * whose home the dead node was. `all` takes the entry in any case, and undefined in no case.
 */
export type HomeKeyOf = (stateKey: string) => string | undefined
