import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SteadyMs } from '../../clock.ts'
import { createCounters } from '../ports/counters.ts'
import { TurnRests } from './turn-rests.ts'

/** A clock on which time passes by the test, and by rests. */
class RestingClock {
  restedMs = 0
  cpuMs = 0
  #ms = 0

  steady(): SteadyMs {
    return this.#ms as SteadyMs
  }

  cpu(): number {
    return this.cpuMs
  }

  rest(ms: number): void {
    this.restedMs += ms
    this.#ms += ms
  }

  pass(ms: number): void {
    this.#ms += ms
  }
}

function start() {
  const clock = new RestingClock()
  const counters = createCounters()
  const rests = new TurnRests({
    clock,
    counters,
    isWorth: ({ workPerMs }) => workPerMs >= 50,
    isHelped: ({ messagesOfAChunk }) => messagesOfAChunk >= 4,
  })
  /**
   * For that many ms there is work in each ms. `sentInMs` gives the messages that are sent
   * in a ms, without rests and with them. A message takes 1 µs of CPU time, and with rests the
   * share `cpuShare` of it. After a rest, messages come in pieces of `messagesOfAChunk`. Returns
   * the number of rests.
   */
  const run = (
    ms: number,
    sentInMs: (hasRested: boolean) => number,
    { work = 100, cpuShare = 0.5, messagesOfAChunk = 4 } = {},
  ): number => {
    const end = clock.steady() + ms
    let count = 0
    while (clock.steady() < end) {
      const before = clock.steady()
      const hasRested = rests.rest(work)
      if (hasRested) count += 1
      clock.pass(1)
      const sent = sentInMs(hasRested) * (clock.steady() - before)
      counters.publishesSent += sent
      counters.publishesReceived += sent
      counters.publishingChunks += hasRested ? sent / messagesOfAChunk : sent
      clock.cpuMs += (sent * (hasRested ? cpuShare : 1)) / 1_000
    }
    return count
  }
  return { clock, run }
}

describe('rests while a stream passes', () => {
  it('do not begin with little work, whatever others are sent', () => {
    const { clock, run } = start()
    assert.equal(
      run(5_000, () => 800, { work: 49 }),
      0,
    )
    assert.equal(clock.restedMs, 0)
  })

  it('begin after the messages were counted, and last for 1 ms each', () => {
    const { clock, run } = start()
    assert.equal(
      run(50, () => 800),
      0,
    )
    const count = run(500, () => 800)
    assert.ok(count > 200, `${count} rests in half a second`)
    assert.equal(clock.restedMs, count)
  })

  it('go on while as much is sent with them', () => {
    const { run } = start()
    run(200, () => 800)
    const count = run(10_000, (hasRested) => (hasRested ? 700 : 800))
    assert.ok(count > 4_500, `${count} rests in ten seconds`)
  })

  it('end when less is sent with them, and take little of the time', () => {
    const { run } = start()
    const count = run(10_000, (hasRested) => (hasRested ? 100 : 800))
    assert.ok(count > 0, 'they are tried')
    assert.ok(count < 300, `${count} rests in ten seconds`)
  })

  it('end when a message takes as much CPU time with them', () => {
    const { run } = start()
    const count = run(10_000, () => 800, { cpuShare: 0.97 })
    assert.ok(count > 0, 'they are tried')
    assert.ok(count < 300, `${count} rests in ten seconds`)
  })

  it('end when they do not change the stream, though a message took less CPU time with them', () => {
    const { run } = start()
    const count = run(10_000, () => 800, { messagesOfAChunk: 1 })
    assert.ok(count > 0, 'they are tried')
    assert.ok(count < 300, `${count} rests in ten seconds`)
  })

  it('end with the stream', () => {
    const { run } = start()
    run(500, () => 800)
    run(1_200, () => 10, { work: 10 })
    assert.equal(
      run(5_000, () => 10, { work: 10 }),
      0,
    )
  })
})
