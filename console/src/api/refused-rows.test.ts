import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusedRowsOf } from './refused-rows.ts'

function refused(line: number, message: string) {
  return { line, devEUI: '', message, reason: 'invalid_row', sameAsLine: 0 }
}

const rowsOf = (text: string, lines: readonly number[], isCsv = true): Promise<string> =>
  refusedRowsOf(
    new Blob([text]),
    isCsv,
    lines.map((line) => refused(line, `line ${line} is "odd"`)),
    ({ message }) => message,
  )

test('the refused rows come as they are written, below the header, with what is wrong', async () => {
  assert.equal(
    await rowsOf('devEUI;name\r\n1;a\r\n2;"b\r\nb"\r\n\r\n3;c\r\n4;d', [4, 6, 7]),
    'devEUI;name;problem\r\n2;"b\r\nb";"line 4 is ""odd"""\r\n3;c;"line 6 is ""odd"""\r\n4;d;"line 7 is ""odd"""\r\n',
  )
})

test('a table that was mended and is still wrong does not gather columns', async () => {
  const once = await rowsOf('devEUI,name\n1,a\n', [2])
  assert.equal(await rowsOf(once, [2]), once)
})

test('a line that names the separator stays, and JSON lines get no column', async () => {
  assert.equal(
    await rowsOf('sep=;\ndevEUI;name\n1;a\n', [3]),
    'sep=;\ndevEUI;name;problem\r\n1;a;"line 3 is ""odd"""\r\n',
  )
  assert.equal(await rowsOf('{"a":1}\n{"b":1}\n', [2], false), '{"b":1}\r\n')
})
