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

test('another organization’s application is not taken for a wildcard', () => {
  assert.match(remedyOf('subscribe_wildcard_not_granted') ?? '', /Wildcards across applications/)
  assert.match(remedyOf('subscribe_application_not_granted') ?? '', /token of that organization/)
  assert.doesNotMatch(remedyOf('subscribe_not_granted') ?? '', /ildcard/)
})
