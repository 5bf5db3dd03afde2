import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { Quarantine } from './quarantine.ts'

let nowMs = 0
let quarantine: Quarantine

beforeEach(() => {
  nowMs = 1_000_000
  quarantine = new Quarantine(() => nowMs)
})

const held = (script = 'slow') => quarantine.heldMs('5', script)

describe('a script that takes too long', () => {
  it('is held back for 10 s at the third time within a minute, and at once when it comes again', () => {
    quarantine.strike('5', 'slow', 1)
    quarantine.strike('5', 'slow', 1)
    assert.equal(held(), 0)
    quarantine.strike('5', 'slow', 1)
    assert.equal(held(), 10_000)
    nowMs += 10_000
    assert.equal(held(), 0)
    quarantine.strike('5', 'slow', 1)
    assert.equal(held(), 20_000)
  })

  it('is held back for 5 minutes at most', () => {
    for (let n = 0; n < 20; n += 1) quarantine.strike('5', 'slow', 3)
    assert.equal(held(), 300_000)
  })

  it('runs at once when it was changed, and other applications always do', () => {
    quarantine.strike('5', 'slow', 3)
    assert.equal(held('mended'), 0)
    assert.equal(quarantine.heldMs('6', 'slow'), 0)
    quarantine.strike('5', 'mended', 1)
    assert.equal(held('mended'), 0)
  })

  it('is forgiven what is more than a minute ago', () => {
    for (let n = 0; n < 10; n += 1) {
      quarantine.strike('5', 'slow', 1)
      nowMs += 61_000
    }
    assert.equal(held(), 0)
  })

  it('begins anew after a quarter of an hour', () => {
    for (let n = 0; n < 5; n += 1) quarantine.strike('5', 'slow', 3)
    nowMs += 900_001
    quarantine.strike('5', 'slow', 3)
    assert.equal(held(), 10_000)
  })

  it('is forgotten when ten thousand others came after it', () => {
    quarantine.strike('5', 'slow', 3)
    for (let n = 0; n < 10_000; n += 1) quarantine.strike(`other ${n}`, 'slow', 3)
    assert.equal(held(), 0)
    assert.ok(quarantine.heldMs('other 9999', 'slow') > 0)
  })
})
