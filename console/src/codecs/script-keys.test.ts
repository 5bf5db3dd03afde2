import assert from 'node:assert/strict'
import { test } from 'node:test'
import { insertionFor } from './script-keys.ts'

/** The script after the key was pressed at `|`. */
function typed(key: string, script: string): string {
  const at = script.indexOf('|')
  const text = script.replace('|', '')
  const { from, to, text: written } = insertionFor(key, text, at, at) ?? { from: at, to: at, text: key }
  return `${text.slice(0, from)}${written}|${text.slice(to)}`
}

test('Enter keeps the indentation, and goes one step deeper after an opening bracket', () => {
  assert.equal(typed('Enter', 'a\n  b|'), 'a\n  b\n  |')
  assert.equal(typed('Enter', 'function f() {|'), 'function f() {\n  |')
  assert.equal(typed('Enter', '  g([|'), '  g([\n    |')
})

test('a closing bracket at the beginning of a line takes a step back', () => {
  assert.equal(typed('}', 'f() {\n  |'), 'f() {\n}|')
  assert.equal(typed('}', 'x = { |'), 'x = { }|')
})

test('other keys, and Enter without indentation, write themselves', () => {
  assert.equal(insertionFor('Enter', 'a', 1, 1), undefined)
  assert.equal(insertionFor('x', '  ', 2, 2), undefined)
})
