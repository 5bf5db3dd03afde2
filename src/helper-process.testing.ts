/** A helper for tests: it tells about itself, and does what it is told. */
import { readdirSync, readlinkSync } from 'node:fs'
import { answerParent } from './helper-process.ts'

export interface TestJob {
  readonly what: 'echo' | 'tell' | 'loop' | 'exit' | 'grow'
  readonly text?: string
}

export interface TestAnswer {
  readonly pid: number
  readonly text: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly folder: string
  readonly files: readonly string[]
}

/** The memory of a helper that was told to grow. */
const grown: Buffer[] = []

const say = answerParent((job) => {
  const { what, text = '' } = job as TestJob
  if (what === 'exit') process.exit(7)
  if (what === 'grow') grown.push(Buffer.alloc(200_000_000, 1))
  say({ pid: process.pid, text, environment: { ...process.env }, folder: process.cwd(), files: openFiles() })
  if (what === 'loop') setImmediate(loop)
})
say({})

function loop(): never {
  for (;;);
}

/** The paths of the files that this process has open; none where the system does not tell. */
function openFiles(): string[] {
  try {
    return readdirSync('/proc/self/fd').flatMap((number) => {
      try {
        return [readlinkSync(`/proc/self/fd/${number}`)]
      } catch {
        // The folder itself was open while it was read.
        return []
      }
    })
  } catch {
    return []
  }
}
