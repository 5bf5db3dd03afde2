import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { REMEDIED_CODES, remedyOf } from './remedies.ts'

test('each reason that has a remedy is a reason of the broker', () => {
  const documented = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
  assert.deepEqual(
    REMEDIED_CODES.filter((code) => !documented.includes(`\`${code}\``)),
    [],
  )
  assert.equal(remedyOf('nothing_of_ours'), undefined)
})
