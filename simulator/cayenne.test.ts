import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeCayenne } from './cayenne.ts'

describe('Cayenne LPP', () => {
  it('encodes temperature and humidity as the format prescribes', () => {
    const encoding = encodeCayenne({ temperatureSensor: { 1: 25 }, humiditySensor: { 1: 32 } })
    assert.ok(encoding.ok)
    assert.equal(encoding.bytes.toString('hex'), '016700fa016840')
  })

  it('rounds to the resolution of the type, and tells the value that is carried', () => {
    const encoding = encodeCayenne({ analogInput: { 2: 4.351 }, temperatureSensor: { 1: -4.06 } })
    assert.ok(encoding.ok)
    assert.deepEqual(encoding.object, { analogInput: { 2: 4.35 }, temperatureSensor: { 1: -4.1 } })
    assert.equal(encoding.bytes.toString('hex'), '020201b30167ffd7')
  })

  it('encodes a position in three parts, channels ascending', () => {
    const encoding = encodeCayenne({
      gpsLocation: { 1: { latitude: 42.3519, longitude: -87.9094, altitude: 10 } },
      digitalOutput: { 9: 1, 3: 0 },
    })
    assert.ok(encoding.ok)
    assert.equal(encoding.bytes.toString('hex'), '030100090101018806765ff2960a0003e8')
  })

  it('refuses what it cannot carry', () => {
    for (const [object, message] of [
      [null, /not a JSON object/],
      [{ led: { 1: 1 } }, /no sensor named "led"/],
      [{ digitalOutput: 1 }, /not a map of channels/],
      [{ digitalOutput: { 256: 1 } }, /0 to 255/],
      [{ digitalOutput: { 1: 256 } }, /out of range/],
      [{ digitalOutput: { 1: -1 } }, /out of range/],
      [{ temperatureSensor: { 1: 3276.8 } }, /out of range/],
      [{ digitalOutput: { 1: '1' } }, /not a number/],
      [{ digitalOutput: { 1: Number.NaN } }, /out of range/],
      [{ gpsLocation: { 1: { latitude: 1 } } }, /not a number/],
    ] as const) {
      const encoding = encodeCayenne(object)
      assert.ok(!encoding.ok)
      assert.match(encoding.message, message)
    }
  })
})
