/** Names with values while a person types them. */

/** A name with its value while they are typed. */
export interface Pair {
  /** The key of the row. It stays the same while name and value are typed. */
  readonly key: string
  readonly name: string
  readonly value: string
}

/** The pairs of a record, for the fields. */
export function pairsOf(record: Readonly<Record<string, string>>): readonly Pair[] {
  return Object.entries(record).map(([name, value]) => ({ key: crypto.randomUUID(), name, value }))
}

/** The record of the pairs. Pairs without a name are left out. */
export function recordOf(pairs: readonly Pair[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value]),
  )
}
