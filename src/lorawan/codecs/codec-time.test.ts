import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { CodecTime } from './codec-time.ts'

let clock: TestClock
let time: CodecTime

beforeEach(() => {
  clock = new TestClock()
  time = new CodecTime({ clock, boundOf: (organizationId) => (organizationId === 'small' ? 50 : 500) })
})

describe('the processor time of an organization', () => {
  it('may be used for ten seconds at once, and then as the bound says', () => {
    for (let n = 0; n < 50; n += 1) {
      assert.ok(time.hasTime('o'))
      time.spend('o', 100)
    }
    assert.deepEqual([time.hasTime('o'), time.msPerSecond('o')], [false, 500])
    let usedMs = 0
    for (let second = 0; second < 60; second += 1) {
      for (; time.hasTime('o'); usedMs += 1) time.spend('o', 1)
      clock.advance(1_000)
    }
    assert.ok(usedMs > 0.9 * 59 * 500 && usedMs <= 60 * 500, `${usedMs} ms in a minute`)
  })

  it('is back after some seconds without use, and takes nothing from others', () => {
    time.spend('o', 10_000)
    assert.deepEqual([time.hasTime('o'), time.hasTime('p')], [false, true])
    clock.advance(7_000)
    assert.equal(time.hasTime('o'), true)
  })

  it('has the bound of the organization', () => {
    time.spend('small', 500)
    time.spend('o', 500)
    assert.deepEqual([time.hasTime('small'), time.hasTime('o')], [false, true])
  })

  it('is told for the organizations whose scripts have run lately', () => {
    time.spend('o', 1_000)
    time.spend('p', 100)
    assert.deepEqual([...time.organizations()], ['o', 'p'])
    clock.advance(40_000)
    assert.deepEqual([...time.organizations()], ['o'])
    clock.advance(40_000)
    assert.deepEqual([...time.organizations()], [])
  })

  it('is remembered for ten thousand organizations; the use that has faded is forgotten first', () => {
    time.spend('idle', 20)
    clock.advance(30_000)
    time.spend('busy', 9_000)
    for (let n = 0; n < 9_999; n += 1) time.spend(`o${n}`, 20)
    assert.equal(time.hasTime('busy'), false)
    assert.equal([...time.organizations()].length, 10_000)
    time.spend('one more', 20)
    assert.deepEqual([[...time.organizations()].length, time.hasTime('busy')], [10_000, true])
  })
})

describe('a slow organization', () => {
  it('is known as slow for a quarter of an hour after an endless loop', () => {
    time.spend('o', 100)
    assert.deepEqual([time.isSlow('o'), time.isSlow('p')], [true, false])
    clock.advance(899_999)
    assert.equal(time.isSlow('o'), true)
    clock.advance(1)
    assert.equal(time.isSlow('o'), false)
    time.spend('o', 30)
    assert.equal(time.isSlow('o'), false)
  })

  it('has several slow runs, or a long one; any number of quick runs are none', () => {
    for (let n = 0; n < 1_000; n += 1) time.spend('quick', 10)
    for (let n = 0; n < 7; n += 1) time.spend('slow', 10.5)
    assert.deepEqual([time.isSlow('quick'), time.isSlow('slow')], [false, false])
    time.spend('slow', 10.5)
    assert.equal(time.isSlow('slow'), true)
  })

  it('is none because its large scripts were loaded', () => {
    for (let n = 0; n < 1_000; n += 1) time.spend('o', 25, true)
    assert.equal(time.isSlow('o'), false)
    for (let n = 0; n < 3; n += 1) time.spend('o', 26, true)
    assert.equal(time.isSlow('o'), true)
  })

  it('makes it known as quick after many quick runs, and no more after a slow one', () => {
    const run = (count: number, ms: number): boolean => {
      for (let n = 0; n < count; n += 1) time.spend('o', ms)
      return time.isQuick('o')
    }
    assert.deepEqual([time.isQuick('o'), run(255, 0.1), run(1, 0.1)], [false, false, true])
    assert.equal(run(1_000, 0.1), true)
    assert.equal(run(1, 11), false)
    assert.deepEqual([run(255, 0.1), run(1, 0.1)], [false, true])
    time.distrust('o')
    assert.deepEqual([run(255, 0.1), run(1, 0.1)], [false, true])
  })

  it('does not make it known as quick where one run of thirty is a little longer', () => {
    for (let n = 0; n < 3_000; n += 1) time.spend('o', n % 30 === 0 ? 3 : 0.1)
    assert.equal(time.isQuick('o'), false)
    for (let n = 0; n < 3_000; n += 1) time.spend('o', n % 300 === 0 ? 3 : 0.1)
    assert.equal(time.isQuick('o'), true)
  })

  it('is not known as quick by runs that load a script, and such a run takes nothing back', () => {
    for (let n = 0; n < 1_000; n += 1) time.spend('o', 0.1, true)
    assert.equal(time.isQuick('o'), false)
    for (let n = 0; n < 256; n += 1) time.spend('o', 0.1)
    time.spend('o', 20, true)
    assert.equal(time.isQuick('o'), true)
    time.spend('o', 30, true)
    assert.equal(time.isQuick('o'), false)
  })
})
