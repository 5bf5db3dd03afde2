/**
 * The short form of the acceptance run: the core of its scenarios, each once, under load. `npm run
 * cluster` plays all of them, as often as you like.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingParts } from './cluster.ts'
import { runScenarios } from './run-scenarios.ts'
import { SCENARIOS } from './scenarios/scenarios.ts'

/** Each needs seconds, and together they break each kind of part once. */
const CORE = new Set([1, 2, 3, 4, 5, 11, 13, 14, 15, 19])
const NODES = 3
/**
 * Other tests run beside this one, and want the processor too. `npm run cluster` keeps the bars as
 * they are.
 */
const BAR_FACTOR = 1.5
const TITLE = 'nothing that was acknowledged is lost, doubled or out of order while parts of a cluster fail'

const missing = missingParts()
const chosen = SCENARIOS.filter(({ number }) => CORE.has(number))

if (missing === undefined) {
  test(TITLE, { timeout: 240_000 }, async (t) => {
    const lines: string[] = []
    const say = (line: string): void => void lines.push(line)
    const rounds = chosen.length
    const outcome = await runScenarios({
      scenarios: chosen,
      nodes: NODES,
      rounds,
      seed: 1,
      say,
      sayMore: say,
      barFactor: BAR_FACTOR,
    })
    const { faults, acknowledged, broken } = outcome
    t.diagnostic(`${rounds} scenarios: ${acknowledged} acknowledged, ${faults.summary()}`)
    assert.deepEqual(broken, [], lines.join('\n'))
    assert.equal(faults.total, 0, lines.join('\n'))
    assert.ok(acknowledged > 500, 'there was load')
  })
} else {
  console.error(`SKIPPED: ${TITLE}: ${missing}`)
  test(TITLE, { skip: missing }, () => {})
}
