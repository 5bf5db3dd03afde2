import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceProfileFields } from '../api/device-profiles.ts'
import { draftOf, fieldsOf, withVector } from './profile-draft.ts'

const SAVED: DeviceProfileFields = {
  name: 'Water meter',
  description: '',
  vendor: 'Acme',
  model: 'W1',
  firmwareVersion: '',
  region: 'EU868',
  deviceClass: 'A',
  payloadCodec: 'CAYENNE_LPP',
  payloadDecoderScript: '',
  payloadEncoderScript: '',
  expectedIntervalSeconds: 900,
  batteryLimitPercent: null,
  marginLimitDb: 3,
  tags: { line: 'north' },
  variables: { factor: '2' },
  testVectors: [{ name: 'warm', fPort: 2, bytes: '016700fa', expected: { data: { temperature: 25 } } }],
  fPortRules: [
    { fPort: 2, use: 'DECODE' },
    { fPort: 10, use: 'PASS' },
  ],
}

test('a draft that nobody changed gives the saved fields', () => {
  assert.deepEqual(fieldsOf(draftOf(SAVED)), { ok: true, fields: SAVED })
  const bare = { ...SAVED, testVectors: [] }
  assert.deepEqual(fieldsOf(draftOf(bare)), { ok: true, fields: bare })
})

test('test vectors that are no JSON array are named as the fault', () => {
  const draft = draftOf(SAVED)
  assert.deepEqual(fieldsOf({ ...draft, vectors: '{}' }), {
    ok: false,
    of: 'vectors',
    message: 'Test vectors are a JSON array, like [].',
  })
  assert.match(JSON.stringify(fieldsOf({ ...draft, vectors: '[{' })), /This is not JSON: /)
})

test('FPorts that are none, or that are in both lists, are named as the fault', () => {
  const draft = draftOf(SAVED)
  assert.partialDeepStrictEqual(fieldsOf({ ...draft, decodedPorts: '1, x' }), { ok: false, of: 'ports' })
  const both = fieldsOf({ ...draft, passedPorts: '1-3' })
  assert.deepEqual(both, { ok: false, of: 'ports', message: 'FPort 2 is in both lists.' })
})

test('a vector is added behind the others, and never in a text that is no JSON array', () => {
  assert.deepEqual(JSON.parse(withVector('', { name: 'a' })), [{ name: 'a' }])
  assert.deepEqual(JSON.parse(withVector('[{"name":"a"}]', { name: 'b' })), [{ name: 'a' }, { name: 'b' }])
  assert.equal(withVector('[{', { name: 'b' }), '[{')
})
