// What the tests of a run came to, as `tally-reporter.mjs` wrote it.
import { existsSync, readFileSync } from 'node:fs'

/**
 * A run without a tally counts as failed: its tests may have passed, and nobody can say so.
 * @param {string} file
 * @returns {import('./tally-reporter.mjs').Tally}
 */
export function readTally(file) {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'))
  console.log('The test runner has written no tally of its tests.')
  return { passed: 0, failed: 1, skipped: 0, notes: [], seconds: {} }
}
