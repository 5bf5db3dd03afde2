/**
 * Makes this node the heir of dead ones. Each second it looks at the records that are not merged.
 * So nobody has to see the moment of a death, and an heir that dies in the middle has an heir too.
 *
 * The order of the steps is the promise. The heir is named by compare-and-set. The dead node is
 * fenced, and then its state is read: so it is complete. Its claims are fenced, and then they are
 * read: a claim that the servers store later does not count for anybody. The state is copied before
 * the listeners hear of it. The dead node's state is removed before the two are merged, and a later
 * process of the dead node opens its state after that.
 */
import { createHash } from 'node:crypto'
import type { Clock, SteadyMs } from '../clock.ts'
import type { Logger } from '../logger.ts'
import type { StateEntry } from '../broker/ports/engine.ts'
import type { Inheritance, LivingNode, NodeId } from '../nodes.ts'
import { copyEntries, entriesAtHome } from './copying.ts'
import type { NatsHomes } from './nats-homes.ts'
import type { KnownRecord, NodeRecord, NodeRecords } from './node-records.ts'
import type { HomeKeyOf, NodeSpaces } from './node-spaces.ts'

/** The designated heir has this time before any other node becomes the heir. */
const DESIGNATED_MS = 5_000
const AGAIN_MS = 500

export interface InheritancesOptions {
  readonly nodes: NodeRecords
  readonly homes: NatsHomes
  readonly spaces: NodeSpaces
  readonly homeKeyOf: HomeKeyOf
  /** The entries of a dead node as this node keeps them. */
  readonly entriesOfHeir: (entries: readonly StateEntry[]) => readonly StateEntry[]
  readonly clock: Clock
  readonly logger: Logger
  readonly self: NodeId
  readonly living: () => readonly LivingNode[]
  /** The process is not heard, and has had the time to be. */
  readonly isSilent: (incarnation: string) => boolean
  readonly listeners: readonly ((inheritance: Inheritance) => Promise<void>)[]
}

export class Inheritances {
  readonly #options: InheritancesOptions
  /** Since when the death of a process is known here. */
  readonly #deadSince = new Map<string, SteadyMs>()
  #sweeping: Promise<void> | undefined
  #isOver = false

  constructor(options: InheritancesOptions) {
    this.#options = options
  }

