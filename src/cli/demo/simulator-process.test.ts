import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import type { TestContext } from 'node:test'
import { createPinoLogger } from '../../pino-logger.ts'
import { keepRunning } from './simulator-process.ts'

/** A log whose messages can be waited for. */
function watchedLog() {
  const waiting = new Map<string, (entry: Record<string, unknown>) => void>()
  const log = createPinoLogger(
    { level: 'info', format: 'json' },
    {
      write: (line) => {
        const entry = JSON.parse(line) as Record<string, unknown>
        waiting.get(String(entry['message']))?.(entry)
      },
    },
  )
  const next = (message: string) => {
    const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>()
    waiting.set(message, resolve)
    return promise
  }
  return { log, next }
}

describe('a process that is kept running', () => {
  it('is started again when it dies, later each time', async (context: TestContext) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const { log, next } = watchedLog()
    const children: ChildProcess[] = []
    const spawnChild = () => {
      const child = spawn(process.execPath, ['--eval', 'process.exit(1)'], { stdio: ['ignore', 'ignore', 'pipe'] })
      children.push(child)
      return child
    }
    const died = next('simulator.died')
    const kept = keepRunning(spawnChild, log)
    assert.equal((await died)['delayMs'], 1000)
    const again = next('simulator.died')
    context.mock.timers.tick(999)
    assert.equal(children.length, 1)
    context.mock.timers.tick(1)
    assert.equal(children.length, 2)
    assert.equal((await again)['delayMs'], 2000)
    await kept.stop()
    context.mock.timers.tick(60_000)
    assert.equal(children.length, 2)
  })

  it('is left alone when its exit code says that another try would not help', async () => {
    const { log, next } = watchedLog()
    const gaveUp = next('simulator.gave_up')
    const args = ['--eval', 'process.exit(3)']
    const kept = keepRunning(() => spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] }), log)
    assert.equal((await gaveUp)['exitCode'], 3)
    await kept.stop()
  })

  it('is ended by a signal, and its words are logged', async () => {
    const { log, next } = watchedLog()
    const said = next('simulator.said')
    const args = ['--eval', 'console.error("hello"); setInterval(() => {}, 1000)']
    const children: ChildProcess[] = []
    const kept = keepRunning(() => {
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
      children.push(child)
      return child
    }, log)
    assert.equal((await said)['line'], 'hello')
    const [child] = children
    assert.ok(child)
    const exit = once(child, 'exit')
    await kept.stop()
    assert.deepEqual(await exit, [null, 'SIGTERM'])
  })
})
