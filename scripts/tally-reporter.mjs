/** A reporter of `node --test`. It writes one JSON object, a `Tally`, when all files have run. */

/**
 * @typedef {object} Tally
 * @property {number} passed
 * @property {number} failed Failed and cancelled tests.
 * @property {number} skipped Skipped tests, and tests still to be written.
 * @property {readonly string[]} notes The diagnostics of the tests.
 */

/** The runner sends its own counts as diagnostics too. */
const COUNT = /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/

/** @param {AsyncIterable<import('node:test/reporters').TestEvent>} source */
export default async function* tallyReporter(source) {
  /** @type {string[]} */
  const notes = []
  for await (const event of source) {
    if (event.type === 'test:diagnostic' && !COUNT.test(event.data.message)) notes.push(event.data.message)
    // Each file has a summary, and the whole run has one without a file.
    if (event.type !== 'test:summary' || event.data.file !== undefined) continue
    const { counts } = event.data
    const skipped = counts.skipped + counts.todo
    /** @type {Tally} */
    const tally = { passed: counts.passed, failed: counts.tests - counts.passed - skipped, skipped, notes }
    yield JSON.stringify(tally)
  }
}
