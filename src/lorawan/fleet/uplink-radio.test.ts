import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SAMPLES_A } from '../contracts/samples-a.ts'
import { SAMPLES_B } from '../contracts/samples-b.ts'
import { radioOf } from './uplink-radio.ts'

test('family B tells all: the best gateway, and the margin above the need of the spreading factor', () => {
  assert.deepEqual(radioOf(SAMPLES_B.up), { fCnt: 118, rssi: -60, snr: 9.5, marginDb: 17 })
  const rxInfo = [{ rssi: -100, snr: -12 }, { rssi: -110, snr: -9 }, { rssi: -90 }]
  const txInfo = { modulation: { lora: { spreadingFactor: 10 } } }
  assert.deepEqual(radioOf({ rxInfo, txInfo }), { rssi: -110, snr: -9, marginDb: 6 })
})

test('family A tells no spreading factor by the index of a data rate, and one by loRaModulationInfo', () => {
  const { marginDb, ...plain } = radioOf(SAMPLES_A.up)
  assert.equal(marginDb, undefined)
  assert.equal(plain.fCnt, SAMPLES_A.up.fCnt)
  const txInfo = { loRaModulationInfo: { spreadingFactor: 12 } }
  assert.equal(radioOf({ rxInfo: [{ rssi: -130, loRaSNR: -18 }], txInfo }).marginDb, 2)
})

test('members of another type are left out', () => {
  assert.deepEqual(radioOf({ fCnt: 'seven', rxInfo: 'none', txInfo: [] }), {})
  assert.deepEqual(radioOf({ fCnt: -1, rxInfo: [null, { rssi: 'x' }] }), {})
})
