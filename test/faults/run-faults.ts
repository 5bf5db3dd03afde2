/**
 * Runs faults in random order against a running service, and checks all promises after each. The
 * same seed gives the same faults.
 */
import { createRandom } from '../support/random.ts'
import type { Random } from '../support/random.ts'
import { CLOCK_FAULTS } from './clock-faults.ts'
import { DAMAGE_FAULTS } from './damage.ts'
import { DISK_FAULTS } from './disk-faults.ts'
import type { Fault } from './fault.ts'
import { FULL_DISK_FAULTS } from './full-disk.ts'
import { NETWORK_FAULTS } from './network-faults.ts'
import { PROCESS_FAULTS } from './process-faults.ts'
import { World } from './world.ts'

/** All faults. A fault that is added here is part of the command and of the tests. */
const FAULTS: readonly Fault[] = [
  ...PROCESS_FAULTS,
  ...NETWORK_FAULTS,
  ...CLOCK_FAULTS,
  ...DISK_FAULTS,
  ...FULL_DISK_FAULTS,
  ...DAMAGE_FAULTS,
]
/** The distance between the seeds of two rounds, so that each has its own random numbers. */
const ROUND_STEP = 7_919

export interface FaultOptions {
  readonly rounds: number
  readonly seed: number
  /** The number of the first round: a failed round is repeated alone by its number. */
  readonly first?: number
  /** Below 1: shorter and smaller faults. */
  readonly scale?: number
  /** The names of the faults to run; absent: all. */
  readonly only?: readonly string[]
  readonly say?: (line: string) => void
}

/** The totals of the rounds. */
export interface FaultCounts {
  readonly passed: number
  readonly failed: number
  readonly acknowledged: number
  /** Names of faults that this machine can't have, with the reason. */
  readonly impossible: readonly string[]
}

/** Runs the rounds. A failed round is reported and counted, and the next one gets a new world. */
export async function runFaults(options: FaultOptions): Promise<FaultCounts> {
  const { rounds, seed, first = 1, scale = 1, only, say = () => {} } = options
  const wanted = FAULTS.filter(({ name }) => only?.includes(name) ?? true)
  let world = await World.open(scale)
  const counts = { passed: 0, failed: 0, acknowledged: 0 }
  const impossible = wanted.flatMap((fault) => {
    const reason = fault.impossible?.(world)
    return reason === undefined ? [] : [`${fault.name}: ${reason}`]
  })
  for (const line of impossible) say(`Left out: ${line}`)
  const faults = wanted.filter((fault) => fault.impossible?.(world) === undefined)
  try {
    for (let round = first; round < first + rounds; round += 1) {
      const random = createRandom(seed + round * ROUND_STEP)
      const fault = faultOf(faults, seed, round)
      const startedMs = performance.now()
      const seconds = (): string => ((performance.now() - startedMs) / 1000).toFixed(1)
      try {
        const told = await strike(world, fault, random)
        counts.passed += 1
        say(`${round}: ${fault.name}: ${told}; ${world.acknowledged.size} acknowledged, none lost (${seconds()} s)`)
      } catch (error) {
        counts.failed += 1
        const said = error instanceof Error ? error.message : String(error)
        say(`${round}: ${fault.name}: FAILED after ${seconds()} s: ${said}`)
        const kept = await world.close(true)
        say(`   What the service left is in ${kept ?? 'no folder'}. Again: npm run faults -- 1 ${seed} ${round}`)
        counts.acknowledged += world.acknowledged.size
        world = await World.open(scale)
      }
    }
    counts.acknowledged += world.acknowledged.size
    try {
      await world.assertHistory()
    } catch (error) {
      counts.failed += 1
      say(`At the end: FAILED: ${error instanceof Error ? error.message : String(error)}`)
    }
  } finally {
    await world.close()
  }
  return { ...counts, impossible }
}

async function strike(world: World, fault: Fault, random: Random): Promise<string> {
  world.beginRound()
  const told = await fault.run(world, random)
  await world.assertPromises()
  return told
}

/**
 * The fault of a round: each fault once before the first comes again, in another order each time.
 * Only the round and the seed decide.
 */
function faultOf(faults: readonly Fault[], seed: number, round: number): Fault {
  const turn = Math.floor((round - 1) / faults.length)
  const random = createRandom(seed * ROUND_STEP + turn)
  const order = faults.map((fault) => ({ fault, place: random() })).toSorted((one, other) => one.place - other.place)
  return (order[(round - 1) % faults.length] as { readonly fault: Fault }).fault
}
