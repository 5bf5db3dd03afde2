import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scopeWords } from './scope-words.ts'

test('the limits of a token are said in words, and long lists are counted', () => {
  for (const [scope, words] of [
    [null, 'everything'],
    [{ reachesAllApplications: true }, 'all applications'],
    [{ reachesAllApplications: true, eventKinds: ['up'] }, 'all applications; up'],
    [{ applicationIds: ['3'], reachesAllApplications: true }, 'application 3'],
    [
      { devEuis: ['0101010101010101', '0202020202020202'], isReadOnly: true },
      'devices 0101010101010101, 0202020202020202; reading only',
    ],
    [{ devEuis: ['a', 'b', 'c'] }, '3 devices'],
    [{ tags: { site: 'north' }, eventKinds: ['up', 'join'] }, 'tag site=north; up, join'],
  ] as const) {
    assert.equal(scopeWords(scope), words)
  }
})
