import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { isJson } from './json-text.ts'

const levelsOf = (levels: number): Buffer => Buffer.from('['.repeat(levels) + ']'.repeat(levels))

/** The verdict of JSON.parse, which is strict about everything except the encoding. */
function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('every JSON text is one, with any white space', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.constantFrom(undefined, 1, '\t'), (text, space) => {
      assert.equal(isJson(Buffer.from(JSON.stringify(JSON.parse(text), undefined, space))), true)
    }),
  )
})

test('a text that is changed in one place is judged as JSON.parse judges it', () => {
  const characters = fc.constantFrom(...Array.from('{}[]":,.-+eE01 \n\t\r\\u/tnfx\u0001\u007fé\u00a0\ufeff'))
  fc.assert(
    fc.property(fc.json({ maxDepth: 3 }), fc.nat(), fc.nat(2), characters, (text, where, removed, character) => {
      const at = where % (text.length + 1)
      const changed = text.slice(0, at) + character + text.slice(at + removed)
      // A surrogate that was cut in half is no text that bytes can say.
      if (changed.isWellFormed()) assert.equal(isJson(Buffer.from(changed)), parses(changed), changed)
    }),
    { numRuns: 5000 },
  )
})

test('numbers, strings and literals are judged as JSON.parse judges them', () => {
  const numbers = [
    '0',
    '-0',
    '01',
    '-',
    '-1',
    '1.',
    '.5',
    '1.5',
    '1e',
    '1e5',
    '1E+5',
    '1e-',
    '1e5.5',
    '+1',
    '00',
    '1_0',
    'NaN',
  ]
  const strings = [
    '""',
    '"',
    '"\\"',
    '"\\u12"',
    '"\\u00e9"',
    '"\\uD800"',
    '"\\uD83D\\uDE00"',
    '"\\x"',
    '"\n"',
    "'a'",
    '"é"',
    '"\\',
  ]
  const others = [
    '',
    ' ',
    'true',
    'tru',
    'truex',
    'True',
    'null',
    'nul',
    '{}',
    '{ }',
    '{,}',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{a:1}',
  ]
  const nested = [
    '[]',
    '[ ]',
    '[,]',
    '[1,]',
    '[1 2]',
    '[1]]',
    '[[1]',
    '{"a":[{"b":[]}]}',
    '{"a":1}{',
    '[}',
    '{]',
    '1 1',
    '\ufeff1',
    '{1:2}',
  ]
  for (const text of [...numbers, ...strings, ...others, ...nested]) {
    assert.equal(isJson(Buffer.from(text)), parses(text), JSON.stringify(text))
  }
})

test('bytes that are not UTF-8 are none (RFC 8259 §8.1)', () => {
  for (const bytes of [
    [0x22, 0xff, 0x22],
    [0x22, 0xc0, 0x80, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
  ]) {
    assert.equal(isJson(Buffer.from(bytes)), false)
  }
})

test('more than 128 levels are none, however many there are', () => {
  assert.equal(isJson(levelsOf(128)), true)
  assert.equal(isJson(levelsOf(129)), false)
  assert.equal(isJson(Buffer.alloc(1_000_000, '[')), false)
})
