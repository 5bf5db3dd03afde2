import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SAMPLES_A } from '../contracts/samples-a.ts'
import { SAMPLES_B } from '../contracts/samples-b.ts'
import { numbersOf, statusFacts, uplinkFacts } from './event-facts.ts'

const json = (value: unknown) => Buffer.from(JSON.stringify(value))

test('both families tell the same facts of an uplink', () => {
  const facts = { fCnt: 118, rssi: -60, snr: 9.5, spreadingFactor: 7, dataRate: 5, object: SAMPLES_A.up.object }
  assert.deepEqual(uplinkFacts(json(SAMPLES_A.up)), { ...facts, devAddr: '' })
  assert.deepEqual(uplinkFacts(json(SAMPLES_B.up)), { ...facts, devAddr: SAMPLES_B.up.devAddr })
  for (const { status } of [SAMPLES_A, SAMPLES_B]) {
    assert.deepEqual(statusFacts(json(status)), { battery: status.batteryLevel, margin: 10 })
  }
})

test('the signal is that of the gateway with the highest RSSI', () => {
  const rxInfo = [{ rssi: -90, snr: 12 }, { rssi: -61, snr: -3 }, { rssi: -61, snr: 4 }, { snr: 20 }, 'nothing']
  const { rssi, snr } = uplinkFacts(json({ rxInfo })) ?? assert.fail()
  assert.deepEqual([rssi, snr], [-61, -3])
})

test('a spreading factor follows from the data rate and the frequency where it is not told', () => {
  const factor = (frequency: number, dr: number) => uplinkFacts(json({ txInfo: { frequency, dr } }))?.spreadingFactor
  assert.deepEqual(
    [0, 5, 6, 7].map((dr) => factor(868_100_000, dr)),
    [12, 7, 7, undefined],
  )
  assert.deepEqual(
    [0, 3, 4, 5].map((dr) => factor(902_300_000, dr)),
    [10, 7, 8, undefined],
  )
  assert.deepEqual(
    [0, 5, 6].map((dr) => factor(916_800_000, dr)),
    [12, 7, 8],
  )
  assert.equal(uplinkFacts(json({ txInfo: { loRaModulationInfo: { spreadingFactor: 9 } } }))?.spreadingFactor, 9)
  assert.equal(
    uplinkFacts(json({ txInfo: { modulation: { lora: { spreadingFactor: 13 } } } }))?.spreadingFactor,
    undefined,
  )
})

test('foreign, damaged and huge payloads are no facts', () => {
  for (const text of ['', 'x', '1', '[]', 'null', '{"a":'])
    assert.equal(uplinkFacts(Buffer.from(text)), undefined, text)
  assert.equal(uplinkFacts(json({ fCnt: 1, data: 'A'.repeat(300_000) })), undefined)
  const nothing = {
    rssi: undefined,
    snr: undefined,
    spreadingFactor: undefined,
    dataRate: undefined,
    object: undefined,
  }
  const odd = { fCnt: -1, devAddr: 5, rxInfo: {}, txInfo: [], dr: 99 }
  assert.deepEqual(uplinkFacts(json(odd)), { fCnt: undefined, devAddr: '', ...nothing })
})

function found(object: unknown): [string, number][] {
  const numbers: [string, number][] = []
  numbersOf(object, (path, value) => numbers.push([path, value]))
  return numbers
}

test('numbers are found at any depth, by their paths; all else is passed over', () => {
  const object = { a: { 1: 2.5, b: [3, 'x', { c: -0.5 }] }, yes: true, none: null, text: '5' }
  assert.deepEqual(found(object), [
    ['a.1', 2.5],
    ['a.b.0', 3],
    ['a.b.2.c', -0.5],
  ])
  assert.deepEqual(found(7), [])
  assert.deepEqual(found(JSON.parse('{"__proto__":{"a":1}}')), [['__proto__.a', 1]])
  assert.deepEqual(found({ ['x'.repeat(129)]: 1, ['y'.repeat(128)]: 2 }), [['y'.repeat(128), 2]])
  assert.equal(found(Array.from({ length: 5_000 }, () => 1)).length, 1_000)
  assert.deepEqual(found(JSON.parse('{"a":'.repeat(20) + '1' + '}'.repeat(20))), [])
})
