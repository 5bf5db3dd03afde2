import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leavesOf, readEvent } from './live-event.ts'
import type { LiveEvent } from './live-event.ts'

const readText = (kind: string, text: string): LiveEvent =>
  readEvent({ id: '1-1', topicName: `application/7/device/0101010101010101/event/${kind}`, text, receivedAtMs: 5 })
const read = (kind: string, event: unknown): LiveEvent => readText(kind, JSON.stringify(event))

test('an uplink of family A tells device, frame, bytes, values and the gateway that heard it best', () => {
  const event = read('up', {
    deviceName: 'meter',
    fCnt: 0,
    fPort: 2,
    data: 'AWcA+g==',
    object: { temperatureSensor: { 1: 0 } },
    rxInfo: [
      { rssi: -110, loRaSNR: -3 },
      { rssi: -90, loRaSNR: 7.5 },
    ],
  })
  assert.deepEqual(
    [event.applicationId, event.devEui, event.deviceName, event.fCnt, event.rssi, event.snr, event.summary],
    ['7', '0101010101010101', 'meter', 0, -90, 7.5, 'temperature 0'],
  )
})

test('an uplink of family B is read by its own names', () => {
  const event = read('up', {
    deviceInfo: { deviceName: 'v4' },
    fPort: 1,
    data: 'AA==',
    rxInfo: [{ rssi: -70, snr: 9 }],
  })
  assert.deepEqual([event.deviceName, event.snr, event.summary], ['v4', 9, 'AA==  ·  port 1'])
})

test('faults are told apart: errors, logged errors, and acknowledgements that did not come', () => {
  assert.equal(read('error', { type: 'OTAA', error: 'nonce' }).isFault, true)
  assert.equal(read('log', { level: 'ERROR', code: 'F_CNT' }).isFault, true)
  assert.equal(read('log', { level: 'INFO', code: 'X' }).isFault, false)
  assert.equal(read('ack', { acknowledged: false }).isFault, true)
  assert.equal(read('ack', { acknowledged: true }).isFault, false)
})

test('whatever a device or a neighbour publishes is an event, never an exception', () => {
  for (const payload of [
    '',
    '{',
    'null',
    '[]',
    '"text"',
    '{"rxInfo":[null,1,"x"],"deviceInfo":7,"location":[]}',
    '\u0000',
  ]) {
    for (const kind of ['up', 'status', 'location', 'log', 'nothing']) {
      const event = readText(kind, payload)
      assert.equal(event.text, payload)
    }
  }
})

test('a deep or an endless object costs a bounded number of leaves', () => {
  let deep: unknown = 1
  for (let depth = 0; depth < 1000; depth += 1) deep = { deeper: deep }
  assert.deepEqual(leavesOf(deep), [])
  const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`value${index}`, index]))
  assert.equal(leavesOf(wide).length, 64)
})

test('a channel that is alone in its sensor goes without its number', () => {
  assert.deepEqual(leavesOf({ a: { 1: 5 }, b: { 1: 6, 2: 7 } }), [
    ['a', 5],
    ['b.1', 6],
    ['b.2', 7],
  ])
})

test('a command that was cancelled or replaced is told as an error event, and is no fault', () => {
  const wanted = {
    type: 'UNKNOWN',
    level: 'INFO',
    error: 'the command was cancelled',
    fCnt: 0,
    code: 'command_cancelled',
  }
  assert.deepEqual([read('error', wanted).isFault, read('error', wanted).summary], [false, 'the command was cancelled'])
  const foreign = { level: 'INFO', code: 'UNKNOWN', description: 'a later command with replace took its place' }
  assert.equal(read('error', foreign).isFault, false)
  const fault = { type: 'UNKNOWN', level: 'ERROR', error: 'no answer', code: 'command_unconfirmed' }
  assert.deepEqual([read('error', fault).isFault, read('error', fault).summary], [true, 'no answer'])
  assert.equal(read('error', { type: 'OTAA', error: 'of a network server' }).isFault, true)
})
