/** Text for people: tables of lists, and the fields of one object. Programs use `--json`. */

/** One column: its title, and the cell of a row. */
export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => unknown
}

/** Formats a table: the titles, and then the rows, with two spaces between aligned columns. */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const lines = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ cell }) => cellText(cell(row)))),
  ]
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => width(line[index] ?? ''))))
  return lines
    .map((line) => line.map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - width(cell))).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}

/** Formats the fields of one object, each on a line: `name  value`. */
export function formatFields(fields: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(fields)
  const longest = Math.max(0, ...names.map((name) => name.length))
  return names.map((name) => `${name.padEnd(longest)}  ${cellText(fields[name])}`.trimEnd() + '\n').join('')
}

/**
 * A value in one line. Control characters are shown as escapes: a hostile name could otherwise
 * control the terminal of the reader.
 */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value === true) return 'yes'
  if (value === false) return 'no'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** A text of several lines, with its tabs; other control characters are shown as in `cellText`. */
export function linesText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.split('\t').map(cellText).join('\t'))
    .join('\n')
}

/** The width in code points; wide East Asian characters misalign a column. */
function width(text: string): number {
  return Array.from(text).length
}
