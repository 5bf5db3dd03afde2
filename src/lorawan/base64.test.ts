import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assert as holds, constantFrom, property, string, uint8Array } from 'fast-check'
import { DATA_PATTERN, decodeBase64, MAXIMUM_DATA_BYTES } from './base64.ts'

test('bytes come back from base64, with padding and without', () => {
  holds(
    property(uint8Array({ maxLength: 300 }), (array) => {
      const bytes = Buffer.from(array)
      const text = bytes.toString('base64')
      assert.deepEqual(decodeBase64(text), bytes)
      assert.deepEqual(decodeBase64(text.replace(/=+$/, '')), bytes)
    }),
  )
})

test('a text in another form of base64 is refused', () => {
  holds(
    property(
      string({
        unit: constantFrom('A', 'Q', 'g', 'w', 'B', 'Z', '0', '9', '+', '/', '=', '-', '_', ' '),
        maxLength: 12,
      }),
      (text) => {
        const decoded = decodeBase64(text)
        const canonical = Buffer.from(text, 'base64').toString('base64')
        assert.equal(decoded !== undefined, text === canonical || text === canonical.replace(/=+$/, ''), text)
      },
    ),
    { numRuns: 2000 },
  )
  assert.equal(decodeBase64('A'.repeat(1_000_001)), undefined)
})

test('the pattern of a command’s data takes as many bytes as a frame has room for, and no more', () => {
  const pattern = new RegExp(DATA_PATTERN)
  for (const length of [0, 1, 240, 241, MAXIMUM_DATA_BYTES]) {
    assert.match(Buffer.alloc(length, 7).toString('base64'), pattern)
  }
  for (const length of [MAXIMUM_DATA_BYTES + 1, MAXIMUM_DATA_BYTES + 2, 500]) {
    assert.doesNotMatch(Buffer.alloc(length, 7).toString('base64'), pattern)
  }
})
