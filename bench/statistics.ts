/** Medians over rounds, and ratios within them. */

/** The middle value, or the mean of the two in the middle; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const upper = sorted[Math.floor(middle)] ?? NaN
  if (!Number.isInteger(middle)) return upper
  return (upper + (sorted[middle - 1] ?? NaN)) / 2
}

/**
 * The median of the ratios of the rounds that both have a figure of, by number of the round: a
 * machine that is slow for a while is slow for both. NaN when there is no such round.
 */
export function medianRatio(figures: ReadonlyMap<number, number>, references: ReadonlyMap<number, number>): number {
  const ratios: number[] = []
  for (const [round, figure] of figures) {
    const reference = references.get(round)
    if (reference !== undefined) ratios.push(figure / reference)
  }
  return median(ratios)
}
