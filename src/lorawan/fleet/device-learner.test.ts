import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { DeviceLearner } from './device-learner.ts'
import type { Learned } from './device-learner.ts'

const START_MS = 1_767_225_600_000
const MINUTE_MS = 60_000

/** Hears the frames of a device that sends one in ten minutes; `fCnts` are those that arrive. */
function hear(learner: DeviceLearner, fCnts: readonly number[], fromMs = START_MS): Learned {
  let learned: Learned = {}
  const [first = 0] = fCnts
  for (const fCnt of fCnts) learned = learner.uplink(fromMs + (fCnt - first) * 10 * MINUTE_MS, { fCnt })
  return learned
}

const upTo = (last: number, from = 0): number[] => Array.from({ length: last - from + 1 }, (_, index) => from + index)

describe('the interval of a device', () => {
  it('is not known before four gaps', () => {
    assert.equal(hear(new DeviceLearner(), upTo(3)).intervalSeconds, undefined)
    assert.equal(hear(new DeviceLearner(), upTo(4)).intervalSeconds, 600)
  })

  it('is not longer because frames are lost', () => {
    assert.equal(hear(new DeviceLearner(), [0, 2, 3, 5, 7, 10, 11]).intervalSeconds, 600)
  })

  it('is the rest between bursts, for a device that sends three uplinks at a time', () => {
    const learner = new DeviceLearner()
    let learned: Learned = {}
    for (let fCnt = 0; fCnt < 30; fCnt += 1) {
      const atMs = START_MS + Math.floor(fCnt / 3) * 60 * MINUTE_MS + (fCnt % 3) * 5_000
      learned = learner.uplink(atMs, { fCnt })
    }
    assert.equal(learned.intervalSeconds, 3_590)
  })

  it('is learned without frame counters, and from uplinks of which most are only counted', () => {
    const learner = new DeviceLearner()
    let learned: Learned = {}
    for (let minute = 0; minute <= 5; minute += 1) {
      learner.passed(5)
      learned = learner.uplink(START_MS + minute * MINUTE_MS, {})
    }
    assert.equal(learned.intervalSeconds, 10)
  })

  it('stays the true one for any losses, any jitter of a tenth and one outage', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 10, max: 86_400 }),
        fc.array(
          fc.record({ lost: fc.integer({ min: 0, max: 20 }), jitter: fc.double({ min: 0, max: 1, noNaN: true }) }),
          {
            minLength: 6,
            maxLength: 60,
          },
        ),
        fc.nat(),
        (seconds, frames, place) => {
          const learner = new DeviceLearner()
          let learned: Learned = {}
          let fCnt = 0
          let base = START_MS
          for (const [index, { lost, jitter }] of frames.entries()) {
            fCnt += 1 + lost
            base += (1 + lost) * seconds * 1000
            // The device was off, and went on to count where it was.
            if (index === place % frames.length) base += 30 * seconds * 1000
            learned = learner.uplink(base + (jitter * seconds * 1000) / 10, { fCnt })
          }
          const { intervalSeconds = 0 } = learned
          assert.ok(intervalSeconds >= seconds * 0.89 - 1 && intervalSeconds <= seconds * 1.11 + 1)
        },
      ),
    )
  })
})

describe('the loss of a device', () => {
  it('is told from twenty frames on', () => {
    assert.equal(hear(new DeviceLearner(), upTo(19)).lossPercent, undefined)
    assert.deepEqual(
      [hear(new DeviceLearner(), upTo(20)).lossPercent, hear(new DeviceLearner(), upTo(20)).losingFrames],
      [0, false],
    )
  })

  it('comes from gaps of the frame counter, and fades once frames arrive', () => {
    const learner = new DeviceLearner()
    const some = upTo(40).filter((fCnt) => fCnt % 5 !== 4)
    const lossy = hear(learner, some)
    assert.deepEqual([lossy.lossPercent, lossy.losingFrames], [20, true])
    const healed = hear(learner, upTo(300, 41))
    assert.equal(healed.losingFrames, false)
    assert.ok((healed.lossPercent ?? 100) < 5)
  })

  it('stays a fault until it is half of what made it one', () => {
    const learner = new DeviceLearner()
    hear(
      learner,
      upTo(30).filter((fCnt) => fCnt % 8 !== 7),
    )
    const between = hear(learner, upTo(45, 31))
    assert.ok((between.lossPercent ?? 0) < 10 && (between.lossPercent ?? 0) >= 5)
    assert.equal(between.losingFrames, true)
  })

  for (const [name, before, after] of [
    ['a rollover of 16 bits', 65_535, 0],
    ['a rollover of 32 bits', 4_294_967_295, 0],
    ['a counter that began anew', 5_000, 0],
    ['a jump that no loss explains', 5_000, 60_000],
    ['an outage of the network server', 5_000, 5_100],
  ] as const) {
    it(`is not ${name}`, () => {
      const learner = new DeviceLearner()
      hear(learner, upTo(before, before - 30))
      assert.equal(hear(learner, upTo(after + 30, after), START_MS + 86_400_000).lossPercent, 0)
    })
  }

  it('counts the frames that a rollover loses', () => {
    const learner = new DeviceLearner()
    hear(learner, upTo(65_535, 65_516))
    assert.equal(hear(learner, upTo(14, 5), START_MS + 86_400_000).lossPercent, 14.7)
  })

  it('is not a join, nor what a device sent before it', () => {
    const learner = new DeviceLearner()
    hear(learner, upTo(30))
    learner.joined()
    assert.equal(hear(learner, upTo(60, 40), START_MS + 86_400_000).lossPercent, 0)
  })

  it('is not a frame that came late or again', () => {
    const learner = new DeviceLearner()
    let learned: Learned = {}
    for (const fCnt of [...upTo(20), 20, 22, 21, ...upTo(40, 23)]) learned = learner.uplink(START_MS, { fCnt })
    assert.equal(learned.lossPercent, 0)
  })

  it('counts uplinks that were not read', () => {
    const learner = new DeviceLearner()
    learner.uplink(START_MS, { fCnt: 100 })
    learner.passed(39)
    assert.equal(learner.uplink(START_MS + MINUTE_MS, { fCnt: 150 }).lossPercent, 20)
  })
})

describe('the signal of a device', () => {
  it('is weak by its mean margin, and until it is clearly better', () => {
    const learner = new DeviceLearner()
    const of = (marginDb: number): boolean | undefined => learner.uplink(START_MS, { marginDb }).weakSignal
    assert.equal(learner.uplink(START_MS, { rssi: -120, snr: -3 }).weakSignal, undefined)
    assert.equal(of(8), false)
    assert.equal(of(1), false)
    assert.equal(of(1), true)
    assert.equal(of(9), true)
    of(14)
    assert.equal(of(14), false)
  })
})
