import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCrashes } from './crash-run.ts'

test(
  'nothing that was acknowledged is lost, and nothing of QoS 2 comes twice, over 20 kills',
  { timeout: 900_000 },
  async (t) => {
    const counts = await runCrashes({ rounds: 20, seed: 1, loadMs: [100, 700] })
    t.diagnostic(
      `${counts.kills} kills: ${counts.acknowledged} acknowledged of ${counts.published} published, none lost; ` +
        `${counts.inHistory} in the history; repeated at QoS 1: ${counts.repeatedWithDup} with DUP, ${counts.repeatedWithoutDup} without`,
    )
    assert.ok(counts.acknowledged > 1_000, 'there was load')
  },
)
