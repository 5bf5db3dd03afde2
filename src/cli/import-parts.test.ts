import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { importParts } from './import-parts.ts'
import type { ImportFormat } from './import-parts.ts'

async function partsOf(text: string, format: ImportFormat, whole = false) {
  const parts = []
  for await (const part of importParts(Readable.from([text]), format, { whole })) parts.push(part)
  return parts
}

describe('the parts of an import', () => {
  it('repeat the header of a CSV and know the lines of the file', async () => {
    const rows = Array.from({ length: 4500 }, (_, index) => `${index},"name ${index}"`)
    const parts = await partsOf(`\uFEFFdevEUI,name\r\n${rows.join('\r\n')}\r\n`, 'csv')
    assert.deepEqual(
      parts.map((part) => part.rows),
      [2000, 2000, 500],
    )
    for (const part of parts) assert.ok(part.content.startsWith('devEUI,name\n'))
    assert.ok(parts[1]?.content.includes('\n2000,"name 2000"\n'))
    // The header and 2000 rows come before it in the file.
    assert.equal(parts[1]?.fileLine(2), 2002)
    assert.equal(parts[2]?.fileLine(501), 4501)
  })

  it('keep count of rows over several lines and of empty lines', async () => {
    const [part] = await partsOf('devEUI,name\n\n1,"two\nlines"\n\n\n2,b\n', 'csv')
    assert.equal(part?.content, 'devEUI,name\n1,"two\nlines"\n2,b\n')
    assert.equal(part?.fileLine(3), 4)
    assert.equal(part?.fileLine(4), 7)
  })

  it('are lines of JSON with their numbers', async () => {
    const [part] = await partsOf('{"a":1}\n\n{"a":2}', 'jsonl')
    assert.equal(part?.content, '{"a":1}\n{"a":2}\n')
    assert.equal(part?.fileLine(2), 3)
  })

  it('are one part when the whole is asked for', async () => {
    const text = '{"a":1}\n'.repeat(5000)
    assert.equal((await partsOf(text, 'jsonl', true)).length, 1)
  })

  it('end at a quote that is never closed, and at an endless line', async () => {
    await assert.rejects(partsOf(`devEUI,name\n1,"${'x'.repeat(100_000)}`, 'csv'), /CSV can’t be read/)
    await assert.rejects(partsOf('x'.repeat(100_000), 'jsonl'), /Line 1 is too long/)
    await assert.rejects(partsOf('', 'csv'), /no header/)
  })
})
