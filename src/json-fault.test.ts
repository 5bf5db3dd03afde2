import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { jsonFaultAt, jsonFaultOf, notJson } from './json-fault.ts'

test('the place of a fault is the first character that no JSON text has there', () => {
  for (const [text, position] of [
    ['', 0],
    [' ', 1],
    ['hello', 0],
    ['nul', 3],
    ['nuxl', 2],
    ['True', 0],
    ['{"confirmed": true', 18],
    ['{"confirmed": true,}', 19],
    ["{'confirmed': true}", 1],
    ['{"a"}', 4],
    ['{"a":}', 5],
    ['{} // on', 3],
    ['[1 2]', 3],
    ['[1,]', 3],
    ['[}', 1],
    ['{"fPort": 010}', 11],
    ['-', 1],
    ['1.e', 2],
    ['1e-x', 3],
    ['"a\nb"', 2],
    ['"a\\x"', 3],
    ['"\\u12g4"', 5],
    ['"a', 2],
    ['\uFEFF{}', 0],
    ['{}\0', 2],
    ['['.repeat(100_000), 100_000],
  ] as const) {
    assert.equal(jsonFaultOf(text)?.position, position, JSON.stringify(text.slice(0, 40)))
  }
})

test('a place is told by characters, lines and columns', () => {
  assert.deepEqual(jsonFaultOf('{\n  "ü": "😀",\n  "b": tru }'), { position: 25, line: 3, column: 11 })
  assert.deepEqual(jsonFaultOf('["é😀" x'), { position: 7, line: 1, column: 8 })
  assert.equal(notJson('[\n  1\n  2]'), 'not JSON at line 3, column 3')
})

test('a text of any depth has no fault, and one of too many levels has it at the level too many', () => {
  for (const text of ['null', ' [1, {"a": [true, -1.5e3]}] ', '['.repeat(50_000) + ']'.repeat(50_000)]) {
    assert.equal(jsonFaultOf(text), undefined)
  }
  assert.equal(jsonFaultAt(Buffer.from('[[]]'), 2), undefined)
  assert.equal(jsonFaultAt(Buffer.from('[[[]]]'), 2), 2)
})

test('a text that is cut short or changed in one place is at fault exactly where JSON.parse refuses it', () => {
  const characters = fc.constantFrom('', ...Array.from('{}[]":,.-+eE01 \n\t\\u/tnfx\u0001é😀'))
  fc.assert(
    fc.property(fc.json({ maxDepth: 3 }), fc.nat(), characters, fc.boolean(), (text, where, character, isCut) => {
      const at = where % (text.length + 1)
      const changed = text.slice(0, at) + character + (isCut ? '' : text.slice(at + 1))
      const told = wordsOfRefusal(changed)
      const fault = jsonFaultOf(changed)
      assert.equal(fault === undefined, told === undefined, changed)
      // The words of V8 name the place for some faults; those of other engines never do.
      const position = /at position (\d+)/.exec(told ?? '')?.[1]
      if (position !== undefined) assert.equal(fault?.position, Number(position), changed)
    }),
    { numRuns: 5000 },
  )
})

/** The words with which JSON.parse refuses a text; undefined when it takes the text. */
function wordsOfRefusal(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return String(error)
  }
}
