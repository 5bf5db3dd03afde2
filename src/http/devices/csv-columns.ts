/**
 * The columns of a table of devices, in the spellings of spreadsheets: the separator of a table,
 * and the meaning of its cells.
 */
import { invalidArgument } from '../api/errors.ts'

/** Column names in the spelling of the API, by their letters in lower case. */
const COLUMN_OF: ReadonlyMap<string, string> = new Map([
  ['deveui', 'devEUI'],
  ['name', 'name'],
  ['description', 'description'],
  ['applicationid', 'applicationID'],
  ['deviceprofileid', 'deviceProfileID'],
  ['deviceprofilename', 'deviceProfileName'],
  ['profile', 'profile'],
  ['isdisabled', 'isDisabled'],
])

/**
 * A column of this name is ignored without a report: tables of refused rows have the reason in it.
 */
const PROBLEM = 'problem'

/** The separator between cells. */
export type Separator = ',' | ';' | '\t'

/** Spreadsheets of languages that write decimals with a comma separate cells by semicolons. */
const SEPARATORS: readonly Separator[] = [',', ';', '\t']

/** The columns as members of a device; "" for an unknown column. */
export type CsvHeader = readonly string[]

/**
 * The separator that the first line of a table names, or that makes a column devEUI of it; the
 * comma where none does.
 */
export function separatorOf(firstLine: string): Separator {
  const isNamed = (separator: Separator): boolean => firstLine.replaceAll('"', '').toLowerCase() === `sep=${separator}`
  const hasDevEui = (separator: Separator): boolean =>
    firstLine.split(separator).some((cell) => columnOf(cell.replaceAll('"', '').trim()) === 'devEUI')
  return SEPARATORS.find(isNamed) ?? SEPARATORS.find(hasDevEui) ?? ','
}

/** Whether a row is the line `sep=;` by which Excel names the separator before the header. */
export function isSeparatorLine(record: readonly string[]): boolean {
  return /^sep=[,;]?$/i.test(record[0] ?? '') && record.slice(1).every((cell) => cell === '')
}

/** Columns that a refusal names. */
const MAXIMUM_NAMED_COLUMNS = 20

/**
 * The header with its columns in the spelling of the API. `onUnknown` gets the names of unknown
 * columns. Throws a refusal if there is no column devEUI, or if two columns mean the same member,
 * because one of them would be lost.
 */
export function readHeader(record: readonly string[], onUnknown: (name: string) => void): CsvHeader {
  const header = record.map(columnOf)
  if (!header.includes('devEUI')) {
    const named = record.filter((name) => name !== '').slice(0, MAXIMUM_NAMED_COLUMNS)
    throw invalidArgument(`the CSV has no column devEUI; its columns are: ${cut(named.join(', '))}`, 'invalid_csv')
  }
  for (const [index, column] of header.entries()) {
    if (column !== '' && header.indexOf(column) !== index) {
      throw invalidArgument(`the CSV has the column ${cut(column)} twice`, 'invalid_csv')
    }
  }
  for (const [index, name] of record.entries()) {
    if (header[index] === '' && name !== '' && name.toLowerCase() !== PROBLEM) onUnknown(name)
  }
  return header
}

function columnOf(written: string): string {
  const [, kind = '', key = ''] = /^(tag|variable):(.+)$/i.exec(written) ?? []
  if (key !== '') return `${kind.toLowerCase()}:${key}`
  return COLUMN_OF.get(written.toLowerCase().replaceAll(/[_ -]/g, '')) ?? ''
}

/** The longest list of names in a refusal, in characters. */
const MAXIMUM_NAMED_LENGTH = 300

function cut(text: string): string {
  return text.length <= MAXIMUM_NAMED_LENGTH ? text : `${text.slice(0, MAXIMUM_NAMED_LENGTH)}…`
}

/**
 * The cells of a row as members of a device, without a prototype. Empty cells and cells of unknown
 * columns are left out.
 */
export function membersOf(header: CsvHeader, record: readonly string[]): Record<string, unknown> {
  const members = Object.create(null) as Record<string, unknown>
  const tags = Object.create(null) as Record<string, string>
  const variables = Object.create(null) as Record<string, string>
  for (const [index, column] of header.entries()) {
    const cell = textOf(record[index] ?? '')
    if (column === '' || cell === '') continue
    if (column.startsWith('tag:')) tags[column.slice('tag:'.length)] = cell
    else if (column.startsWith('variable:')) variables[column.slice('variable:'.length)] = cell
    else members[column] = column === 'isDisabled' ? booleanOf(cell) : cell
  }
  if (Object.keys(tags).length > 0) members.tags = tags
  if (Object.keys(variables).length > 0) members.variables = variables
  return members
}

/** The cell of the column devEUI, as it is written; "" where the row has none. */
export function devEuiIn(header: CsvHeader, record: readonly string[]): string {
  return record[header.indexOf('devEUI')] ?? ''
}

/**
 * Spreadsheets keep the zeros in front of a number by writing it as the formula `="0012"`. The
 * export writes cells like formulas in this way.
 */
function textOf(cell: string): string {
  return /^="((?:[^"]|"")*)"$/.exec(cell)?.[1]?.replaceAll('""', '"') ?? cell
}

function booleanOf(cell: string): unknown {
  if (/^(true|1|yes)$/i.test(cell)) return true
  return /^(false|0|no)$/i.test(cell) ? false : cell
}
