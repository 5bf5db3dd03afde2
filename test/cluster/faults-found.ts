/** The broken promises that a run has found, counted by kind, with the first ones in words. */

/** The kinds, each with the words in which the last line of a run tells its count. */
const KINDS = {
  lost: 'lost',
  twice: 'QoS 2 twice',
  disorder: 'out of order',
  forgotten: 'Sessions forgotten',
  foreign: 'foreign events',
  unequalIds: 'unequal ids',
  bareRepeats: 'bare repeats',
  lostCommands: 'commands lost',
  twoInFlight: 'two commands in flight',
  commandDisorder: 'commands out of order',
  commandRepeats: 'commands too often',
  bars: 'bars missed',
} as const

export type FaultKind = keyof typeof KINDS

/** The most that are kept in words of each kind. */
const KEPT = 20

export class FaultsFound {
  readonly #counts = new Map<FaultKind, number>()
  readonly #words: string[] = []

  /** Counts one, or as many as given. */
  add(kind: FaultKind, words: string, count = 1): void {
    const before = this.count(kind)
    this.#counts.set(kind, before + count)
    if (before < KEPT) this.#words.push(`${KINDS[kind]}: ${words}`)
  }

  count(kind: FaultKind): number {
    return this.#counts.get(kind) ?? 0
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
  }

  /** The words since the last call. */
  takeWords(): string[] {
    return this.#words.splice(0)
  }

  /** All counts, such as `lost 0, QoS 2 twice 0`. */
  summary(): string {
    return (Object.keys(KINDS) as FaultKind[]).map((kind) => `${KINDS[kind]} ${this.count(kind)}`).join(', ')
  }
}
