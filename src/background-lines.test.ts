import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BackgroundLines } from './background-lines.ts'
import { TestClock } from './clock.testing.ts'

function gone(): never {
  throw new Error('EPIPE')
}

/** Lines with a stream that notes all that is asked of it, in order. */
function open() {
  const done: string[] = []
  const listeners: (() => void)[] = []
  const clock = new TestClock()
  const lines = new BackgroundLines(
    {
      write: (text) => void done.push(`background ${text}`),
      flushSync: () => void done.push('flush'),
      onIdle: (listener) => void listeners.push(listener),
    },
    { after: (ms, run) => clock.after(ms, run), rest: (ms) => void done.push(`rest ${ms}`) },
    (text) => void done.push(`last ${text}`),
  )
  const idle = (): void => {
    for (const listener of listeners) listener()
  }
  return { done, clock, lines, idle }
}

describe('background lines', () => {
  it('are given to the other thread together', () => {
    const { done, clock, lines } = open()
    lines.write('a\n')
    lines.write('b\n')
    clock.advance(50)
    assert.deepEqual(done, ['background a\nb\n'])
  })

  it('wait at the end for the text that is under way, so that none is lost or overtaken', () => {
    const { done, clock, lines } = open()
    lines.write('a\n')
    clock.advance(50)
    lines.write('b\n')
    lines.flushSync()
    assert.deepEqual(done, ['background a\n', 'rest 100', 'flush', 'last b\n'])
    lines.flushSync()
    assert.deepEqual(done.slice(4), ['flush', 'last '], 'it had its time')
  })

  it('do not wait at the end when no text is under way', () => {
    const { done, clock, lines, idle } = open()
    lines.write('a\n')
    lines.flushSync()
    lines.write('b\n')
    clock.advance(50)
    idle()
    lines.flushSync()
    assert.deepEqual(done, ['flush', 'last a\n', 'background b\n', 'flush', 'last '])
  })

  it('throw nothing when their place is gone', () => {
    const clock = new TestClock()
    const stream = { write: gone, flushSync: gone, onIdle: () => {} }
    const lines = new BackgroundLines(stream, { after: (ms, run) => clock.after(ms, run), rest: () => {} }, gone)
    lines.write('a\n')
    clock.advance(50)
    lines.flushSync()
  })
})
