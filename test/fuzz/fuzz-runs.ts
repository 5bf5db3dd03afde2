/**
 * The number of runs of the fuzzers: bounded and repeatable in `npm test`, any number of new runs
 * by `npm run fuzz`.
 */
import type { Parameters } from 'fast-check'

const asked = Number(process.env.FIELDGATE_FUZZ_RUNS ?? 0)

/**
 * Settings for fast-check. Without FIELDGATE_FUZZ_RUNS the seed is fixed, so a test fails because
 * of a change and not by chance.
 */
export function fuzzRuns<T>(boundedRuns: number): Parameters<T> {
  return asked > 0 ? { numRuns: asked } : { numRuns: boundedRuns, seed: 20_260 }
}
