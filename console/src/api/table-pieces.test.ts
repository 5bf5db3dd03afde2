import assert from 'node:assert/strict'
import { test } from 'node:test'
import { piecesOf } from './table-pieces.ts'
import type { TablePiece } from './table-pieces.ts'

async function piecesIn(
  text: string,
  { isCsv = true, size = 16 } = {},
): Promise<{ readonly texts: string[]; readonly linesBefore: number[]; readonly ends: number[] }> {
  const pieces: TablePiece[] = []
  for await (const piece of piecesOf(new Blob([text]), isCsv, size)) pieces.push(piece)
  return {
    texts: await Promise.all(pieces.map(({ content }) => content.text())),
    linesBefore: pieces.map(({ linesBefore }) => linesBefore),
    ends: pieces.map(({ endsAt }) => endsAt),
  }
}

test('a table is cut between rows; each piece has the header, and says by how many lines it is displaced', async () => {
  const { texts, linesBefore, ends } = await piecesIn('devEUI,name\nrow,one\nrow,two\nrow,three\nrow,four\n')
  assert.deepEqual(texts, ['devEUI,name\nrow,one\nrow,two\n', 'devEUI,name\nrow,three\n', 'devEUI,name\nrow,four\n'])
  assert.deepEqual(linesBefore, [0, 2, 3])
  assert.deepEqual(ends, [28, 38, 47])
})

test('a line break within quotes ends no row, nor the header', async () => {
  const { texts, linesBefore } = await piecesIn('\n"a\nb",c\n"1\n2","say ""x\n"""\n3,4\n5,6\n')
  assert.deepEqual(texts, ['\n"a\nb",c\n"1\n2","say ""x\n"""\n', '\n"a\nb",c\n3,4\n5,6\n'])
  assert.deepEqual(linesBefore, [0, 3])
})

test('JSON lines have no header, and their quotes mean nothing here', async () => {
  const { texts, linesBefore } = await piecesIn('{"a":"\\""}\n{"b":1}\n{"c":1}', { isCsv: false, size: 12 })
  assert.deepEqual(texts, ['{"a":"\\""}\n', '{"b":1}\n', '{"c":1}'])
  assert.deepEqual(linesBefore, [0, 1, 2])
})

test('a row that is longer than a piece is one, a header without rows too, and a quote that never closes takes the rest', async () => {
  assert.deepEqual((await piecesIn(`h\n${'x'.repeat(40)}\ny\n`)).texts, [`h\n${'x'.repeat(40)}\n`, 'h\ny\n'])
  assert.deepEqual((await piecesIn('h\n')).texts, ['h\n'])
  assert.deepEqual((await piecesIn('')).texts, [''])
  assert.deepEqual((await piecesIn('h\n"row\nrow\nrow\nrow\nrow\n')).texts, ['h\n"row\nrow\nrow\nrow\nrow\n'])
})
