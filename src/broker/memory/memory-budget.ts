/**
 * The budget of the process. While the process holds more memory than its budget, the tenants that
 * hold the most must not hold more: no new Session, subscription or retained message, and no more
 * bytes toward clients that do not read. All that they hold stays, and so does everything of the
 * other tenants.
 */
import type { Logger } from '../../logger.ts'
import type { TenantMemories } from './tenant-memory.ts'

/** The process is within its budget again below this part of it: the state must not flap. */
const RELEASE_SHARE = 0.95
/**
 * A tenant that holds less is never held back: its memory is not the one that is missing. Holds off
 * the turn of honest tenants where something else fills the memory.
 */
const HARMLESS_BYTES = 8_388_608
/** Free memory is given back once in so many ticks at most. */
const GIVE_BACK_TICKS = 60
/** The refusal of a tenant that is held back. It names the bound. */
export const OVER_BUDGET =
  'the service has used up its memory (FIELDGATE_MAXIMUM_MEMORY_BYTES), and this organization holds the most of it'

export interface MemoryBudgetOptions {
  readonly memories: TenantMemories
  readonly log: Logger
  /** Bytes of memory that the process holds now. */
  readonly residentBytes: () => number
  /**
   * Gives memory back to the system that the process holds and does not use. It may stop the
   * process for a part of a second.
   */
  readonly giveBack: () => void
  /** The budget. */
  readonly maximumBytes: number
  /** The tenants that hold anything, with the bytes that each holds, about. */
  readonly holders: () => Iterable<readonly [tenant: string, bytes: number]>
}

export class MemoryBudget {
  readonly #options: MemoryBudgetOptions
  /** The bytes at the last tick above the budget; Infinity within it. */
  #residentBefore = Infinity
  /** Ticks until free memory may be given back again. */
  #untilGiveBack = 0

  constructor(options: MemoryBudgetOptions) {
    this.#options = options
  }

  /**
   * A second has passed. Above the budget, free memory is given back first. If that is not enough,
   * one more tenant is held back each second while the memory does not fall: the one that holds the
   * most of those that are not held back yet.
   */
  tick(): void {
    const { memories, maximumBytes, log } = this.#options
    const resident = this.#resident()
    if (resident <= maximumBytes) {
      this.#residentBefore = Infinity
      if (memories.heldBack.size === 0 || resident > maximumBytes * RELEASE_SHARE) return
      log.info({ tenants: [...memories.heldBack], residentBytes: resident, maximumBytes }, 'memory.released')
      memories.releaseAll()
      return
    }
    const isFalling = resident < this.#residentBefore && this.#residentBefore !== Infinity
    this.#residentBefore = resident
    if (isFalling) return
    const largest = this.#largest()
    if (largest === undefined) return
    const [tenant, heldBytes] = largest
    memories.holdBack(tenant)
    const bound = 'FIELDGATE_MAXIMUM_MEMORY_BYTES'
    log.warn({ tenant, heldBytes, bound, residentBytes: resident, maximumBytes }, 'memory.held_back')
  }

  /** The memory that the process holds; above the budget, without the free memory. */
  #resident(): number {
    const { residentBytes, giveBack, maximumBytes } = this.#options
    this.#untilGiveBack = Math.max(0, this.#untilGiveBack - 1)
    const resident = residentBytes()
    if (resident <= maximumBytes || this.#untilGiveBack > 0) return resident
    this.#untilGiveBack = GIVE_BACK_TICKS
    giveBack()
    return residentBytes()
  }

  #largest(): readonly [tenant: string, bytes: number] | undefined {
    const { memories, holders } = this.#options
    let largest: readonly [string, number] | undefined
    for (const holder of holders()) {
      if (holder[1] < HARMLESS_BYTES || memories.isHeldBack(holder[0])) continue
      if (largest === undefined || holder[1] > largest[1]) largest = holder
    }
    return largest
  }
}
