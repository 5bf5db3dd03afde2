// The second run of test files that failed among all others. A file that passes by itself is
// unsteady: a test of it depends on the load of the machine, on time, or on chance. It is told
// loudly, and is to be mended, but it does not make the whole run worthless.

/**
 * More failed files than this are no accident: none of them runs again.
 */
export const MAXIMUM_SECOND_RUNS = 3

/**
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 */

/**
 * Runs failed files again, one after the other. Returns what the second runs change of the counts
 * of the whole run, and the first results of the files that passed then.
 * @template {Counts} Result
 * @param {readonly Result[]} failed The results of the failed files.
 * @param {(first: Result) => Promise<Counts>} runAlone Runs the file of a result by itself.
 * @returns {Promise<Counts & { readonly unsteady: readonly Result[] }>}
 */
export async function runAgain(failed, runAlone) {
  const change = { passed: 0, failed: 0, skipped: 0 }
  /** @type {Result[]} */
  const unsteady = []
  if (failed.length > MAXIMUM_SECOND_RUNS) return { ...change, unsteady }
  for (const first of failed) {
    const second = await runAlone(first)
    if (second.failed > 0) continue
    unsteady.push(first)
    change.passed += second.passed - first.passed
    change.failed -= first.failed
    change.skipped += second.skipped - first.skipped
  }
  return { ...change, unsteady }
}
