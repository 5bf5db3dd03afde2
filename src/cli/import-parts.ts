/** A file of devices, CSV or JSON lines, in parts that are sent one after the other, so that progress shows and a bound holds. */
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { CommandFailure } from './command-failure.ts'

export type ImportFormat = 'csv' | 'jsonl'

/** A part as it is uploaded. */
export interface ImportPart {
  readonly content: string
  readonly rows: number
  /** The line of the file for a line of this part's content; lines count from 1. */
  readonly fileLine: (line: number) => number
}

/** Rows of one part: some hundreds of kilobytes, about a second of work for the service. */
const ROWS_PER_PART = 2000
/** Of one part, far below the service's own bound for an upload. */
const MAXIMUM_PART_CHARACTERS = 8 * 1024 * 1024
/** Of one row, as the service has it: a quote that is never closed must not gather the whole file. */
const MAXIMUM_ROW_CHARACTERS = 64 * 1024

/** The parts of a file. With `whole`, one part. Throws CommandFailure when the file can't be read as what it should be. */
export async function* importParts(
  input: Readable,
  format: ImportFormat,
  options: { readonly whole: boolean },
): AsyncGenerator<ImportPart> {
  const rows = format === 'csv' ? csvRows(input) : jsonRows(input)
  let header = ''
  let part = createPart(header)
  for await (const row of rows) {
    if (row.isHeader) {
      header = row.text
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
}

function createPart(header: string) {
  const texts: string[] = []
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
    },
    hasRows: () => texts.length > 0,
    isFull: () => texts.length >= ROWS_PER_PART || characters >= MAXIMUM_PART_CHARACTERS,
    finish: (): ImportPart => ({
      content: header + texts.join(''),
      rows: texts.length,
      fileLine: (line) => ends.find((end) => end.partLine >= line)?.lastLine ?? line,
    }),
  }
}

async function* csvRows(input: Readable): AsyncGenerator<Row> {
  const parser = parse({
    bom: true,
    info: true,
    raw: true,
    skip_empty_lines: true,
    relax_column_count: true,
    max_record_size: MAXIMUM_ROW_CHARACTERS,
  })
  input.on('error', (error) => parser.destroy(error))
  input.pipe(parser)
  let isHeader = true
  try {
    for await (const { raw, info } of parser as AsyncIterable<{ raw: string; info: { lines: number } }>) {
      yield { text: `${raw.replace(/^[\r\n]+|[\r\n]+$/g, '')}\n`, lastLine: info.lines, isHeader }
      isHeader = false
    }
  } catch (error) {
    if (error instanceof CsvError) throw new CommandFailure(`The CSV can’t be read: ${error.message}.`)
    throw error
  }
  if (isHeader) throw new CommandFailure('The CSV has no header line.')
}

async function* jsonRows(input: Readable): AsyncGenerator<Row> {
  let lastLine = 0
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    lastLine += 1
    if (line.length > MAXIMUM_ROW_CHARACTERS) throw new CommandFailure(`Line ${lastLine} is too long for a device.`)
    if (line.trim() !== '') yield { text: `${line}\n`, lastLine, isHeader: false }
  }
}

function linesOf(text: string): number {
  return text.split('\n').length - 1
}
