import assert from 'node:assert/strict'
import { test } from 'node:test'
import { portsOf, portsText } from './port-list.ts'

test('numbers and ranges are read, each FPort once and in order', () => {
  assert.deepEqual(portsOf(''), [])
  assert.deepEqual(portsOf(' 10, 2 ,5-7,, 6'), [2, 5, 6, 7, 10])
  assert.deepEqual(portsOf('200 – 202'), [200, 201, 202])
})

test('a text that is no list of FPorts is refused', () => {
  for (const text of ['0', '256', '7-5', 'x', '1 2', '1;2', '-1', '1.5', '250-300'])
    assert.equal(portsOf(text), undefined)
})

test('FPorts are written so that they read back as they are', () => {
  const rules = [9, 1, 2, 3, 5, 6].map((fPort) => ({ fPort, use: 'DECODE' as const }))
  const text = portsText([...rules, { fPort: 4, use: 'PASS' }], 'DECODE')
  assert.equal(text, '1-3, 5, 6, 9')
  assert.deepEqual(portsOf(text), [1, 2, 3, 5, 6, 9])
  assert.equal(portsText(rules, 'PASS'), '')
})
