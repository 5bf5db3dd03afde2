/** A reporter of `node --test`. It writes one JSON object, a `Tally`, when all files have run. */

/**
 * @typedef {object} Tally
 * @property {number} passed
 * @property {number} failed Failed and cancelled tests.
 * @property {number} skipped Skipped tests, and tests still to be written.
 * @property {readonly string[]} notes The diagnostics of the tests.
 * @property {Readonly<Record<string, number>>} seconds The duration of each test file, by its path.
 */

/** The runner sends its own counts as diagnostics too. */
const COUNT = /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/

/** @param {AsyncIterable<import('node:test/reporters').TestEvent>} source */
export default async function* tallyReporter(source) {
  /** @type {string[]} */
  const notes = []
  /** @type {Record<string, number>} */
  const seconds = {}
  for await (const event of source) {
    if (event.type === 'test:diagnostic' && !COUNT.test(event.data.message)) notes.push(event.data.message)
    if (event.type !== 'test:summary') continue
    const { counts, duration_ms: durationMs, file } = event.data
    if (file !== undefined) {
      seconds[file] = durationMs / 1_000
      continue
    }
    /** @type {Tally} */
    const tally = {
      passed: counts.passed,
      failed: counts.tests - counts.passed - counts.skipped - counts.todo,
      skipped: counts.skipped + counts.todo,
      notes,
      seconds,
    }
    yield JSON.stringify(tally)
  }
}
