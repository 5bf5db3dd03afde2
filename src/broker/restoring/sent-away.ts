/**
 * The Sessions whose clients were sent away by a node that drains. Other nodes are about to ask for
 * them. A node that ended before would leave them to its heir, and the clients would wait until the
 * heir has all of the node's state.
 */
import { later } from '../../clock.ts'
import type { Clock, SteadyMs } from '../../clock.ts'
import type { Nodes } from '../../nodes.ts'

/** Clients come back within this time; the heir has the Sessions of those that don't, ms. */
const TAKEN_MS = 2_000
/** Time between two looks, ms. */
const LOOK_MS = 20

export class SentAway {
  readonly #nodes: Nodes
  readonly #clock: Clock
  /**
   * By key of the Session: until when another node may ask for it. In the order of these times. The
   * connections of the last 2 s bound it.
   */
  readonly #until = new Map<string, SteadyMs>()

  constructor(nodes: Nodes, clock: Clock) {
    this.#nodes = nodes
    this.#clock = clock
  }

  /** The client of the Session with this key was sent away. */
  add(key: string): void {
    this.#forgetLate()
    this.#until.delete(key)
    this.#until.set(key, later(this.#clock.steady(), TAKEN_MS))
  }

  /** Another node has the Session. */
  taken(key: string): void {
    this.#until.delete(key)
  }

  /**
   * Resolves when other nodes have taken all Sessions whose clients were sent away of late, 2 s
   * after the last one, or at once when no other node takes clients.
   */
  async allTaken(): Promise<void> {
    const { incarnation: self } = this.#nodes.bus.self
    for (;;) {
      this.#forgetLate()
      if (this.#until.size === 0) return
      if (!this.#nodes.living().some(({ incarnation, isReady }) => isReady && incarnation !== self)) return
      await new Promise<void>((resolve) => void this.#clock.after(LOOK_MS, resolve))
    }
  }

  #forgetLate(): void {
    const now = this.#clock.steady()
    for (const [key, until] of this.#until) {
      if (until > now) return
      this.#until.delete(key)
    }
  }
}
