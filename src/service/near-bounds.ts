/**
 * Looks every ten seconds which organizations are near their bounds: for the log, the status and
 * the metrics.
 */
import { later } from '../clock.ts'
import type { Clock, SteadyMs } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { BOUND_NAMES, NEAR_SHARE, usedShare } from '../organization-bounds.ts'
import type { BoundName, BoundsByOrganization } from '../organization-bounds.ts'
import type { UsageSource } from './organization-usage.ts'

/** The time from the start of one round to the start of the next round. */
const ROUND_MS = 10_000
/**
 * Organizations that one tick looks at, in about a millisecond: no tick keeps the clients waiting.
 * A round through more than 2,500 organizations takes longer than ten seconds.
 */
const ORGANIZATIONS_PER_TICK = 250
/**
 * A bound is told again only after its use was below this share: a use that wavers is told once.
 */
const OVER_SHARE = 0.7
/** Bounds that the status shows. */
export const MAXIMUM_NEAR = 100
/** Organizations that the metrics show. More would be too many series for Prometheus. */
export const MAXIMUM_MEASURED = 200

/** A bound that an organization has nearly reached, or has reached. */
export interface NearBound {
  readonly organizationId: string
  readonly bound: BoundName
  readonly used: number
  readonly maximum: number
}

export interface NearBoundsOptions {
  readonly usage: UsageSource
  readonly bounds: Pick<BoundsByOrganization, 'of'>
  /** The name of an organization, for the log. */
  readonly nameOf: (organizationId: string) => Promise<string | undefined>
  readonly clock: Pick<Clock, 'steady'>
  readonly log: Pick<Logger, 'warn'>
}

/** A thing with the share of a bound that is used. */
interface Shared {
  readonly share: number
}

interface Round {
  /** The organizations that are still to be looked at. */
  readonly pending: string[]
  readonly near: ({ readonly near: NearBound } & Shared)[]
  readonly organizations: ({ readonly organizationId: string } & Shared)[]
}

export class NearBounds {
  readonly #options: NearBoundsOptions
  /** The bounds that the log was told of, by organization. */
  readonly #told = new Map<string, Set<BoundName>>()
  #nextRound: SteadyMs
  #round: Round | undefined
  #nearest: readonly NearBound[] = []
  #measured: readonly string[] = []

  constructor(options: NearBoundsOptions) {
    this.#options = options
    this.#nextRound = options.clock.steady()
  }

  /** The bounds that were near at the last round, the nearest first: `MAXIMUM_NEAR` at most. */
  get nearest(): readonly NearBound[] {
    return this.#nearest
  }

  /**
   * The organizations that were nearest to any bound at the last round, the nearest first:
   * `MAXIMUM_MEASURED` at most.
   */
  get measured(): readonly string[] {
    return this.#measured
  }

  /** Goes on with the round, or begins one that is due. The owner calls it about once a second. */
  tick(): void {
    const round = this.#round ?? this.#begin()
    if (round === undefined) return
    for (const organizationId of round.pending.splice(-ORGANIZATIONS_PER_TICK)) this.#look(round, organizationId)
    this.#round = round
    if (round.pending.length === 0) this.#end(round)
  }

  #begin(): Round | undefined {
    const { clock, usage } = this.#options
    const now = clock.steady()
    if (now < this.#nextRound) return undefined
    this.#nextRound = later(now, ROUND_MS)
    // An organization that uses nothing any more is looked at once more, to end what was told.
    const pending = new Set([...usage.organizations(), ...this.#told.keys()])
    return { pending: [...pending], near: [], organizations: [] }
  }

  #look(round: Round, organizationId: string): void {
    const { usage, bounds } = this.#options
    const uses = usage.usageOf(organizationId)
    const maximums = bounds.of(organizationId)
    let largest = 0
    for (const bound of BOUND_NAMES) {
      const used = uses[bound] ?? 0
      const maximum = maximums[bound]
      const share = usedShare(used, maximum)
      largest = Math.max(largest, share)
      if (share >= NEAR_SHARE) {
        const near = { organizationId, bound, used, maximum }
        round.near.push({ near, share })
        keepNearest(round.near, MAXIMUM_NEAR)
        this.#tell(near)
      } else if (share < OVER_SHARE) this.#over(organizationId, bound)
    }
    round.organizations.push({ organizationId, share: largest })
    keepNearest(round.organizations, MAXIMUM_MEASURED)
  }

  #end(round: Round): void {
    this.#round = undefined
    this.#nearest = nearest(round.near, MAXIMUM_NEAR).map(({ near }) => near)
    this.#measured = nearest(round.organizations, MAXIMUM_MEASURED).map(({ organizationId }) => organizationId)
  }

  #tell({ organizationId, bound, used, maximum }: NearBound): void {
    const told = this.#told.get(organizationId) ?? new Set()
    if (told.has(bound)) return
    this.#told.set(organizationId, told.add(bound))
    const { nameOf, log } = this.#options
    const write = (organizationName = ''): void =>
      log.warn({ organizationId, organizationName, bound, used, maximum }, 'organization.near_bound')
    nameOf(organizationId).then(write, () => write())
  }

  #over(organizationId: string, bound: BoundName): void {
    const told = this.#told.get(organizationId)
    if (told?.delete(bound) === true && told.size === 0) this.#told.delete(organizationId)
  }
}

/** Cuts a list that has grown to twice its maximum: a round needs no room for all organizations. */
function keepNearest(list: Shared[], maximum: number): void {
  if (list.length < 2 * maximum) return
  list.sort(byShare)
  list.length = maximum
}

function nearest<Thing extends Shared>(list: readonly Thing[], maximum: number): readonly Thing[] {
  return list.toSorted(byShare).slice(0, maximum)
}

function byShare(one: Shared, other: Shared): number {
  // Two bounds of 0 have infinite shares, and their difference would be no number.
  return one.share === other.share ? 0 : other.share - one.share
}
