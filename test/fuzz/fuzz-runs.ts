/**
 * How long the fuzzers run: a bounded, repeatable part in `npm test`; as many new runs as asked for
 * by `npm run fuzz`.
 */
import type { Parameters } from 'fast-check'

const asked = Number(process.env.FIELDGATE_FUZZ_RUNS ?? 0)

/**
 * Settings for fast-check. Without FIELDGATE_FUZZ_RUNS the seed is fixed, so that a change fails by
 * itself and not by chance.
 */
export function fuzzRuns<T>(boundedRuns: number): Parameters<T> {
  return asked > 0 ? { numRuns: asked } : { numRuns: boundedRuns, seed: 20_260 }
}
