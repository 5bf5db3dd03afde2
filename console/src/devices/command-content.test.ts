import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hexOf } from '../broker/bytes.ts'
import { contentOf } from './command-content.ts'

test('bytes are taken as people write them', () => {
  for (const text of ['0102ff', '01 02 FF', '0x01 0x02 0xff', '01:02:ff', '01-02-FF']) {
    assert.deepEqual(contentOf('hex', text), { ok: true, content: { data: 'AQL/' } })
  }
  assert.deepEqual(contentOf('hex', ''), { ok: true, content: { data: '' } })
  assert.equal(hexOf('AQL/'), '01 02 ff')
})

test('what is no whole bytes, no base64 or no object is refused with how it should look', () => {
  for (const [form, text] of [
    ['hex', '012'],
    ['hex', '0g'],
    ['base64', 'AQL'.concat('!')],
    ['base64', 'A'],
    ['object', '[1]'],
    ['object', '7'],
    ['object', '{'],
  ] as const) {
    assert.equal(contentOf(form, text).ok, false, `${form} ${text}`)
  }
})

test('base64 is taken with and without padding', () => {
  for (const data of ['AQL/', 'AQ==', 'AQ', 'AQI=', 'AQI', '']) assert.equal(contentOf('base64', data).ok, true, data)
})
