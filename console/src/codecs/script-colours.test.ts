import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { colouredScript } from './script-colours.ts'

/** Writes `<kind:text>` for each piece that has a colour. */
function shown(script: string): string {
  return colouredScript(script)
    .pieces.map(({ kind, text }) => (kind === 'plain' ? text : `<${kind}:${text}>`))
    .join('')
}

test('words, texts, numbers, members and comments have colours', () => {
  assert.equal(
    shown("return { data: { level: 4.2 } } // 'no text'"),
    "<keyword:return> { <property:data>: { <property:level>: <number:4.2> } } <comment:// 'no text'>",
  )
})

test('a template string is text but for what it interpolates', () => {
  assert.equal(shown('const s = `a${n + 1}b`'), '<keyword:const> s = <string:`a>${n + <number:1>}<string:b`>')
})

test('whatever is typed, no character is lost and none is doubled', () => {
  const code = fc.array(fc.constantFrom('`', '${', '}', '{', '(', '"', "'", '/', '*/', '/*', '\n', 'if', 'x', ' ', '1'))
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        code.map((words) => words.join('')),
      ),
      (script) => {
        assert.equal(
          colouredScript(script)
            .pieces.map(({ text }) => text)
            .join(''),
          script,
        )
      },
    ),
  )
})

test('the line that is no JavaScript is named, and where something is missing the line before it', () => {
  assert.equal(colouredScript('const a = 1\nlet b = = 2\nf()').faultLine, 2)
  assert.equal(colouredScript('function f() {\n  return 1\n\n\n').faultLine, 2)
  assert.equal(colouredScript('function f() {}\n').faultLine, null)
})
