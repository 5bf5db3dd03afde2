/** Cuts a table into pieces of whole rows. Each piece can be sent by itself. */

/** Some rows of a table, and their place in it. */
export interface TablePiece {
  readonly content: Blob
  /** The number that is added to a line's number in the piece to get its number in the table. */
  readonly linesBefore: number
  /** The place in the table where the piece ends, in bytes. */
  readonly endsAt: number
}

/**
 * The longest row, in bytes. Where no row ends within this length, the rest of the file is one
 * piece, and the service refuses the row.
 */
const LONGEST_ROW = 1024 * 1024

const NEWLINE = 0x0a
const QUOTE = 0x22

/**
 * Cuts the file between rows into pieces of about `size` bytes. A piece is read when it is asked
 * for. A piece of CSV begins with the header. A line break within quotes does not end a row of CSV.
 */
export async function* piecesOf(file: Blob, isCsv: boolean, size: number): AsyncGenerator<TablePiece> {
  const header = isCsv ? await firstRow(file) : NO_ROWS
  let at = header.bytes
  let lines = header.lines
  do {
    const rows = await rowsFrom(file, at, isCsv, size)
    const content = new Blob([file.slice(0, header.bytes), file.slice(at, at + rows.bytes)])
    yield { content, linesBefore: lines - header.lines, endsAt: at + rows.bytes }
    at += rows.bytes
    lines += rows.lines
  } while (at < file.size)
}

/** A row of a table, and the number of the line on which it ends. */
interface TableRow {
  readonly line: number
  readonly text: string
}

/** The header of a table ("" of JSON lines) and its rows. The whole file is held in memory. */
export async function readTable(
  file: Blob,
  isCsv: boolean,
): Promise<{ readonly header: string; readonly rows: Iterable<TableRow> }> {
  const header = isCsv ? await firstRow(file) : NO_ROWS
  const bytes = new Uint8Array(await file.arrayBuffer())
  return { header: textOf(bytes.subarray(0, header.bytes)), rows: rowsAfter(bytes, header, isCsv) }
}

function* rowsAfter(bytes: Uint8Array, header: Rows, isCsv: boolean): Generator<TableRow> {
  const left = bytes.subarray(header.bytes)
  let at = 0
  let lines = 0
  for (const row of rowEnds(left, isCsv)) {
    lines = row.lines
    yield { line: header.lines + lines, text: textOf(left.subarray(at, row.bytes)) }
    at = row.bytes
  }
  if (at < left.length) yield { line: header.lines + lines + 1, text: textOf(left.subarray(at)) }
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

interface Rows {
  readonly bytes: number
  readonly lines: number
}

const NO_ROWS: Rows = { bytes: 0, lines: 0 }

/** The header, with empty lines before it and with Excel's line `sep=;`. */
async function firstRow(file: Blob): Promise<Rows> {
  const bytes = new Uint8Array(await file.slice(0, LONGEST_ROW).arrayBuffer())
  for (const row of rowEnds(bytes, true)) {
    const text = textOf(bytes.subarray(0, row.bytes)).trim()
    if (text !== '' && !/^"?sep=.?"?$/i.test(text)) return row
  }
  return { bytes: file.size, lines: 0 }
}

/**
 * Whole rows from `at` on: about `size` bytes, and at least one row. Where no row ends, the rest of
 * the file.
 */
async function rowsFrom(file: Blob, at: number, isCsv: boolean, size: number): Promise<Rows> {
  if (file.size - at <= size) return { bytes: file.size - at, lines: 0 }
  const read = async (length: number): Promise<readonly Rows[]> => [
    ...rowEnds(new Uint8Array(await file.slice(at, at + length).arrayBuffer()), isCsv),
  ]
  return (await read(size)).at(-1) ?? (await read(LONGEST_ROW))[0] ?? { bytes: file.size - at, lines: 0 }
}

/** The positions, in bytes, at which rows end. */
function* rowEnds(bytes: Uint8Array, isCsv: boolean): Generator<Rows> {
  let lines = 0
  let isQuoted = false
  for (let index = 0; index < bytes.length; index += 1) {
    if (bytes[index] === QUOTE && isCsv) isQuoted = !isQuoted
    if (bytes[index] !== NEWLINE) continue
    lines += 1
    if (!isQuoted) yield { bytes: index + 1, lines }
  }
}
