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

  it('know the DevEUIs of their rows, however they are written, with the lines of the file', async () => {
    const [csv] = await partsOf('name,Dev EUI\na,01-01-01-01-01-01-01-01\nb,x\nc,0101010101010101\n', 'csv')
    assert.deepEqual([...(csv?.lineOfDevEui ?? [])], [['0101010101010101', 2]])
    const lines = '{"devEUI":"0A:0A:0a:0a:0a:0a:0a:0a"}\n{"devEui":1}\nnonsense\n{"devEui":"0b0b0b0b0b0b0b0b"}\n'
    const [jsonl] = await partsOf(lines, 'jsonl')
    assert.deepEqual(
      [...(jsonl?.lineOfDevEui ?? [])],
      [
        ['0a0a0a0a0a0a0a0a', 1],
        ['0b0b0b0b0b0b0b0b', 4],
      ],
    )
  })

  it('keep the separator of the table, and its line sep=', async () => {
    const [named] = await partsOf('sep=;\r\ndevEUI;name\r\n1;"a;\nb"\r\n2;c\r\n', 'csv')
    assert.equal(named?.content, 'sep=;\ndevEUI;name\n1;"a;\nb"\n2;c\n')
    assert.equal(named?.fileLine(5), 5)
    const [tabs] = await partsOf('name\tdevEUI\n"a\tb"\t0101010101010101\n', 'csv')
    assert.deepEqual([...(tabs?.lineOfDevEui ?? [])], [['0101010101010101', 2]])
  })

  it('are read from UTF-8 and from UTF-16, cut anywhere, and from nothing else', async () => {
    const text = '\uFEFFdevEUI;name\n0101010101010101;Zähler\n'
    for (const encoding of ['utf8', 'utf16le'] as const) {
      const bytes = Array.from(Buffer.from(text, encoding), (byte) => Buffer.from([byte]))
      const parts = []
      for await (const part of importParts(Readable.from(bytes), 'csv', { whole: false })) parts.push(part.content)
      assert.deepEqual(parts, ['devEUI;name\n0101010101010101;Zähler\n'], encoding)
    }
    const latin = importParts(Readable.from([Buffer.from('devEUI;name\n1;Z\xe4hler\n', 'latin1')]), 'csv', {
      whole: true,
    })
    await assert.rejects(latin.next(), /not valid UTF-8/)
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
