import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LoadedScripts } from './loaded-scripts.ts'
import { MAXIMUM_LOADED_BYTES, MAXIMUM_LOADED_SCRIPTS } from './script-limits.ts'

describe('the loaded scripts of a process', () => {
  it('have a slot each, and keep it', () => {
    const scripts = new LoadedScripts()
    assert.deepEqual(scripts.use('a', 'o'), { slot: 0, isNew: true, dropped: [] })
    assert.deepEqual(scripts.use('b', 'o'), { slot: 1, isNew: true, dropped: [] })
    assert.deepEqual(scripts.use('a', 'o'), { slot: 0, isNew: false, dropped: [] })
    assert.equal(scripts.has('b'), true)
  })

  it('go beyond their number: first the script that was not used for the longest time', () => {
    const scripts = new LoadedScripts()
    for (let n = 0; n < MAXIMUM_LOADED_SCRIPTS; n += 1) assert.deepEqual(scripts.use(`${n}`, 'o').dropped, [])
    scripts.use('0', 'o')
    assert.deepEqual(scripts.use('one more', 'o').dropped, [1])
    assert.equal(scripts.has('0'), true)
    assert.equal(scripts.has('1'), false)
  })

  it('go beyond their bytes, so many as it takes, and never the one that is about to run', () => {
    const scripts = new LoadedScripts()
    for (const digest of ['a', 'b', 'c']) {
      scripts.use(digest, 'o')
      scripts.ran(digest, MAXIMUM_LOADED_BYTES / 2)
    }
    assert.deepEqual(scripts.use('d', 'o').dropped, [0])
    scripts.ran('d', 2 * MAXIMUM_LOADED_BYTES)
    assert.deepEqual(scripts.use('d', 'o').dropped, [])
    assert.deepEqual(scripts.use('e', 'o').dropped, [1, 2, 3])
    scripts.ran('e', 1)
    assert.deepEqual(scripts.use('f', 'o').dropped, [])
  })

  it('of other organizations stay when one has ten thousand', () => {
    const scripts = new LoadedScripts()
    for (const organization of ['a', 'b']) {
      for (let n = 0; n < 100; n += 1) {
        scripts.use(`${organization} ${n}`, organization)
        scripts.ran(`${organization} ${n}`, 200_000)
      }
    }
    for (let n = 0; n < 10_000; n += 1) {
      scripts.use(`hostile ${n}`, 'hostile')
      scripts.ran(`hostile ${n}`, n % 2 === 0 ? 1_000 : 300_000)
    }
    for (const organization of ['a', 'b']) {
      for (let n = 0; n < 100; n += 1) assert.ok(scripts.has(`${organization} ${n}`), `${organization} ${n}`)
    }
    assert.ok(scripts.has('hostile 9999'))
    assert.ok(!scripts.has('hostile 0'))
  })

  it('do not count a script that is gone', () => {
    const scripts = new LoadedScripts()
    scripts.ran('never used', MAXIMUM_LOADED_BYTES * 2)
    scripts.use('a', 'o')
    assert.deepEqual(scripts.use('b', 'o').dropped, [])
  })
})
