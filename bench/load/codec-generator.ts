/**
 * The load generator's process for commands and codecs: takes one job from its parent, runs it and
 * answers.
 */
import type { CodecAnswer, CodecRequest } from './codec-job.ts'
import { runCommands } from './command-load.ts'
import { runUplinks } from './uplink-load.ts'

// If the parent is interrupted, no load stays behind.
process.once('disconnect', () => process.exit(1))
process.once('message', ({ target, job }: CodecRequest) => {
  const running = job.kind === 'commands' ? runCommands(target, job) : runUplinks(target, job)
  running
    .then(
      (result): CodecAnswer => ({ kind: 'result', result }),
      (error: unknown): CodecAnswer => ({
        kind: 'fault',
        text: error instanceof Error ? error.message : String(error),
      }),
    )
    .then((answer) => process.send?.(answer, () => process.exit(0)))
    .catch((error: unknown) => {
      console.error(error)
      process.exit(1)
    })
})
