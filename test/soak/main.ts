/** `npm run soak [minutes]`: a busy day in ten minutes by default, with a line for each sample. */
import { FULL_CACHES_BYTES, assertBounded, mib, runSoak } from './soak-run.ts'

const [minutes = 10] = process.argv.slice(2).map(Number)
console.log(`Clients come and go for ${minutes} minutes ...`)
const { acknowledged, received, repeated, visits, samples } = await runSoak({
  ms: minutes * 60_000,
  sampleMs: 10_000,
  say: (line) => console.log(line),
})
assertBounded(samples, FULL_CACHES_BYTES)
const last = samples.at(-1)
console.log(
  `${acknowledged} acknowledged, none lost; ${received} received in ${visits} visits, ${repeated} of them again; ` +
    `at the end RSS ${mib(last?.rssBytes ?? 0)}, heap ${mib(last?.heapBytes ?? 0)}, disk ${mib(last?.diskBytes ?? 0)}`,
)
