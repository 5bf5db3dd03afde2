/**
 * The bytes of an upload become rows, one at a time: CSV with a header line, or JSON lines. Nothing
 * is held beyond the row at hand; bytes, the length of a row and UTF-8 are checked on the way.
 */
import { pipeline, Readable } from 'node:stream'
import type { TransformOptions } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import type { Options } from 'csv-parse'
import { devEuiIn, isSeparatorLine, membersOf, readHeader, separatorOf } from './csv-columns.ts'
import type { CsvHeader } from './csv-columns.ts'
import { invalidArgument, RequestRefused } from '../api/errors.ts'

/**
 * One row of an upload. `members` has no prototype; a row that can't be read has `fault` instead,
 * and the DevEUI as it is written, "" where none can be told.
 */
export type ImportRow =
  | { readonly line: number; readonly members: Readonly<Record<string, unknown>> }
  | { readonly line: number; readonly fault: string; readonly devEui: string }

/** Gets the name of each unknown column or member, any number of times. */
export type UnknownColumn = (name: string) => void

/** The longest upload, in bytes. A longer import stops there. */
export const MAXIMUM_IMPORT_BYTES = 64 * 1024 * 1024

/**
 * The longest row, in characters: a quote that is never closed must not gather the whole upload.
 */
const MAXIMUM_ROW_LENGTH = 64 * 1024

const CSV_OPTIONS: Options & TransformOptions = {
  bom: true,
  info: true,
  skip_empty_lines: true,
  // Spreadsheets write the empty rows below a table as separators.
  skip_records_with_empty_values: true,
  relax_column_count: true,
  trim: true,
  // A small buffer: rows in the buffer are lost when an upload breaks.
  writableHighWaterMark: 16 * 1024,
}

/**
 * Rows of a CSV upload: separated by commas, semicolons or tabs, whichever makes a column devEUI of
 * the header. `tag:x` and `variable:x` columns become members of `tags` and `variables`.
 */
export async function* csvRows(
  upload: AsyncIterable<Uint8Array>,
  onUnknownColumn: UnknownColumn,
): AsyncGenerator<ImportRow> {
  const texts = withBoundedRows(withPlainLineEnds(decoded(upload)))
  const begin = await beginningOf(texts)
  const parser = parse({ ...CSV_OPTIONS, delimiter: separatorOf(begin.line) })
  // The parser reports the error of the stream; nobody else could hear it.
  pipeline(Readable.from(joined(begin.text, texts)), parser, () => undefined)
  let header: CsvHeader | undefined
  try {
    for await (const parsed of parser as AsyncIterable<{ record: readonly string[]; info: { lines: number } }>) {
      const { record } = parsed
      const line = parsed.info.lines
      if (header === undefined) {
        if (!isSeparatorLine(record)) header = readHeader(record, onUnknownColumn)
      } else if (record.length === header.length) {
        yield { line, members: membersOf(header, record) }
      } else {
        const fault = `the row has ${record.length} columns and the header ${header.length}`
        yield { line, fault, devEui: devEuiIn(header, record) }
      }
    }
  } catch (error) {
    if (error instanceof CsvError) throw invalidArgument(`the CSV can't be read: ${error.message}`, 'invalid_csv')
    throw error
  }
  if (header === undefined) throw invalidArgument('the CSV has no header line', 'invalid_csv')
}

interface Beginning {
  /** The first line that is not blank. */
  readonly line: string
  /** All text that has been read, with this line. */
  readonly text: string
}

/** Reads as far as the end of the first line that is not blank. */
async function beginningOf(texts: AsyncIterator<string>): Promise<Beginning> {
  let text = ''
  let at = 0
  let start: number | undefined
  for (;;) {
    const { value, done } = await texts.next()
    if (done === true) return { line: text.slice(start), text }
    text += value
    for (; at < text.length; at += 1) {
      if (start === undefined && !BLANK.test(text.charAt(at))) start = at
      if (start !== undefined && isLineEnd(text.charCodeAt(at))) return { line: text.slice(start, at), text }
    }
    // Empty lines without end are no row that could be too long.
    if (at > MAXIMUM_ROW_LENGTH) throw tooLongRow(1)
  }
}

/** Text that may stand before the header: white space and a byte order mark. */
const BLANK = /[\s\uFEFF]/

function isLineEnd(code: number): boolean {
  return code === CARRIAGE_RETURN || code === LINE_FEED
}

async function* joined(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}

/** With CR LF as LF: within quotes the parser counts it as two lines. */
async function* withPlainLineEnds(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let held = ''
  for await (const piece of texts) {
    const text = held + piece
    held = text.endsWith('\r') ? '\r' : ''
    yield text.slice(0, text.length - held.length).replaceAll('\r\n', '\n')
  }
  yield held
}

const QUOTE = 0x22
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/**
 * Passes the text of a CSV upload on as long as no row is too long. The parser's own bound counts
 * the cells without the separators between them: a row of nothing but commas became an array of
 * millions of cells, and took half a minute.
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
      else if (isLineEnd(code)) {
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
    return { line, fault: 'the line is not valid JSON', devEui: '' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { line, fault: 'the line is not a JSON object', devEui: '' }
  }
  return { line, members: Object.assign(Object.create(null), value) as Record<string, unknown> }
}

function tooLongRow(line: number): RequestRefused {
  return invalidArgument(`line ${line} is longer than ${MAXIMUM_ROW_LENGTH} characters`, 'row_too_long')
}

/**
 * Text of an upload, with its bytes counted and its encoding checked: UTF-8, or UTF-16 as
 * spreadsheets save "Unicode text".
 */
async function* decoded(upload: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined
  let bytes = 0
  for await (const chunk of upload) {
    bytes += chunk.length
    if (bytes > MAXIMUM_IMPORT_BYTES) throw uploadTooLarge()
    // No UTF-8 begins with this byte, and UTF-16 with a byte order mark in little endian does.
    decoder ??= new TextDecoder(chunk[0] === 0xff ? 'utf-16le' : 'utf-8', { fatal: true })
    yield decodedPiece(decoder, chunk)
  }
  if (decoder !== undefined) yield decodedPiece(decoder, undefined)
}

function decodedPiece(decoder: TextDecoder, chunk: Uint8Array | undefined): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })
  } catch {
    throw invalidArgument(
      'the upload is not valid UTF-8; a spreadsheet program saves it as "CSV UTF-8"',
      'invalid_utf8',
    )
  }
}

/**
 * The refusal of an upload beyond the bound, known from its Content-Length or found while reading.
 */
export function uploadTooLarge(): RequestRefused {
  return new RequestRefused(
    'resource_exhausted',
    `an import has at most ${MAXIMUM_IMPORT_BYTES} bytes`,
    'body_too_large',
    { statusCode: 413, headers: { connection: 'close' } },
  )
}
