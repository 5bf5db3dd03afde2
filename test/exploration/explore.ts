/** Enumerates the runs of a story, or draws them, and makes a failing run as short as it can be. */
import { createRandom } from '../support/random.ts'
import type { Chooser, Deviation } from './schedule.ts'
import { play } from './stories.ts'
import type { Outcome, Story } from './stories.ts'

export interface Found {
  readonly fault: string
  /** The choices that are not the usual ones. */
  readonly deviations: readonly Deviation[]
  readonly trace: readonly string[]
}

export interface Explored {
  readonly runs: number
  readonly choices: number
  readonly found: Found | undefined
}

export function playing(deviations: readonly Deviation[]): Chooser {
  const options = new Map(deviations)
  return (step) => options.get(step) ?? 0
}

/** Plays all runs with at most this number of unusual choices; stops at the first fault. */
export async function enumerate(story: Story, depth: number, maximumRuns = Infinity): Promise<Explored> {
  let [runs, choices] = [0, 0]
  const waiting: (readonly Deviation[])[] = [[]]
  for (let next = waiting.pop(); next !== undefined && runs < maximumRuns; next = waiting.pop()) {
    const outcome = await play(story, playing(next))
    runs += 1
    choices += outcome.widths.length
    if (outcome.fault !== undefined) return { runs, choices, found: await shrink(story, next, outcome) }
    if (next.length === depth) continue
    const from = (next.at(-1)?.[0] ?? -1) + 1
    for (let step = from; step < outcome.widths.length; step += 1) {
      for (let option = 1; option < (outcome.widths[step] ?? 0); option += 1) waiting.push([...next, [step, option]])
    }
  }
  return { runs, choices, found: undefined }
}

/** The unusual choices of a drawn run: this number of them, or each choice with this chance. */
const BOLDNESS = [2, 3, 4, 6, 0.05, 0.15, 0.4, 0.8] as const

/** Plays runs with random choices; stops at the first fault. */
export async function draw(story: Story, runs: number, seed: number): Promise<Explored> {
  let choices = 0
  let length = 1
  for (let run = 0; run < runs; run += 1) {
    const random = createRandom(seed + run)
    const boldness = BOLDNESS[run % BOLDNESS.length] as number
    const steps = new Set(Array.from({ length: Math.floor(boldness) }, () => Math.floor(random() * length)))
    const taken: Deviation[] = []
    const outcome = await play(story, (step, width) => {
      const isUsual = boldness < 1 ? random() >= boldness : !steps.has(step)
      if (isUsual) return 0
      const option = 1 + Math.floor(random() * (width - 1))
      taken.push([step, option])
      return option
    })
    length = outcome.widths.length
    choices += length
    if (outcome.fault !== undefined) return { runs: run + 1, choices, found: await shrink(story, taken, outcome) }
  }
  return { runs, choices, found: undefined }
}

/** Leaves choices out, and makes them smaller, while the run still fails. */
async function shrink(story: Story, deviations: readonly Deviation[], outcome: Outcome): Promise<Found> {
  let best = { deviations, outcome }
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false
    for (const candidate of smaller(best.deviations)) {
      const tried = await play(story, playing(candidate))
      if (tried.fault === undefined) continue
      best = { deviations: candidate, outcome: tried }
      isSmaller = true
      break
    }
  }
  return { fault: best.outcome.fault ?? '', deviations: best.deviations, trace: best.outcome.trace }
}

function* smaller(deviations: readonly Deviation[]): Generator<readonly Deviation[]> {
  for (let size = Math.ceil(deviations.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < deviations.length; from += size) yield deviations.toSpliced(from, size)
  }
}
