/**
 * How a process takes the place of its node. It becomes the heir of the node’s earlier process, and
 * has that one’s state as it is, unless a node with another name has it already.
 *
 * The record of the process comes first, then the heir in the record of the earlier one, and the
 * node’s name last. A process that dies in between leaves nothing wrong: it has no state to leave
 * before it is the heir.
 */
import type { Clock } from '../clock.ts'
import { later } from '../clock.ts'
import type { NodeId } from '../nodes.ts'
import { isAtHome } from './node-records.ts'
import type { KnownRecord, NodeRecords } from './node-records.ts'

const TAKE_MS = 60_000
const AGAIN_MS = 200

/** The state that is stored for the node is its own, or an heir with another name has it. */
type StoredState = 'own' | 'foreign'

export interface PlaceTakingOptions {
  readonly records: NodeRecords
  readonly clock: Clock
  readonly self: NodeId
  /** The process is heard, or may be heard soon. */
  readonly isAlive: (incarnation: string) => boolean
  /** The present end of the claims, as a fence for a dead process. */
  readonly fence: () => Promise<number>
}

export class PlaceTaking {
  readonly #options: PlaceTakingOptions
  #isHeir = false

  constructor(options: PlaceTakingOptions) {
    this.#options = options
  }

  /** Waits for an heir that is at work. Throws a sentence for people after 60 s. */
  async take(): Promise<StoredState> {
    const { records, clock, self } = this.#options
    await records.change(self.incarnation, { name: self.name, state: 'living' }, 0)
    await records.look()
    const deadline = later(clock.steady(), TAKE_MS)
    for (;;) {
      const stored = await this.#try()
      if (stored !== undefined) return stored
      if (clock.steady() >= deadline) {
        await this.#giveUp()
        throw new Error(`Another node is still taking over the state of the node “${self.name}”.`)
      }
      await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve))
    }
  }

  /** Undefined: try again. */
  async #try(): Promise<StoredState | undefined> {
    const { records, self } = this.#options
    const last = await records.readName(self.name)
    let stored: StoredState = 'own'
    if (last.incarnation !== undefined) {
      const holder = await records.readHolder(last.incarnation)
      const known = records.get(holder)
      if (known?.record.name !== self.name) {
        if (await this.#isBeingMerged(last.incarnation)) return undefined
        stored = 'foreign'
      } else if (holder !== self.incarnation && !(await this.#inherit(known))) return undefined
    }
    return (await records.changeName(self.name, self.incarnation, last.sequence)) ? stored : undefined
  }

  /** Takes the state of an earlier process of the node. False: try again. */
  async #inherit({ incarnation, record, sequence }: KnownRecord): Promise<boolean> {
    const { records, self, fence } = this.#options
    const { heir, stage } = record
    // A living heir copies the state at the moment.
    if (stage === 'named' && heir !== undefined && heir !== self.incarnation && this.#isAtWork(heir)) return false
    this.#isHeir = true
    const named = { ...record, heir: self.incarnation, stage: 'named' } as const
    if (!(await records.change(incarnation, named, sequence))) return false
    const taken = { ...named, stage: 'copied', fence: record.fence ?? (await fence()) } as const
    const known = records.get(incarnation)
    return known?.record.heir === self.incarnation && (await records.change(incarnation, taken, known.sequence))
  }

  /** A living heir with another name has the state of this process, and is not done with it. */
  async #isBeingMerged(first: string): Promise<boolean> {
    const { records, self } = this.#options
    for (let at = first; ;) {
      const known = await records.read(at)
      if (known === undefined || known.record.name !== self.name) return false
      const { heir, stage } = known.record
      if (heir === undefined) return false
      if (stage !== 'merged' && records.get(heir)?.record.name !== self.name) return this.#isAtWork(heir)
      at = heir
    }
  }

  #isAtWork(heir: string): boolean {
    const record = this.#options.records.get(heir)?.record
    return (record === undefined || isAtHome(record)) && this.#options.isAlive(heir)
  }

  /** Leaves a record that nobody looks at again, unless this process is an heir already. */
  async #giveUp(): Promise<void> {
    const { records, self } = this.#options
    const own = await records.read(self.incarnation)
    if (own === undefined || this.#isHeir) return
    await records.change(own.incarnation, { ...own.record, state: 'left', stage: 'merged' }, own.sequence)
  }
}
