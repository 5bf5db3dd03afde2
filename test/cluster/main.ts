/**
 * `npm run cluster -- [rounds] [seed] [scenario…] [--nodes=n]`: the acceptance run of a cluster, in
 * random order, with a line for each round.
 */
import { parseArgs } from 'node:util'
import { missingParts } from './cluster.ts'
import { runScenarios } from './run-scenarios.ts'
import { MISSING, SCENARIOS } from './scenarios/scenarios.ts'

/** The nodes of a run that does not say how many. */
const NODES = '3'

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { nodes: { type: 'string', default: NODES }, verbose: { type: 'boolean', default: false } },
})
const [rounds = SCENARIOS.length, seed = Date.now() % 1_000_000, ...wanted] = positionals.map(Number)
const nodes = Number(values.nodes)
process.exitCode = await main()

function say(line: string): void {
  console.log(line)
}

async function main(): Promise<number> {
  const missing = missingParts()
  if (missing !== undefined) {
    console.error(`A cluster can't be started here: ${missing}`)
    return 1
  }
  const chosen = SCENARIOS.filter(({ number }) => wanted.length === 0 || wanted.includes(number))
  const possible = chosen.filter((one) => one.impossible === undefined && one.nodes <= nodes)
  const leftOut = [
    ...chosen.filter((one) => one.impossible !== undefined).map(({ number, impossible }) => `${number}: ${impossible}`),
    ...chosen.filter((one) => one.nodes > nodes).map((one) => `${one.number}: it needs ${one.nodes} nodes`),
    ...MISSING.filter(({ number }) => wanted.length === 0 || wanted.includes(number)).map(
      ({ number, title, reason }) => `${number} (${title}): ${reason}`,
    ),
  ]
  for (const words of leftOut) say(`LEFT OUT: scenario ${words}`)
  if (possible.length === 0) return 1
  say(`${rounds} rounds with ${nodes} nodes (seed ${seed}) ...`)
  const sayMore = values.verbose ? { sayMore: (line: string) => say(`    ${line}`) } : {}
  const outcome = await runScenarios({ scenarios: possible, nodes, rounds, seed, say, ...sayMore })
  const { faults, acknowledged, commands, broken } = outcome
  say(
    `${rounds} rounds: ${acknowledged} acknowledged, ${commands} commands, ${faults.summary()}, scenarios broken ${broken.length}, left out ${leftOut.length}`,
  )
  return faults.total === 0 && broken.length === 0 ? 0 : 1
}
