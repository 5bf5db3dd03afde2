import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDevEui } from './eui.ts'

test('a DevEUI is read in any case, with or without 0x, and written in lower case', () => {
  for (const text of ['0102030405ABCDEF', '0102030405abcdef', '0x0102030405AbCdEf', '0X0102030405abcdef']) {
    assert.equal(parseDevEui(text), '0102030405abcdef')
  }
})

test('what is no DevEUI is not taken for one', () => {
  const texts = [
    '',
    '0x',
    '01020304',
    '0102030405abcdeg',
    '0102030405abcdef0',
    ' 0102030405abcde',
    '0x0102030405abcde',
    '+0102030405abcdef',
  ]
  for (const text of [...texts, '01-02-03-04-05-ab-cd-ef', '0102030405abcde\n', '0'.repeat(1_000_000)]) {
    assert.equal(parseDevEui(text), undefined, text.slice(0, 30))
  }
})
