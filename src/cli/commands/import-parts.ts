/**
 * A file of devices, CSV or JSON lines, in parts that are sent one after the other, so that
 * progress shows and a bound holds.
 */
import { createInterface } from 'node:readline'
import { pipeline, Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { devEuiIn, isSeparatorLine, readHeader, separatorOf } from '../../http/devices/csv-columns.ts'
import type { CsvHeader } from '../../http/devices/csv-columns.ts'
import { RequestRefused } from '../../http/api/errors.ts'
import { readWrittenDevEui } from '../../identity/devices/eui.ts'
import { CommandFailure } from '../terminal/command-failure.ts'

export type ImportFormat = 'csv' | 'jsonl'

/** A part as it is uploaded. */
export interface ImportPart {
  readonly content: string
  readonly rows: number
  /** The DevEUIs of its rows, each with the first line of the file that has it. */
  readonly lineOfDevEui: ReadonlyMap<string, number>
  /** The line of the file for a line of this part's content; lines count from 1. */
  readonly fileLine: (line: number) => number
}

/** Rows of one part: some hundreds of kilobytes, about a second of work for the service. */
const ROWS_PER_PART = 2000
/** Of one part, far below the service's own bound for an upload. */
const MAXIMUM_PART_CHARACTERS = 8 * 1024 * 1024
/**
 * Of one row, as the service has it: a quote that is never closed must not gather the whole file.
 */
const MAXIMUM_ROW_CHARACTERS = 64 * 1024

/**
 * The parts of a file. With `whole`, one part. Throws CommandFailure when the file can't be read as
 * what it should be.
 */
export async function* importParts(
  input: Readable,
  format: ImportFormat,
  options: { readonly whole: boolean },
): AsyncGenerator<ImportPart> {
  const rows = format === 'csv' ? csvRows(textsOf(input)) : jsonRows(textsOf(input))
  let header = ''
  let part = createPart(header)
  for await (const row of rows) {
    if (row.isHeader) {
      header += row.text
      part = createPart(header)
      continue
    }
    part.add(row)
    if (!options.whole && part.isFull()) {
      yield part.finish()
      part = createPart(header)
    }
  }
  if (part.hasRows()) yield part.finish()
}

interface Row {
  /** As it stands in the file, with a line feed at its end. */
  readonly text: string
  /** The line of the file on which it ends, where the service counts it too. */
  readonly lastLine: number
  readonly isHeader: boolean
  /** Of lower-case digits; undefined where the row has none. */
  readonly devEui: string | undefined
}

function createPart(header: string) {
  const texts: string[] = []
  const lineOfDevEui = new Map<string, number>()
  // Where each row ends: in the part, and in the file.
  const ends: { readonly partLine: number; readonly lastLine: number }[] = []
  let partLine = linesOf(header)
  let characters = 0
  return {
    add: (row: Row) => {
      texts.push(row.text)
      partLine += linesOf(row.text)
      characters += row.text.length
      ends.push({ partLine, lastLine: row.lastLine })
      if (row.devEui !== undefined && !lineOfDevEui.has(row.devEui)) lineOfDevEui.set(row.devEui, row.lastLine)
    },
    hasRows: () => texts.length > 0,
    isFull: () => texts.length >= ROWS_PER_PART || characters >= MAXIMUM_PART_CHARACTERS,
    finish: (): ImportPart => ({
      content: header + texts.join(''),
      rows: texts.length,
      lineOfDevEui,
      fileLine: (line) => ends.find((end) => end.partLine >= line)?.lastLine ?? line,
    }),
  }
}

/** The text of a file: UTF-8, or UTF-16 as spreadsheets save "Unicode text". */
async function* textsOf(input: Readable): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined
  for await (const chunk of input as AsyncIterable<Buffer | string>) {
    if (typeof chunk === 'string') {
      yield chunk
      continue
    }
    // No UTF-8 begins with this byte, and UTF-16 with a byte order mark in little endian does.
    decoder ??= new TextDecoder(chunk[0] === 0xff ? 'utf-16le' : 'utf-8', { fatal: true })
    yield decoded(decoder, chunk)
  }
  if (decoder !== undefined) yield decoded(decoder, undefined)
}

function decoded(decoder: TextDecoder, chunk: Buffer | undefined): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })
  } catch {
    throw new CommandFailure('The file is not valid UTF-8. A spreadsheet program saves it as "CSV UTF-8".')
  }
}

async function* csvRows(texts: AsyncGenerator<string>): AsyncGenerator<Row> {
  const begin = await beginningOf(texts)
  const parser = parse({
    bom: true,
    info: true,
    raw: true,
    delimiter: separatorOf(begin.line),
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: MAXIMUM_ROW_CHARACTERS,
  })
  // The parser hands on what broke the stream; there is nobody else to tell.
  pipeline(Readable.from(joined(begin.text, texts)), parser, () => undefined)
  let isHeader = true
  let header: CsvHeader | undefined
  try {
    for await (const parsed of parser as AsyncIterable<ParsedRow>) {
      const { raw, record, info } = parsed
      const text = `${raw.replace(/^[\r\n]+|[\r\n]+$/g, '')}\n`
      const cells = record.map((cell) => cell.trim())
      const devEui = header === undefined ? undefined : readWrittenDevEui(devEuiIn(header, cells))
      yield { text, lastLine: info.lines, isHeader, devEui }
      if (!isHeader || isSeparatorLine(cells)) continue
      isHeader = false
      header = headerOf(cells)
    }
  } catch (error) {
    if (error instanceof CsvError) throw new CommandFailure(`The CSV can’t be read: ${error.message}.`)
    throw error
  }
  if (isHeader) throw new CommandFailure('The CSV has no header line.')
}

interface ParsedRow {
  readonly raw: string
  readonly record: readonly string[]
  readonly info: { readonly lines: number }
}

/** Undefined for a header that the service will refuse, in its words. */
function headerOf(cells: readonly string[]): CsvHeader | undefined {
  try {
    return readHeader(cells, () => {})
  } catch (error) {
    if (error instanceof RequestRefused) return undefined
    throw error
  }
}

/** What comes until the end of the first line with something in it, and that line. */
async function beginningOf(texts: AsyncGenerator<string>): Promise<{ readonly line: string; readonly text: string }> {
  let text = ''
  for (;;) {
    const { value, done } = await texts.next()
    if (done !== true) text += value
    const line = /^[\s\uFEFF]*([^\r\n]*)/.exec(text)?.[1] ?? ''
    const isComplete = /[\r\n]/.test(text.trimStart())
    if (done === true || isComplete || text.length > MAXIMUM_ROW_CHARACTERS) return { line, text }
  }
}

async function* joined(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}

async function* jsonRows(texts: AsyncGenerator<string>): AsyncGenerator<Row> {
  let lastLine = 0
  for await (const line of createInterface({ input: Readable.from(texts), crlfDelay: Infinity })) {
    lastLine += 1
    if (line.length > MAXIMUM_ROW_CHARACTERS) throw new CommandFailure(`Line ${lastLine} is too long for a device.`)
    if (line.trim() !== '') yield { text: `${line}\n`, lastLine, isHeader: false, devEui: devEuiOfJson(line) }
  }
}

function devEuiOfJson(line: string): string | undefined {
  try {
    const { devEUI, devEui } = JSON.parse(line) as { readonly devEUI?: unknown; readonly devEui?: unknown }
    const written = devEUI ?? devEui
    return typeof written === 'string' ? readWrittenDevEui(written) : undefined
  } catch {
    // The service says what is wrong with the line.
    return undefined
  }
}

function linesOf(text: string): number {
  return text.split('\n').length - 1
}
