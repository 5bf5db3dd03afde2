import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { deviceStateOf } from './events.ts'
import type { AckEvent, StatusEvent } from './events.ts'
import { EVENT_KINDS } from './topics.ts'

const SEEN_MS = 1_700_000_000_000
const COMMON = { applicationID: '5', applicationName: 'a', deviceName: 'd', devEUI: '70b3d57ed0050a1f', tags: {} }
const STATUS: StatusEvent = {
  ...COMMON,
  margin: 7,
  externalPowerSource: false,
  batteryLevel: 81.5,
  batteryLevelUnavailable: false,
}
const ACK: AckEvent = { ...COMMON, acknowledged: true, fCnt: 4 }
/** A status event of ChirpStack v4. */
const STATUS_B = {
  deduplicationId: 'c0d5a1a2-5a0c-4f43-8a77-2f3c1d0e9b8a',
  time: '2026-01-01T00:00:00Z',
  deviceInfo: { tenantId: 't', applicationId: 'a', devEui: '70b3d57ed0050a1f', tags: {} },
  margin: -32,
  externalPowerSource: false,
  batteryLevelUnavailable: false,
  batteryLevel: 0,
}

describe('the state of a device', () => {
  it('is "seen" after what the device itself sent', () => {
    for (const kind of ['up', 'join'] as const) {
      assert.deepEqual(deviceStateOf(kind, Buffer.from('not read'), SEEN_MS), { lastSeenAtMs: SEEN_MS })
    }
    assert.deepEqual(stateOf('ack', ACK), { lastSeenAtMs: SEEN_MS })
  })

  it('is not read from a missing acknowledgement, nor from events of a network server or a gateway', () => {
    assert.equal(stateOf('ack', { ...ACK, acknowledged: false }), undefined)
    for (const kind of ['error', 'location', 'txack', 'log', 'integration'] as const) {
      assert.equal(stateOf(kind, STATUS), undefined)
    }
  })

  it('has battery and margin from a status of family A', () => {
    assert.deepEqual(stateOf('status', STATUS), {
      lastSeenAtMs: SEEN_MS,
      margin: 7,
      batteryLevel: 81.5,
      externalPowerSource: false,
    })
  })

  it('has battery and margin from a status of family B, zeros among them', () => {
    assert.deepEqual(stateOf('status', STATUS_B), {
      lastSeenAtMs: SEEN_MS,
      margin: -32,
      batteryLevel: 0,
      externalPowerSource: false,
    })
  })

  it('has no battery when there is external power or the level is unavailable', () => {
    assert.equal(stateOf('status', { ...STATUS, externalPowerSource: true })?.batteryLevel, undefined)
    assert.equal(stateOf('status', { ...STATUS, batteryLevelUnavailable: true })?.batteryLevel, undefined)
  })

  it('leaves out members that are out of range or of another type', () => {
    for (const wrong of [-33, 32, '7', null, [], 1e308]) {
      assert.equal(stateOf('status', { ...STATUS, margin: wrong })?.margin, undefined)
    }
    for (const wrong of [-1, 100.5, '81', null, {}]) {
      assert.equal(stateOf('status', { ...STATUS, batteryLevel: wrong })?.batteryLevel, undefined)
    }
  })

  it('is only "seen" after a status that cannot be read or is too large', () => {
    const large = Buffer.from(JSON.stringify({ ...STATUS, tags: { x: 'x'.repeat(65_536) } }))
    for (const payload of [Buffer.alloc(0), Buffer.from('[1'), Buffer.from('null'), Buffer.from([0xff]), large]) {
      assert.deepEqual(deviceStateOf('status', payload, SEEN_MS), { lastSeenAtMs: SEEN_MS })
    }
  })

  it('is read from any bytes without an exception', () => {
    fc.assert(
      fc.property(fc.constantFrom(...EVENT_KINDS), fc.oneof(fc.json(), fc.string()), (kind, text) => {
        deviceStateOf(kind, Buffer.from(text), SEEN_MS)
      }),
    )
  })
})

function stateOf(kind: Parameters<typeof deviceStateOf>[0], payload: object): ReturnType<typeof deviceStateOf> {
  return deviceStateOf(kind, Buffer.from(JSON.stringify(payload)), SEEN_MS)
}
