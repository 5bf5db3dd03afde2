import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FrameCounter, HeardFrameCounter } from './frame-counter.ts'

describe('the frame counter of a device', () => {
  it('counts from 0 to the end of its bits, and no number twice', () => {
    const counter = new FrameCounter(16, 65_534)
    assert.deepEqual([counter.take(), counter.take(), counter.take()], [65_534, 65_535, undefined])
    assert.equal(new FrameCounter(32).take(), 0)
    assert.equal(new FrameCounter(32, 65_536).take(), 65_536)
  })
})

describe('the frame counter that a network server hears', () => {
  it('is made whole out of 16 bits, over their end', () => {
    const heard = new HeardFrameCounter(65_534)
    assert.deepEqual(heard.hear(0xffff), { fCnt: 65_535, isRepeated: false })
    assert.deepEqual(heard.hear(0), { fCnt: 65_536, isRepeated: false })
    assert.deepEqual(heard.hear(9), { fCnt: 65_545, isRepeated: false })
  })

  it('tells frames that were heard before', () => {
    const heard = new HeardFrameCounter()
    assert.deepEqual(heard.hear(5), { fCnt: 5, isRepeated: false })
    assert.deepEqual(heard.hear(5), { fCnt: 5, isRepeated: true })
    assert.deepEqual(heard.hear(3), { fCnt: 3, isRepeated: true })
    assert.deepEqual(heard.hear(6), { fCnt: 6, isRepeated: false })
  })
})
