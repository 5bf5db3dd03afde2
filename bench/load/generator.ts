/** The load generator's process: takes one job from its parent, runs it and answers. */
import { runIdle, runStorm } from './connections.ts'
import { runFlow } from './flow.ts'
import type { Answer, Job, JobResult, Target } from './job.ts'
import { runReturn } from './returning.ts'

// If the comparison is interrupted, no load stays behind.
process.once('disconnect', () => process.exit(1))
process.once('message', (message: { readonly target: Target; readonly job: Job }) => {
  run(message.target, message.job)
    .then(
      (result): Answer => ({ kind: 'result', result }),
      (error: unknown): Answer => ({ kind: 'fault', text: error instanceof Error ? error.message : String(error) }),
    )
    .then((answer) => process.send?.(answer, () => process.exit(0)))
    .catch((error: unknown) => {
      console.error(error)
      process.exit(1)
    })
})

function run(target: Target, job: Job): Promise<JobResult> {
  switch (job.kind) {
    case 'flow':
      return runFlow([target], job)
    case 'storm':
      return runStorm(target, job)
    case 'idle':
      return runIdle(target, job)
    case 'return':
      return runReturn(target, job)
  }
}
