/**
 * The short form of `npm run neighbours`: all bad neighbours beside a good one, five at a time. A
 * machine that runs other tests has no latency to judge, so these tests judge losses, refusals,
 * ends of connections and memory alone.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PROFILES } from './profiles.ts'
import { runNeighbours } from './run-neighbours.ts'

const TOGETHER = 5
const MS = 2_000

describe('an organization beside bad neighbours', () => {
  for (let from = 0; from < PROFILES.length; from += TOGETHER) {
    const profiles = PROFILES.slice(from, from + TOGETHER)
    it(`loses nothing by ${profiles.map(({ name }) => name).join(', ')}`, async () => {
      const verdicts = await runNeighbours({ runs: [profiles], ms: MS, judgesLatency: false, recoveryMs: 0 })
      assert.deepEqual(
        verdicts.flatMap(({ faults }) => faults),
        [],
      )
    })
  }
})
