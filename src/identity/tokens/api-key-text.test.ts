import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newApiKeyId, newApiKeySecret, readApiKey, writeApiKey } from './api-key-text.ts'

test('a key is recognisable, and its text gives its parts back', () => {
  for (let count = 0; count < 100; count += 1) {
    const parts = { id: newApiKeyId(), secret: newApiKeySecret() }
    const text = writeApiKey(parts)
    assert.match(text, /^fg_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/)
    assert.deepEqual(readApiKey(text), parts)
  }
})

test('the text of a key is for ever: scanners of secrets check the checksum', () => {
  const text = writeApiKey({ id: '0123456789ab', secret: 'A'.repeat(43) })
  assert.equal(text, `fg_0123456789ab_${'A'.repeat(43)}3bDqQs`)
})

test('a key with one other character, cut or longer, is no key', () => {
  const text = writeApiKey({ id: newApiKeyId(), secret: newApiKeySecret() })
  for (let at = 0; at < text.length; at += 1) {
    const other = text[at] === 'x' ? 'y' : 'x'
    assert.equal(readApiKey(text.slice(0, at) + other + text.slice(at + 1)), undefined, String(at))
  }
  for (const wrong of ['', 'fg_', text.slice(0, -1), `${text}0`, ` ${text}`, `${text}\n`, text.replace('fg_', 'FG_')]) {
    assert.equal(readApiKey(wrong), undefined, wrong)
  }
})
