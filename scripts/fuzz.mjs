// npm run fuzz -- [minutes]: runs the fuzzers with new seeds for ten minutes, or for a given time.
// Ends with the first round that finds a fault.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled, root } from './setup.mjs'

/** The runs of each fuzzer in one round: a round stays far below the time limit of a test file. */
const RUNS_OF_A_ROUND = 3_000
const MAXIMUM_MINUTES = 24 * 60

const minutes = Number(process.argv[2] ?? 10)
if (process.argv.length > 3 || !(minutes > 0 && minutes <= MAXIMUM_MINUTES)) {
  console.error(`Usage: npm run fuzz -- [minutes], more than 0 and at most ${MAXIMUM_MINUTES}`)
  process.exit(2)
}
ensureInstalled()
ensureBuilt()
const endsMs = performance.now() + minutes * 60_000
let rounds = 0
do {
  const round = spawnSync(process.execPath, [join(root, 'scripts', 'test.mjs'), 'test/fuzz'], {
    cwd: root,
    env: { ...process.env, FIELDGATE_FUZZ_RUNS: String(RUNS_OF_A_ROUND) },
    stdio: 'inherit',
  })
  if (round.status !== 0) {
    console.error(`Round ${rounds + 1} found a fault.`)
    process.exit(1)
  }
  rounds += 1
} while (performance.now() < endsMs)
console.log(`${rounds} rounds of ${RUNS_OF_A_ROUND} runs a fuzzer: no fault`)
