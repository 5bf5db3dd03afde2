/** Medians over rounds, and ratios within them. */

/** The middle value, or the mean of the two middle values; NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const upper = sorted[Math.floor(middle)] ?? NaN
  if (!Number.isInteger(middle)) return upper
  return (upper + (sorted[middle - 1] ?? NaN)) / 2
}

/**
 * The median of the ratios of all rounds in which both have a figure; both maps are keyed by round.
 * A machine that is slow for a while is slow for both. NaN if there is no such round.
 */
export function medianRatio(figures: ReadonlyMap<number, number>, references: ReadonlyMap<number, number>): number {
  const ratios: number[] = []
  for (const [round, figure] of figures) {
    const reference = references.get(round)
    if (reference !== undefined) ratios.push(figure / reference)
  }
  return median(ratios)
}
