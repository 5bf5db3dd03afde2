/**
 * The bytes of an upload become rows, one at a time: CSV with a header line, or JSON lines. Nothing is held beyond the
 * row at hand; bytes, the length of a row and UTF-8 are checked on the way.
 */
import { pipeline, Readable, type TransformOptions } from 'node:stream'
import { CsvError, type Options, parse } from 'csv-parse'
import { invalidArgument, RequestRefused } from './errors.ts'

/** One row of an upload. `members` has no prototype; a row that can't be read has `fault` instead. */
export type ImportRow =
  | { readonly line: number; readonly members: Readonly<Record<string, unknown>> }
  | { readonly line: number; readonly fault: string }

/** Of an upload, in bytes. Beyond it the import stops. */
export const MAXIMUM_IMPORT_BYTES = 64 * 1024 * 1024

/** Of one row, in characters: a quote that is never closed must not gather the whole upload. */
const MAXIMUM_ROW_LENGTH = 64 * 1024

const CSV_OPTIONS: Options & TransformOptions = {
  bom: true,
  info: true,
  skip_empty_lines: true,
  relax_column_count: true,
  trim: true,
  // What is buffered here when an upload breaks is lost to it.
  writableHighWaterMark: 16 * 1024,
}

/** Rows of a CSV upload. `tag:x` and `variable:x` columns become members of `tags` and `variables`. */
export async function* csvRows(upload: AsyncIterable<Uint8Array>): AsyncGenerator<ImportRow> {
  const parser = parse(CSV_OPTIONS)
  // The parser hands on what broke the stream; there is nobody else to tell.
  pipeline(Readable.from(withBoundedRows(decoded(upload))), parser, () => undefined)
  let header: readonly string[] | undefined
  try {
    for await (const parsed of parser as AsyncIterable<{ record: readonly string[]; info: { lines: number } }>) {
      const { record } = parsed
      const line = parsed.info.lines
      if (header === undefined) {
        header = checkedHeader(record)
      } else if (record.length === header.length) {
        yield { line, members: membersOf(header, record) }
      } else {
        yield { line, fault: `the row has ${record.length} columns and the header ${header.length}` }
      }
    }
  } catch (error) {
    if (error instanceof CsvError) throw invalidArgument(`the CSV can't be read: ${error.message}`, 'invalid_csv')
    throw error
  }
  if (header === undefined) throw invalidArgument('the CSV has no header line', 'invalid_csv')
}

const QUOTE = 0x22
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/**
 * Passes the text of a CSV upload on as long as no row is too long. The parser's own bound counts the cells and not what is between them: a row of
 * nothing but commas became an array of millions, and took half a minute.
 */
async function* withBoundedRows(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let line = 1
  let rowLine = 1
  let rowLength = 0
  let isQuoted = false
  let before = 0
  for await (const text of texts) {
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at)
      rowLength += 1
      if (code === QUOTE) isQuoted = !isQuoted
      else if (code === CARRIAGE_RETURN || code === LINE_FEED) {
        if (code === CARRIAGE_RETURN || before !== CARRIAGE_RETURN) line += 1
        if (!isQuoted) {
          rowLine = line
          rowLength = 0
        }
      }
      if (rowLength > MAXIMUM_ROW_LENGTH) throw tooLongRow(rowLine)
      before = code
    }
    yield text
  }
}

/** Rows of an upload of JSON lines: one object per line. */
export async function* jsonLineRows(
  upload: AsyncIterable<Uint8Array>,
  parseJson: (text: string) => unknown,
): AsyncGenerator<ImportRow> {
  let line = 0
  let rest = ''
  for await (const piece of decoded(upload)) {
    const texts = (rest + piece).split('\n')
    rest = texts.pop() ?? ''
    for (const text of texts) {
      line += 1
      if (text.trim() !== '') yield jsonRow(line, text, parseJson)
    }
    if (rest.length > MAXIMUM_ROW_LENGTH) throw tooLongRow(line + 1)
  }
  if (rest.trim() !== '') yield jsonRow(line + 1, rest, parseJson)
}

function jsonRow(line: number, text: string, parseJson: (text: string) => unknown): ImportRow {
  if (text.length > MAXIMUM_ROW_LENGTH) throw tooLongRow(line)
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    return { line, fault: 'the line is not valid JSON' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { line, fault: 'the line is not a JSON object' }
  }
  return { line, members: Object.assign(Object.create(null), value) as Record<string, unknown> }
}

function tooLongRow(line: number): RequestRefused {
  return invalidArgument(`line ${line} is longer than ${MAXIMUM_ROW_LENGTH} characters`, 'row_too_long')
}

/** Text of an upload, with its bytes counted and its UTF-8 checked. */
async function* decoded(upload: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  let bytes = 0
  for await (const chunk of upload) {
    bytes += chunk.length
    if (bytes > MAXIMUM_IMPORT_BYTES) throw uploadTooLarge()
    yield decodedPiece(utf8, chunk)
  }
  yield decodedPiece(utf8, undefined)
}

function decodedPiece(utf8: TextDecoder, chunk: Uint8Array | undefined): string {
  try {
    return chunk === undefined ? utf8.decode() : utf8.decode(chunk, { stream: true })
  } catch {
    throw invalidArgument('the upload is not valid UTF-8', 'invalid_utf8')
  }
}

/** The refusal of an upload beyond the bound, known from its Content-Length or found while reading. */
export function uploadTooLarge(): RequestRefused {
  return new RequestRefused(
    'resource_exhausted',
    `an import has at most ${MAXIMUM_IMPORT_BYTES} bytes`,
    'body_too_large',
    { statusCode: 413, headers: { connection: 'close' } },
  )
}

/** Column names in the spelling of the API, whatever spelling a spreadsheet has. */
const COLUMN_OF: ReadonlyMap<string, string> = new Map([
  ['deveui', 'devEUI'],
  ['name', 'name'],
  ['description', 'description'],
  ['applicationid', 'applicationID'],
  ['deviceprofileid', 'deviceProfileID'],
  ['deviceprofilename', 'deviceProfileName'],
  ['isdisabled', 'isDisabled'],
])

function checkedHeader(record: readonly string[]): readonly string[] {
  const header = record.map((column) => {
    if (/^(tag|variable):./i.test(column)) return column
    return COLUMN_OF.get(column.toLowerCase().replaceAll(/[_ -]/g, '')) ?? ''
  })
  if (!header.includes('devEUI')) throw invalidArgument('the CSV has no column devEUI', 'invalid_csv')
  return header
}

/** Unknown columns are ignored, and so are empty cells. */
function membersOf(header: readonly string[], record: readonly string[]): Record<string, unknown> {
  const members = Object.create(null) as Record<string, unknown>
  const tags = Object.create(null) as Record<string, string>
  const variables = Object.create(null) as Record<string, string>
  for (const [index, column] of header.entries()) {
    const cell = record[index] ?? ''
    if (column === '' || cell === '') continue
    const pair = /^(tag|variable):(.+)$/i.exec(column)
    if (pair === null) members[column] = column === 'isDisabled' ? booleanOf(cell) : cell
    else (pair[1]?.toLowerCase() === 'tag' ? tags : variables)[pair[2] ?? ''] = cell
  }
  if (Object.keys(tags).length > 0) members.tags = tags
  if (Object.keys(variables).length > 0) members.variables = variables
  return members
}

function booleanOf(cell: string): unknown {
  if (/^(true|1|yes)$/i.test(cell)) return true
  return /^(false|0|no)$/i.test(cell) ? false : cell
}
