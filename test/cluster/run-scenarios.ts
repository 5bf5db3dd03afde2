/** The acceptance run of a cluster: scenarios, one after the other, under one load. */
import { createRandom } from '../support/random.ts'
import { Cluster } from './cluster.ts'
import { furnish } from './deployment.ts'
import { FaultsFound } from './faults-found.ts'
import { Load } from './load.ts'
import { Stage } from './scenario.ts'
import type { Scenario } from './scenario.ts'

/** The parts of a cluster must be whole again after so many attempts. */
const HEAL_ATTEMPTS = 3
/** Messages that are acknowledged between two scenarios, and the longest wait for them. */
const BETWEEN = 60
const LOAD_MS = 30_000

export interface RunOptions {
  /** One is chosen for each round. */
  readonly scenarios: readonly Scenario[]
  readonly nodes: number
  readonly rounds: number
  readonly seed: number
  readonly say: (line: string) => void
  /** Hears each measurement. */
  readonly sayMore?: (line: string) => void
  /** Each bar is allowed so many times over. Default: 1. */
  readonly barFactor?: number
}

export interface RunOutcome {
  readonly faults: FaultsFound
  readonly acknowledged: number
  readonly commands: number
  /** Scenarios that did not come to their end, with the reason. */
  readonly broken: readonly string[]
}

/** Runs the scenarios in an order that the seed decides: all of them before one comes again. */
export async function runScenarios(options: RunOptions): Promise<RunOutcome> {
  const { say, rounds, seed, nodes } = options
  const random = createRandom(seed)
  const faults = new FaultsFound()
  const broken: string[] = []
  await using cluster = await Cluster.open(nodes)
  await cluster.start()
  const deployment = await furnish(cluster.nodes)
  const load = new Load({ nodes: cluster.nodes, deployment, faults })
  const { sayMore = () => {}, barFactor = 1 } = options
  const stage = new Stage({ cluster, deployment, load, faults, random, say: sayMore, barFactor })
  try {
    await load.start()
    let left: Scenario[] = []
    for (let round = 1; round <= rounds; round += 1) {
      if (left.length === 0) left = shuffled(options.scenarios, stage.random)
      const scenario = left.pop() as Scenario
      const startMs = performance.now()
      try {
        await play(stage, scenario)
      } catch (error) {
        broken.push(`${scenario.number}: ${error instanceof Error ? error.stack : String(error)}`)
        say(`  broken: ${broken.at(-1)}`)
      }
      await recover(stage)
      for (const words of faults.takeWords()) say(`  ${words}`)
      const seconds = ((performance.now() - startMs) / 1_000).toFixed(1)
      say(
        `round ${round}, scenario ${scenario.number} (${scenario.title}): ${seconds} s, ${load.acknowledged} acknowledged, ${faults.total} faults`,
      )
    }
    return { faults, acknowledged: load.acknowledged, commands: load.commands.accepted, broken }
  } finally {
    await load.stop()
  }
}

async function play(stage: Stage, scenario: Scenario): Promise<void> {
  try {
    // A node that was fenced ends itself, perhaps after the parts were whole again.
    await stage.cluster.heal()
    await stage.load.acknowledges(BETWEEN, LOAD_MS)
    await scenario.run(stage)
  } finally {
    stage.end()
  }
}

/** Makes all parts whole, sends all clients home, and closes the account of all that was sent. */
async function recover({ cluster, load }: Stage): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await cluster.heal()
      break
    } catch (error) {
      if (attempt === HEAL_ATTEMPTS) throw error
    }
  }
  load.goHome()
  await load.settle()
}

function shuffled<T>(things: readonly T[], random: () => number): T[] {
  return things
    .map((thing) => ({ thing, rank: random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ thing }) => thing)
}
