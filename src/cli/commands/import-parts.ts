/**
 * Cuts a file of devices, CSV or JSON lines, into parts that are sent one after the other. So the
 * progress can be shown, and no upload exceeds the bound of the service.
 */
import { createInterface } from 'node:readline'
import { pipeline, Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { devEuiIn, isSeparatorLine, readHeader, separatorOf } from '../../http/devices/csv-columns.ts'
import type { CsvHeader } from '../../http/devices/csv-columns.ts'
import { RequestRefused } from '../../http/api/errors.ts'
import { readWrittenDevEui } from '../../identity/devices/eui.ts'
import { CommandFailure } from '../terminal/command-failure.ts'

/** The formats of a file of devices. */
export type ImportFormat = 'csv' | 'jsonl'

/** One part, as it is uploaded. */
export interface ImportPart {
  readonly content: string
  readonly rows: number
  /** The DevEUIs of its rows, each with the first line of the file that has it. */
  readonly lineOfDevEui: ReadonlyMap<string, number>
  /** The line of the file for a line of this part's content. The first line is 1. */
  readonly fileLine: (line: number) => number
}

/** The rows of one part: a few hundred kilobytes, about a second of work for the service. */
const ROWS_PER_PART = 2000
/** The size of one part, far below the service's bound for an upload. */
const MAXIMUM_PART_CHARACTERS = 8 * 1024 * 1024
/**
 * The size of one row, the same as in the service. The bound stops a quote that is never closed
 * from gathering the whole file.
 */
const MAXIMUM_ROW_CHARACTERS = 64 * 1024

/**
 * Yields the parts of a file; with `whole`, one part. Throws CommandFailure when the file is not of
 * the format.
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
  /** The text as it is in the file, with a line feed at its end. */
  readonly text: string
  /** The line of the file on which the row ends; the service counts rows by this line too. */
  readonly lastLine: number
  readonly isHeader: boolean
  /** The DevEUI in lower case; undefined when the row has none. */
  readonly devEui: string | undefined
}

function createPart(header: string) {
  const texts: string[] = []
  const lineOfDevEui = new Map<string, number>()
  // The line on which each row ends, in the part and in the file.
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

/** Decodes a file: UTF-8, or UTF-16, which spreadsheet programs call "Unicode text". */
async function* textsOf(input: Readable): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined
  for await (const chunk of input as AsyncIterable<Buffer | string>) {
    if (typeof chunk === 'string') {
      yield chunk
      continue
    }
    // UTF-16 in little endian begins with this byte, the byte order mark. UTF-8 never does.
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
  // The parser reports the error of the stream; the callback has nothing to add.
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

/** Reads the header; undefined for a header that the service will refuse. */
function headerOf(cells: readonly string[]): CsvHeader | undefined {
  try {
    return readHeader(cells, () => {})
  } catch (error) {
    if (error instanceof RequestRefused) return undefined
    throw error
  }
}

/** Reads to the end of the first line that is not empty; returns this line and the text so far. */
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
    // The service reports the fault of the line.
    return undefined
  }
}

function linesOf(text: string): number {
  return text.split('\n').length - 1
}
