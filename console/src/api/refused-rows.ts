/** Makes a table of the refused rows, for people to correct and import again. */
import type { RefusedRow } from './device-import.ts'
import { readTable } from './table-pieces.ts'

/** The name of the column with the reason. An import ignores the column. */
const PROBLEM = 'problem'

/** The line feed at the end of a row, with the carriage return before it. */
const LINE_END = /\r?\n$/

/**
 * The rows of the file that `refused` names, as they are written, below the file's header. In CSV a
 * last column has the reason of each row, in the words of `wordsFor`.
 */
export async function refusedRowsOf(
  file: Blob,
  isCsv: boolean,
  refused: readonly RefusedRow[],
  wordsFor: (row: RefusedRow) => string,
): Promise<string> {
  const rowAt = new Map(refused.map((row) => [row.line, row]))
  const { header, rows } = await readTable(file, isCsv)
  const separator = separatorOf(header)
  const had = lastCellOf(header, separator).replaceAll('"', '').toLowerCase() === PROBLEM
  const plain = (row: string): string => {
    const text = row.replace(LINE_END, '')
    return had ? text.slice(0, Math.max(0, text.length - lastCellOf(text, separator).length - 1)) : text
  }
  const lines = isCsv ? [`${plain(header)}${separator}${PROBLEM}`] : []
  for (const { line, text } of rows) {
    const row = rowAt.get(line)
    if (row === undefined) continue
    lines.push(
      isCsv ? `${plain(text)}${separator}"${wordsFor(row).replaceAll('"', '""')}"` : text.replace(LINE_END, ''),
    )
  }
  return `${lines.join('\r\n')}\r\n`
}

/**
 * The separator of the columns. The service finds it in the same way: it makes `devEUI` a column of
 * the header.
 */
function separatorOf(header: string): string {
  const named = /^"?sep=([,;\t])/i.exec(header)?.[1]
  const hasDevEui = (separator: string): boolean =>
    header.split(separator).some((cell) => cell.toLowerCase().replaceAll(/[\s"_-]/g, '') === 'deveui')
  return named ?? [',', ';', '\t'].find(hasDevEui) ?? ','
}

/** The last cell of a row, with the quotes around it. */
function lastCellOf(row: string, separator: string): string {
  const text = row.replace(LINE_END, '')
  let isQuoted = false
  let start = 0
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '"') isQuoted = !isQuoted
    else if (text[at] === separator && !isQuoted) start = at + 1
  }
  return text.slice(start)
}
