/**
 * `npm run faults -- [rounds] [seed] [first round]`: faults in random order, with a line for each.
 */
import { runFaults } from './run-faults.ts'

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const [rounds = 50, seed = Date.now() % 1_000_000, first = 1] = process.argv.slice(2).map(Number)
console.log(`${rounds} faults against a running service under load (seed ${seed}) ...`)
const { passed, failed, acknowledged, impossible } = await runFaults({
  rounds,
  seed,
  first,
  say: (line) => console.log(line),
})
if (impossible.length > 0) console.log(`${impossible.length} kinds of faults were left out: ${impossible.join('; ')}`)
console.log(`${acknowledged} messages were acknowledged`)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