  /** Becomes the heir of all dead nodes that are this node’s to inherit. Never rejects. */
  async sweep(): Promise<void> {
    if (this.#isOver) return
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = undefined
    })
    await this.#sweeping
  }

  /** Begins nothing more, and waits for the step that is under way. */
  async close(): Promise<void> {
    this.#isOver = true
    await this.#sweeping
  }

  async #sweep(): Promise<void> {
    const { nodes, logger, self } = this.#options
    const unmerged = nodes.unmerged()
    this.#forgetOthers(unmerged)
    for (const known of unmerged) {
      if (this.#isOver) return
      if (known.incarnation === self.incarnation) continue
      try {
        if (this.#isBrought(known)) await this.#merge(known)
        else if (this.#isDead(known) && this.#isDue(known.incarnation)) await this.#inherit(known)
      } catch (error) {
        logger.warn({ node: known.record.name, reason: String(error) }, 'inheritance.interrupted')
      }
    }
  }

  #forgetOthers(unmerged: readonly KnownRecord[]): void {
    const known = new Set(unmerged.map(({ incarnation }) => incarnation))
    for (const incarnation of this.#deadSince.keys()) {
      if (!known.has(incarnation)) this.#deadSince.delete(incarnation)
    }
  }

  /** Its heir died after it had copied the state, and this node is that one’s heir. */
  #isBrought({ incarnation, record: { heir, stage } }: KnownRecord): boolean {
    const { nodes, self } = this.#options
    if (stage !== 'copied' || heir === undefined || heir === self.incarnation) return false
    return nodes.get(heir)?.record.stage === 'merged' && nodes.holderOf(incarnation) === self.incarnation
  }

  #isDead({ incarnation, record: { state, heir, stage } }: KnownRecord): boolean {
    const { nodes, isSilent, self } = this.#options
    if (heir === undefined) return state === 'left' || isSilent(incarnation)
    // A copy is with its heir, dead or not.
    if (stage !== 'named') return false
    const known = nodes.get(heir)
    return (
      heir === self.incarnation || known?.record.state !== 'living' || known.record.heir !== undefined || isSilent(heir)
    )
  }

  #isDue(incarnation: string): boolean {
    const { clock, living, self } = this.#options
    const now = clock.steady()
    const since = this.#deadSince.get(incarnation) ?? now
    this.#deadSince.set(incarnation, since)
    if (now - since >= DESIGNATED_MS) return true
    const ready = living().filter((node) => node.isReady && node.incarnation !== incarnation)
    const [first] = ready.map((node) => node.incarnation).toSorted((one, other) => rank(incarnation, one, other))
    return first === self.incarnation
  }

  async #merge({ incarnation, record, sequence }: KnownRecord): Promise<void> {
    // A later process of the dead node forgets the state at its start.
    await this.#options.nodes.change(incarnation, { ...record, stage: 'merged' }, sequence)
  }

  async #inherit({ incarnation, record, sequence }: KnownRecord): Promise<void> {
    const { nodes, spaces, self, logger, clock } = this.#options
    const { name } = record
    // A process that ended before its node’s state was its own has nothing to leave.
    const last = await nodes.readName(name)
    if (last.incarnation === undefined || (await nodes.readHolder(last.incarnation)) !== incarnation) return
    const named: NodeRecord = { endedAtMs: clock.now(), ...record, heir: self.incarnation, stage: 'named' }
    if (!(await nodes.change(incarnation, named, sequence))) return
    const since = clock.steady()
    logger.info({ node: name, incarnation, state: record.state }, 'inheritance.begun')
    await this.#until(() => spaces.fence(name))
    if (!(await this.#fenceClaims(incarnation))) return
    const stored = await this.#until(() => spaces.stateOf(name))
    const entries = await this.#until(() => entriesAtHome(stored, incarnation, this.#options))
    this.#options.homes.keep(entries.map(({ key }) => this.#options.homeKeyOf(key) ?? key))
    await copyEntries(this.#options.entriesOfHeir(entries), { spaces, clock, logger, isOver: () => this.#isOver })
    if (!(await this.#advance(incarnation, 'copied'))) return
    await this.#tell({ name, incarnation }, record.state === 'left', entries)
    if (!(await this.#isMine(incarnation))) return
    await this.#until(() => spaces.forgetStateOf(name))
    if (!(await this.#advance(incarnation, 'merged'))) return
    const durationMs = clock.steady() - since
    logger.info({ node: name, incarnation, entries: entries.length, durationMs }, 'inheritance.complete')
  }

  /**
   * Claims of the dead process that come later count no more. The fence of an earlier heir stays:
   * others may have judged by it. False: see `#change`.
   */
  async #fenceClaims(incarnation: string): Promise<boolean> {
    const fence = await this.#until(() => this.#options.homes.fence())
    return await this.#change(incarnation, (record) => ({ fence, ...record }))
  }

  /** Puts the record forward. False: see `#change`. */
  async #advance(incarnation: string, stage: 'copied' | 'merged'): Promise<boolean> {
    return await this.#change(incarnation, (record) => ({ ...record, stage }))
  }

  /** Changes the record of the dead process. False: another node has become the heir instead. */
  async #change(incarnation: string, changed: (record: NodeRecord) => NodeRecord): Promise<boolean> {
    const { nodes, self } = this.#options
    return await this.#until(async () => {
      const known = await nodes.read(incarnation)
      if (known?.record.heir !== self.incarnation) return false
      const next = changed(known.record)
      const isDone = next.stage === known.record.stage && next.fence === known.record.fence
      return isDone || (await nodes.change(incarnation, next, known.sequence))
    })
  }

  async #isMine(incarnation: string): Promise<boolean> {
    const { nodes, self } = this.#options
    return await this.#until(async () => (await nodes.read(incarnation))?.record.heir === self.incarnation)
  }

  async #tell(from: NodeId, isOrderly: boolean, entries: readonly StateEntry[]): Promise<void> {
    const { listeners, logger } = this.#options
    const load = async function* (prefix: string): AsyncGenerator<StateEntry> {
      for (const { key, value } of entries) if (key.startsWith(prefix)) yield { key, value }
    }
    for (const listener of listeners) {
      try {
        await listener({ from, isOrderly, load })
      } catch (error) {
        logger.error({ node: from.name, reason: String(error) }, 'inheritance.listener_failed')
      }
    }
  }

  /** Tries until the servers answer. Rejects when the node ends. */
  async #until<Result>(step: () => Promise<Result>): Promise<Result> {
    for (;;) {
      if (this.#isOver) throw new Error('the node ends')
      try {
        return await step()
      } catch (error) {
        this.#options.logger.warn({ reason: String(error) }, 'inheritance.waits')
      }
      await new Promise<void>((resolve) => void this.#options.clock.after(AGAIN_MS, resolve))
    }
  }
}

/** The order of candidates: another one for each dead process. */
function rank(dead: string, one: string, other: string): number {
  const digest = (candidate: string): string =>
    createHash('sha256')
      .update(dead + candidate)
      .digest('hex')
  return digest(one) < digest(other) ? -1 : 1
}
