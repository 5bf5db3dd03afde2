/**
 * `npm run sdk -- ts|py [kills] [seed] [events]`: the proof of an SDK, with a line for each kill.
 */
import { prove } from './proof.ts'
import type { Language } from './proof.ts'

const [language = '', ...numbers] = process.argv.slice(2)
if (language !== 'ts' && language !== 'py') throw new Error('npm run sdk -- ts|py [kills] [seed] [events]')
const [kills = 50, seed = Date.now() % 1_000_000, events = 100_000] = numbers.map(Number)
const name: Readonly<Record<Language, string>> = { ts: 'TypeScript', py: 'Python' }
console.log(`The SDK for ${name[language]}: ${kills} kills and ${events} events (seed ${seed}) ...`)
const counts = await prove({
  language,
  kills,
  seed,
  events,
  loadMs: [200, 2_000],
  tokenSeconds: 6,
  say: (line) => console.log(line),
})
console.log(
  `${counts.kills} kills, ${counts.cuts} cut networks, ${counts.tokensRevoked} revocations, ${counts.tokensEnded} tokens that ended: ` +
    `${counts.published} events published, ${counts.stored} stored, ${counts.handedOver} handed over, each once and in the order of its device`,
)
