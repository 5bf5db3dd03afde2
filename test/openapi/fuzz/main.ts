/**
 * `npm run api-fuzz -- [minutes] [seed]`: from the OpenAPI document that a running service serves,
 * Schemathesis makes valid and invalid requests, single and in chains, and compares each answer
 * with the document. Default: five minutes.
 */
import { ranFuzzer } from './turn.ts'
import type { Turn, TurnResult } from './turn.ts'

const [minutes = 5, seed = Date.now() % 1_000_000] = process.argv.slice(2).map(Number)
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error('Usage: npm run api-fuzz -- [minutes] [seed]')
  process.exit(2)
}

/**
 * The longest turn on one service: the next turn has the things again that a fuzzer has deleted.
 */
const TURN_SECONDS = 300
/** A shorter turn does not get beyond the cases with which every turn begins. */
const SHORTEST_TURN_SECONDS = 45

const PEOPLE: readonly Turn['person'][] = ['admin', 'member', 'leaver']

console.log(`Fuzzing the HTTP interface for ${minutes} minutes, seed ${seed} ...`)
const untilMs = performance.now() + minutes * 60_000
let cases = 0
let failures = 0
let turns = 0
while (performance.now() < untilMs) {
  const person = PEOPLE[turns % PEOPLE.length] ?? 'admin'
  const leftSeconds = Math.ceil((untilMs - performance.now()) / 1000)
  // A leaver has few routes, and a member gets 403 from many routes.
  const share = person === 'admin' ? TURN_SECONDS : person === 'member' ? TURN_SECONDS / 2 : SHORTEST_TURN_SECONDS
  const seconds = Math.max(SHORTEST_TURN_SECONDS, Math.min(share, leftSeconds))
  const found = await turn({ person, seconds, seed: seed + turns })
  console.log(
    `${person}, seed ${seed + turns}, ${seconds} s: ${found.cases} cases, ${found.accepted} accepted, ${found.failures} failed`,
  )
  if (found.failures > 0) console.log(found.report)
  cases += found.cases
  failures += found.failures
  turns += 1
}
console.log(`seed ${seed}: ${cases} cases in ${turns} turns`)
console.log(`${cases - failures} passed, ${failures} failed`)
process.exitCode = failures === 0 ? 0 : 1

/**
 * Runs a turn. If the turn is impossible, for example because a service does not start, the turn
 * counts as failed, and the others go on.
 */
async function turn(one: Turn): Promise<TurnResult> {
  try {
    return await ranFuzzer(one)
  } catch (error) {
    return { cases: 1, accepted: 0, failures: 1, report: String(error) }
  }
}
