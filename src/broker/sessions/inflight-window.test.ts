import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { InflightWindow } from './inflight-window.ts'
import type { Inflight } from './session.ts'

function entryOf(packetId: number): Inflight {
  return { packetId } as Inflight
}

describe('the window of messages in flight', () => {
  it('does as a Map does, except that an identifier that is added again comes last', () => {
    const packetId = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(1, 9, 17, 65_535, 32_768, 513))
    const step = fc.record({ packetId, isAdded: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const window = new InflightWindow()
        const map = new Map<number, Inflight>()
        for (const { packetId: id, isAdded } of steps) {
          if (isAdded) {
            const entry = entryOf(id)
            window.add(entry)
            map.delete(id)
            map.set(id, entry)
          } else assert.equal(window.delete(id), map.delete(id))
          assert.equal(window.size, map.size)
          assert.equal(window.get(id), map.get(id))
        }
        for (const [id, entry] of map) assert.equal(window.get(id), entry)
        assert.deepEqual(
          [...window.values()].map((entry) => entry.packetId),
          [...map.keys()],
        )
      }),
    )
  })

  it('lets the entry that it gave last be deleted, and is empty after that', () => {
    const window = new InflightWindow()
    for (let packetId = 1; packetId <= 3_000; packetId += 1) window.add(entryOf(packetId))
    let given = 0
    for (const { packetId } of window.values()) {
      given += 1
      assert.equal(packetId, given)
      window.delete(packetId)
    }
    assert.equal(given, 3_000)
    assert.equal(window.size, 0)
    assert.equal(window.has(1), false)
    window.add(entryOf(5))
    window.clear()
    assert.deepEqual([...window.values()], [])
    assert.equal(window.get(5), undefined)
  })
})
