/** Programs that a test starts, and that end with it at the latest. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterEach } from 'node:test'

/**
 * Add to the set what a test starts: after each test what is left of them is killed, for it would
 * keep the next from starting and the process from its end.
 */
export function endAfterEach(): Set<ChildProcess> {
  const children = new Set<ChildProcess>()
  afterEach(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    children.clear()
  })
  return children
}
