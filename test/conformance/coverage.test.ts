import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { renderReport, reportFile, taggedTitles, unknownTags, unproven } from './report.ts'
import { statements311 } from './statements-3.1.1.ts'
import { statements5 } from './statements-5.0.ts'

const titles = taggedTitles()

test('the lists are whole: 251 statements of MQTT 5.0, 141 of MQTT 3.1.1, each once', () => {
  assert.equal(new Set(statements5.map(({ tag }) => tag)).size, 251)
  assert.equal(statements5.length, 251)
  assert.equal(new Set(statements311.map(({ tag }) => tag)).size, 141)
  assert.equal(statements311.length, 141)
})

test('each statement that concerns a server has a test, or a reason to have none', () => {
  assert.deepEqual(unproven(titles), [])
})

test('no title has a tag that does not exist', () => {
  assert.deepEqual(unknownTags(titles), [])
})

test('docs/conformance.md is up to date (npm run conformance)', () => {
  assert.equal(readFileSync(reportFile, 'utf8'), renderReport(titles))
})
