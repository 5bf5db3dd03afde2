import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uplinkVector } from './uplink-vector.ts'
import type { UplinkSample } from './uplink-vector.ts'

const UPLINK: UplinkSample = {
  kind: 'up',
  deviceName: 'meter',
  receivedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5),
  fPort: 2,
  fCnt: 7,
  data: 'AWcA+g==',
  object: { temperature: 25 },
}

test('the newest uplink with bytes and an object becomes the vector', () => {
  const events = [
    { ...UPLINK, fCnt: 6 },
    UPLINK,
    { ...UPLINK, object: undefined },
    { ...UPLINK, data: undefined },
    { ...UPLINK, fPort: undefined },
    { ...UPLINK, kind: 'status' },
  ]
  assert.deepEqual(uplinkVector(events, { factor: '2' }), {
    name: 'meter, frame 7',
    fPort: 2,
    bytes: '016700fa',
    recvTime: '2026-01-02T03:04:05.000Z',
    variables: { factor: '2' },
    expected: { data: { temperature: 25 } },
  })
})

test('a device without variables gives a vector without them, and no uplink gives no vector', () => {
  assert.equal(Object.hasOwn(uplinkVector([UPLINK], {}) ?? {}, 'variables'), false)
  assert.equal(uplinkVector([], {}), undefined)
  assert.equal(uplinkVector([{ ...UPLINK, data: '?' }], {}), undefined)
})
