import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runFaults } from './run-faults.ts'

/**
 * A turn of all kinds of faults takes longer than a test may. These are the faults that no other
 * test covers.
 */
const HERE = [
  'kills the process',
  'freezes the process',
  'opens half of TLS connections',
  'sets the clock',
  'fills the disk',
]

test(
  'after each of some faults in random order the service answers, and nothing acknowledged is lost',
  { timeout: 110_000 },
  async (t) => {
    const lines: string[] = []
    const counts = await runFaults({
      rounds: HERE.length,
      seed: 1,
      scale: 0.2,
      only: HERE,
      say: (line) => lines.push(line),
    })
    for (const line of lines) t.diagnostic(line)
    assert.equal(counts.failed, 0, lines.join('\n'))
    assert.ok(counts.acknowledged > 100, 'there was load')
  },
)
