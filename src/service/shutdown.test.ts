import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Shutdown, SHUTDOWN_STEPS } from './shutdown.ts'

test('the steps run in the order of the list, in whatever order the parts were opened', async () => {
  const shutdown = new Shutdown()
  const closed: string[] = []
  for (const step of SHUTDOWN_STEPS.toReversed()) {
    shutdown.add(step, async () => {
      await Promise.resolve()
      closed.push(step)
    })
  }
  await shutdown.run()
  assert.deepEqual(closed, SHUTDOWN_STEPS)
})

test('a start that failed closes only the opened parts, each once', async () => {
  const shutdown = new Shutdown()
  const closed: string[] = []
  shutdown.add('data directory', () => void closed.push('data directory'))
  shutdown.add('registry', () => void closed.push('registry'))
  await shutdown.run()
  await shutdown.run()
  assert.deepEqual(closed, ['registry', 'data directory'])
})

test('a step that fails keeps no later step from running, and its error comes at the end', async () => {
  const shutdown = new Shutdown()
  const closed: string[] = []
  shutdown.add('broker', () => Promise.reject(new Error('the disk is gone')))
  shutdown.add('registry', () => {
    throw new Error('a later error')
  })
  shutdown.add('data directory', () => void closed.push('data directory'))
  await assert.rejects(shutdown.run(), /the disk is gone/)
  assert.deepEqual(closed, ['data directory'])
})
