import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock, SteadyMs } from '../../clock.ts'
import { createCounters } from '../ports/counters.ts'
import type { Reader } from '../sessions/reader.ts'
import { TurnShare, TurnShares } from './turn-shares.ts'
import { Turns } from './turns.ts'

/** A clock whose turns end when the test says so. */
class StillClock implements Clock {
  rests = 0
  cpuMs = 0
  #turns: (() => void)[] = []
  #ms = 0

  now(): number {
    return 0
  }

  steady(): SteadyMs {
    return this.#ms as SteadyMs
  }

  afterTurn(run: () => void): void {
    this.#turns.push(run)
  }

  after(): () => void {
    assert.fail()
  }

  cpu(): number {
    return this.cpuMs
  }

  rest(ms: number): void {
    this.rests += 1
    this.#ms += ms
  }

  pass(ms: number): void {
    this.#ms += ms
  }

  endTurn(): void {
    for (const run of this.#turns.splice(0)) run()
  }
}

function start() {
  const clock = new StillClock()
  const counters = createCounters()
  const turns = new Turns(clock, new TurnShares(clock), counters, () => assert.fail())
  const flushed: number[] = []
  const share = new TurnShare()
  const flushLater = (count: number): void => {
    counters.bytesReceived += 1
    for (let number = 0; number < count; number += 1) turns.flushLater({ share, flush: () => flushed.push(number) })
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

  it('is gathered after a crowd was written to, while turns bring more', () => {
    const { clock, flushed, flushLater } = start()
    flushLater(16)
    clock.endTurn()
    assert.equal(flushed.length, 16, 'the crowd itself does not wait')
    flushLater(1)
    clock.endTurn()
    flushLater(20)
    clock.endTurn()
    assert.equal(flushed.length, 16)
    clock.endTurn()
    assert.equal(flushed.length, 37, 'this turn brought nothing')
    flushLater(1)
    clock.endTurn()
    assert.equal(flushed.length, 37, 'those were a crowd again')
    clock.endTurn()
    assert.equal(flushed.length, 38)
    flushLater(1)
    clock.endTurn()
    assert.equal(flushed.length, 39)
  })

  it('is gathered for a moment at most', () => {
    const { clock, flushed, flushLater } = start()
    flushLater(16)
    clock.endTurn()
    flushLater(1)
    clock.pass(1)
    clock.endTurn()
    assert.equal(flushed.length, 16)
    flushLater(1)
    clock.pass(1)
    clock.endTurn()
    assert.equal(flushed.length, 18)
  })

  it('waits for nothing when nothing came after a crowd', () => {
    const { clock, flushed, flushLater } = start()
    flushLater(16)
    clock.endTurn()
    clock.endTurn()
    flushLater(2)
    clock.endTurn()
    assert.equal(flushed.length, 18)
  })
})

/**
 * A stream of so many messages a ms. Each turn, of 1 ms by default, writes to the connections: all
 * of them the same, or each its own. Each turn takes CPU time, or else each message. The messages
 * of a turn come from so many publishers, each in one piece; without `publishers` each message from
 * its own. Returns the rests in the turns of 500 ms.
 */
function restsOfStream(stream: {
  readonly messages: number
  readonly connections: number
  readonly same: boolean
  readonly messagesCost?: boolean
  readonly turnMs?: number
  readonly turnCpuMs?: number
  readonly publishers?: number
}) {
  const { turnMs = 1, turnCpuMs = 0.5, publishers = Infinity } = stream
  const clock = new StillClock()
  const counters = createCounters()
  const turns = new Turns(clock, new TurnShares(clock), counters, () => assert.fail())
  const share = new TurnShare()
  const bytes = { bytes: Buffer.alloc(1), start: 0, end: 1 }
  let lastMs = clock.steady()
  for (let turn = 0; turn < 500 / turnMs; turn += 1) {
    const messages = stream.messages * (clock.steady() - lastMs)
    counters.publishesSent += messages
    counters.publishesReceived += messages
    counters.publishingChunks += Math.min(messages, publishers)
    clock.cpuMs += stream.messagesCost === true ? messages / 1_000 : turnCpuMs
    lastMs = clock.steady()
    counters.bytesReceived += 1
    for (let number = 0; number < stream.connections; number += 1) {
      const flush = (): void => turns.lastJoin.single(stream.same ? bytes : { ...bytes })
      turns.flushLater({ share, flush })
    }
    clock.pass(turnMs)
    clock.endTurn()
  }
  return clock.rests
}

describe('the event loop', () => {
  it('rests while the same messages go to a crowd', () => {
    assert.ok(restsOfStream({ messages: 200, connections: 200, same: true }) > 100)
  })

  it('rests while many messages go to few connections', () => {
    assert.ok(restsOfStream({ messages: 100, connections: 2, same: false }) > 100)
  })

  it('rests while many messages go to few connections in short turns, a few of them in each', () => {
    assert.ok(restsOfStream({ messages: 100, connections: 1, same: false, turnMs: 0.05 }) > 100)
  })

  it('rests while packets of their own go to a crowd, if that takes less CPU time', () => {
    const stream = { messages: 100, connections: 100, same: false } as const
    assert.ok(restsOfStream(stream) > 100)
    const tries = restsOfStream({ ...stream, messagesCost: true })
    assert.ok(tries > 0 && tries < 50, `${tries} rests`)
  })

  it('rests while few publishers keep it busy with short turns, whose messages then come together', () => {
    const stream = { messages: 20, connections: 2, same: false, turnMs: 0.1, turnCpuMs: 0.08, publishers: 1 } as const
    assert.ok(restsOfStream(stream) > 100)
    const idle = restsOfStream({ ...stream, turnCpuMs: 0.05 })
    assert.equal(idle, 0, 'while the process is idle half of the time')
    const large = restsOfStream({ ...stream, turnMs: 1, turnCpuMs: 0.8 })
    assert.equal(large, 0, 'while the messages come together anyway')
    const tries = restsOfStream({ ...stream, publishers: 20 })
    assert.ok(tries > 0 && tries < 50, `${tries} rests with many publishers`)
  })

  it('does not rest with few messages in a ms, or while few connections get messages of their own', () => {
    assert.equal(restsOfStream({ messages: 29, connections: 100, same: false }), 0)
    assert.equal(restsOfStream({ messages: 49, connections: 1, same: false }), 0)
    assert.equal(restsOfStream({ messages: 100, connections: 10, same: false, turnMs: 0.1, turnCpuMs: 0.05 }), 0)
  })
})

/** A crowd of connections of two accounts; writing to one of them takes 1 ms. */
function startCrowd() {
  const clock = new WorkingClock()
  const written: string[] = []
  const turns = new Turns(clock, new TurnShares(clock), createCounters(), () => assert.fail())
  const account = (name: string) => {
    const share = new TurnShare()
    const flush = (): void => {
      clock.workedMs += 1
      written.push(name)
    }
    return { flushLater: () => turns.flushLater({ share, flush }) }
  }
  return { clock, written, a: account('a'), b: account('b') }
}

class WorkingClock extends StillClock {
  workedMs = 0

