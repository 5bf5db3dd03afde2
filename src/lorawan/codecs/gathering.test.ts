import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { Gathering } from './gathering.ts'
import { GATHER_MS } from './script-limits.ts'

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function make(): { clock: TestClock; gathering: Gathering; times: () => number } {
  const clock = new TestClock()
  let times = 0
  const gathering = new Gathering(clock, () => {
    times += 1
    gathering.handed()
  })
  return { clock, gathering, times: () => times }
}

describe('jobs that gather', () => {
  it('does not let the first job wait longer than its turn, and hands those of a turn out once', async () => {
    const { clock, gathering, times } = make()
    gathering.wants(false)
    gathering.wants(false)
    assert.equal(times(), 0)
    await turn()
    assert.equal(times(), 1)
    assert.equal(clock.pending, 0)
  })

  it('lets jobs behind a message gather until its time is over', async () => {
    const { clock, gathering, times } = make()
    gathering.wants(false)
    await turn()
    clock.advance(1)
    gathering.wants(false)
    gathering.wants(false)
    await turn()
    clock.advance(GATHER_MS - 2)
    assert.equal(times(), 1)
    clock.advance(1)
    assert.equal(times(), 2)
    clock.advance(GATHER_MS)
    gathering.wants(false)
    await turn()
    assert.equal(times(), 3, 'a quiet time has passed')
  })

  it('does not wait for more when there is enough', async () => {
    const { clock, gathering, times } = make()
    gathering.wants(false)
    await turn()
    gathering.wants(false)
    gathering.wants(true)
    await turn()
    assert.equal(times(), 2)
    clock.advance(GATHER_MS)
    assert.equal(times(), 2, 'the jobs went out before')
  })

  it('hands nothing out behind its end', async () => {
    const { clock, gathering, times } = make()
    gathering.wants(false)
    await turn()
    gathering.wants(false)
    gathering.close()
    clock.advance(GATHER_MS)
    await turn()
    assert.equal(times(), 1)
  })
})
