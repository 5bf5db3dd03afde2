import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeviceLabels } from './device-labels.ts'

const PROFILE = { id: 'p-1', name: 'Meter "A"', tags: { kind: 'meter', floor: '0' } }

function labelled(event: string, own: Readonly<Record<string, string>> = {}): unknown {
  return JSON.parse(new DeviceLabels(own, PROFILE).into(Buffer.from(event)).toString())
}

test('names go into family A where there are none or empty ones, and the tags of the device go over those of the profile', () => {
  assert.deepEqual(labelled('{"devEUI":"01","deviceProfileID":"","fCnt":1}', { floor: '2' }), {
    deviceProfileName: 'Meter "A"',
    tags: { kind: 'meter', floor: '2' },
    devEUI: '01',
    deviceProfileID: 'p-1',
    fCnt: 1,
  })
})

test('names go into deviceInfo of family B, and those of the network server stay', () => {
  assert.deepEqual(labelled('{"deviceInfo":{"deviceProfileName":"theirs","deviceProfileId":"x","tags":{}},"fCnt":1}'), {
    deviceInfo: { deviceProfileName: 'theirs', deviceProfileId: 'x', tags: PROFILE.tags },
    fCnt: 1,
  })
  assert.deepEqual(labelled('{"deviceInfo":{},"fCnt":1}'), {
    deviceInfo: { deviceProfileName: 'Meter "A"', deviceProfileId: 'p-1', tags: PROFILE.tags },
    fCnt: 1,
  })
})

test('a null counts as none; what is no object, or breaks off, goes on as it came', () => {
  assert.partialDeepStrictEqual(labelled('{"deviceProfileID":null}'), { deviceProfileID: 'p-1' })
  for (const text of ['[]', '1', '{"deviceInfo":1}', '{"a":', '']) {
    const payload = Buffer.from(text)
    assert.equal(new DeviceLabels({}, { ...PROFILE, tags: {} }).into(payload), payload, text)
  }
})
