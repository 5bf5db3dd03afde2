import assert from 'node:assert/strict'
import { test } from 'node:test'
import { secondsOf } from './duration.ts'

test('a duration has a unit, or is in seconds; what is none is left to the service', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['90', '90'],
    ['90s', '90'],
    ['15m', '900'],
    ['1h', '3600'],
    ['7d', '604800'],
    ['2w', '1209600'],
    ['1y', '1y'],
    ['-5', '-5'],
    ['1.5h', '1.5h'],
    ['', ''],
  ]
  for (const [text, seconds] of cases) assert.equal(secondsOf(text), seconds)
})
