/**
 * `npm run explore -- [runs] [seed] [depth] [words]`: explores the stories whose names have the
 * words, and prints the shortest run of each fault. The exit code tells of the stories that hold.
 */
import { draw, enumerate } from './explore.ts'
import type { Explored } from './explore.ts'
import { OPEN_STORIES, STORIES } from './the-stories.ts'

const [runs = 2_000, seed = Date.now() % 1_000_000, depth = 1] = process.argv.slice(2, 5).map(Number)
const wanted = process.argv[5] ?? ''
let isFaulty = false
for (const story of [...STORIES, ...OPEN_STORIES]) {
  if (!story.name.includes(wanted)) continue
  for (const [how, explore] of [
    [`all with ${depth} unusual choices`, () => enumerate(story, depth)],
    ['drawn', () => draw(story, runs, seed)],
  ] as const) {
    const began = performance.now()
    const { runs: played, choices, found }: Explored = await explore()
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    console.log(`${story.name}; ${how}, seed ${seed}: ${played} runs, ${choices} choices, ${seconds} s`)
    if (found === undefined) continue
    if (STORIES.includes(story)) isFaulty = true
    const kind = STORIES.includes(story) ? 'FAULT' : 'KNOWN FAULT'
    console.log(
      `  ${kind}: ${found.fault}\n  ${JSON.stringify(found.deviations)}\n    ${squeezed(found.trace).join('\n    ')}`,
    )
    break
  }
}
process.exitCode = isFaulty ? 1 : 0

/** The trace without what comes again and again. */
function squeezed(trace: readonly string[]): readonly string[] {
  return trace.filter(
    (line, index) => line.startsWith('*') || !trace.slice(Math.max(0, index - 4), index).includes(line),
  )
}