  override steady(): SteadyMs {
    return this.workedMs as SteadyMs
  }
}

describe('what is to be written to a crowd', () => {
  it('is written for a slice of each turn, and the connections of others do not wait for it', () => {
    const { clock, written, a, b } = startCrowd()
    for (let count = 0; count < 20; count += 1) a.flushLater()
    b.flushLater()
    clock.endTurn()
    assert.equal(written.splice(0).join(''), 'aab')
    for (let turns = 1; written.length < 18; turns += 1) {
      clock.endTurn()
      assert.ok(written.length <= 2 * turns, `${written.length} after ${turns} turns`)
    }
    clock.endTurn()
    assert.equal(written.join(''), 'a'.repeat(18))
  })
})

function readerOf(tenant: string): Reader {
  return { tenant } as unknown as Reader
}

describe('the readers that may go on', () => {
  it('go on for a slice of each turn, and those of another tenant do not wait for it', () => {
    const clock = new WorkingClock()
    const gone: string[] = []
    const shares = new TurnShares(clock)
    const turns = new Turns(clock, shares, createCounters(), (reader) => {
      clock.workedMs += 1
      gone.push(reader.tenant)
    })
    const readers = ['a', 'a', 'a', 'a', 'b'].map(readerOf)
    for (const reader of readers) turns.wake(reader)
    clock.endTurn()
    assert.equal(gone.splice(0).join(''), 'aab')
    // A reader that waits already is not woken twice, and one that is forgotten does not go on.
    for (const reader of readers.slice(2, 4)) turns.wake(reader)
    turns.forget(readers[3] as Reader)
    clock.endTurn()
    clock.endTurn()
    assert.equal(gone.splice(0).join(''), 'a')
  })
})
