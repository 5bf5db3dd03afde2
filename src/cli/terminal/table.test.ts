import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatFields, formatTable } from './table.ts'

describe('a table', () => {
  it('aligns its columns and shows what is no text in words', () => {
    const columns = [
      { title: 'NAME', cell: (row: { name: string }) => row.name },
      { title: 'ON', cell: (row: { name: string; on?: unknown }) => row.on },
    ]
    const rows = [{ name: 'größer', on: true }, { name: 'b', on: false }, { name: 'c' }]
    assert.equal(formatTable(columns, rows), 'NAME    ON\ngrößer  yes\nb       no\nc\n')
  })

  it('never sends a control character of somebody’s name to the terminal', () => {
    const text = formatFields({ name: '\u001B[31mred\u0007\n\u202Ex' })
    assert.equal(text, 'name  \\u001b[31mred\\u0007\\u000a\\u202ex\n')
  })
})
