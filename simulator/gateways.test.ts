import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createGateways } from './gateways.ts'
import type { Reception } from './gateways.ts'
import { createRandom } from './random.ts'

const TOWN = { latitude: 46.6, longitude: 7.9, altitude: 800 }
const NEXT_TOWN = { ...TOWN, longitude: 7.95 }
const random = createRandom(1)

describe('gateways', () => {
  const gateways = createGateways([TOWN, TOWN, NEXT_TOWN], random)

  it('stand where the devices are', () => {
    assert.equal(gateways.size, 2)
  })

  it('hear worse with distance, the best first', () => {
    const best = (east: number): number =>
      mean(Array.from({ length: 100 }, () => hear(TOWN.longitude - east)[0]?.rssi ?? Number.NaN))
    const [near, far, further] = [best(0), best(0.02), best(0.1)] as const
    assert.ok(near > far + 5 && far > further + 5, `${near}, ${far}, ${further} dBm`)
    const both = hear(TOWN.longitude + 0.025)
    assert.equal(both.length, 2)
    assert.ok((both[0]?.rssi ?? 0) >= (both[1]?.rssi ?? 0))
  })

  it('do not hear what is too far for its data rate, but the nearest at the slowest', () => {
    assert.deepEqual(hear(9, -7.5), [])
    assert.equal(hear(9, -20).length, 1)
  })

  it('send one frame at a time', () => {
    const [reception] = hear(TOWN.longitude)
    assert.ok(reception !== undefined)
    const { gateway } = reception
    assert.equal(gateways.send([gateway], 1000, 50), gateway)
    assert.equal(gateways.send([gateway], 1049, 50), undefined)
    assert.equal(gateways.freeAtMs([gateway]), 1050)
    assert.equal(gateways.send([gateway], 1050, 50), gateway)
  })

  it('need a place', () => {
    assert.throws(() => createGateways([], random), RangeError)
  })

  function hear(longitude: number, requiredSnr = -20): readonly Reception[] {
    return gateways.receptions({ from: { ...TOWN, longitude }, atMs: 0, requiredSnr, faintest: -20 }, random)
  }
})

function mean(values: readonly number[]): number {
  return values.reduce((sum, each) => sum + each, 0) / values.length
}
