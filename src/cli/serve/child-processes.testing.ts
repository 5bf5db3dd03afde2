/** Programs that a test starts, and that end with it at the latest. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterEach } from 'node:test'

/**
 * Add each process that a test starts to the set. After each test, processes of the set that still
 * run are killed: they would keep the next test from starting, and the test process from ending.
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
