/** A reporter of `node --test`. It writes one JSON object, a `Tally`, when all files have run. */

/**
 * @typedef {object} Tally
 * @property {number} passed
 * @property {number} failed Failed and cancelled tests.
 * @property {number} skipped Skipped tests, and tests still to be written.
 * @property {readonly string[]} notes The diagnostics of the tests.
 * @property {Readonly<Record<string, number>>} seconds The duration of each test file, by its path.
 * @property {readonly FileCounts[]} failedFiles The files with failed tests that told their counts.
 *
 * @typedef {object} FileCounts
 * @property {string} file An absolute path.
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 */

/** The runner sends its own counts as diagnostics too. */
const COUNT = /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/

/** @param {AsyncIterable<import('node:test/reporters').TestEvent>} source */
export default async function* tallyReporter(source) {
  /** @type {string[]} */
  const notes = []
  /** @type {Record<string, number>} */
  const seconds = {}
  /** @type {FileCounts[]} */
  const failedFiles = []
  for await (const event of source) {
    if (event.type === 'test:diagnostic' && !COUNT.test(event.data.message)) notes.push(event.data.message)
    if (event.type !== 'test:summary') continue
    const { counts: all, duration_ms: durationMs, file } = event.data
    const skipped = all.skipped + all.todo
    const counts = { passed: all.passed, failed: all.tests - all.passed - skipped, skipped }
    if (file === undefined) {
      /** @type {Tally} */
      const tally = { ...counts, notes, seconds, failedFiles }
      yield JSON.stringify(tally)
    } else {
      seconds[file] = durationMs / 1_000
      if (counts.failed > 0) failedFiles.push({ file, ...counts })
    }
  }
}
