import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock, SteadyMs } from '../../clock.ts'
import { Turns } from './turns.ts'

/** A clock whose turns end, and whose waits are over, when the test says so. */
class StillClock implements Clock {
  #turns: (() => void)[] = []
  #waits: (() => void)[] = []

  now(): number {
    return 0
  }

  steady(): SteadyMs {
    return 0 as SteadyMs
  }

  afterTurn(run: () => void): void {
    this.#turns.push(run)
  }

  after(ms: number, run: () => void): () => void {
    assert.equal(ms, 1)
    this.#waits.push(run)
    return () => void this.#waits.splice(this.#waits.indexOf(run), 1)
  }

  endTurn(): void {
    for (const run of this.#turns.splice(0)) run()
  }

  endWait(): void {
    for (const run of this.#waits.splice(0)) run()
  }
}

function start() {
  const clock = new StillClock()
  const turns = new Turns(clock, () => assert.fail())
  const flushed: number[] = []
  const flushLater = (count: number): void => {
    for (let number = 0; number < count; number += 1) turns.flushLater({ flush: () => flushed.push(number) })
  }
  return { clock, flushed, flushLater }
}

describe('what is to be written', () => {
  it('is written after the turn, in order', () => {
    const { clock, flushed, flushLater } = start()
    flushLater(3)
    assert.deepEqual(flushed, [])
    clock.endTurn()
    assert.deepEqual(flushed, [0, 1, 2])
    flushLater(15)
    clock.endTurn()
    flushLater(1)
    clock.endTurn()
    assert.equal(flushed.length, 19)
  })

  it('is gathered for a moment after a crowd was written to, over several turns', () => {
    const { clock, flushed, flushLater } = start()
    flushLater(16)
    clock.endTurn()
    assert.equal(flushed.length, 16, 'the crowd itself does not wait')
    flushLater(1)
    clock.endTurn()
    flushLater(20)
    clock.endTurn()
    assert.equal(flushed.length, 16)
    clock.endWait()
    assert.equal(flushed.length, 37)
    flushLater(1)
    clock.endTurn()
    assert.equal(flushed.length, 37, 'those were a crowd again')
    clock.endWait()
    assert.equal(flushed.length, 38)
    flushLater(1)
    clock.endTurn()
    assert.equal(flushed.length, 39)
  })

  it('waits for nothing when nothing came after a crowd', () => {
    const { clock, flushed, flushLater } = start()
    flushLater(16)
    clock.endTurn()
    clock.endWait()
    flushLater(2)
    clock.endTurn()
    assert.equal(flushed.length, 18)
  })
})
