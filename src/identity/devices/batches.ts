/** Many devices in several statements or transactions, so that none holds up the event loop. */

/** Rows of one transaction: it holds up the event loop for some 5 ms. */
const MAXIMUM_BATCH = 100

/** The items in order, some at a time. */
export function* batchesOf<T>(items: readonly T[], size = MAXIMUM_BATCH): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size)
}
