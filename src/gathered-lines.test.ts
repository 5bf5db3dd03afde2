import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TestClock } from './clock.testing.ts'
import { GatheredLines } from './gathered-lines.ts'

function gather(): { readonly clock: TestClock; readonly lines: GatheredLines; readonly written: string[] } {
  const clock = new TestClock()
  const written: string[] = []
  return { clock, lines: new GatheredLines(clock, (text) => written.push(text)), written }
}

describe('gathered lines', () => {
  it('are written together after 50 ms', () => {
    const { clock, lines, written } = gather()
    lines.add('a\n')
    clock.advance(49)
    lines.add('b\n')
    assert.deepEqual(written, [])
    clock.advance(1)
    assert.deepEqual(written, ['a\nb\n'])
    lines.add('c\n')
    clock.advance(50)
    assert.deepEqual(written, ['a\nb\n', 'c\n'])
  })

  it('are written at once when they are long, and none is written twice', () => {
    const { clock, lines, written } = gather()
    lines.add('a\n')
    const long = `${'b'.repeat(16_000)}\n`
    lines.add(long)
    assert.deepEqual(written, [`a\n${long}`])
    clock.advance(50)
    assert.equal(written.length, 1)
    assert.equal(clock.pending, 0)
  })

  it('are not written when somebody has taken them', () => {
    const { clock, lines, written } = gather()
    lines.add('a\n')
    lines.add('b\n')
    assert.equal(lines.take(), 'a\nb\n')
    assert.equal(lines.take(), '')
    clock.advance(50)
    assert.deepEqual(written, [])
    lines.add('c\n')
    clock.advance(50)
    assert.deepEqual(written, ['c\n'])
  })
})
