/** Text for people: tables of lists, and lines of one thing's fields. Programs ask for `--json`. */

/** One column: its title, and the cell of a row. */
export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => unknown
}

/** A table with aligned columns, two spaces between them, the titles first. */
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

/** The fields of one thing, a line each: `name  value`. */
export function formatFields(fields: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(fields)
  const longest = Math.max(0, ...names.map((name) => name.length))
  return names.map((name) => `${name.padEnd(longest)}  ${cellText(fields[name])}`.trimEnd() + '\n').join('')
}

/**
 * A value in one line. Control characters are shown, not sent: a name must not drive somebody's
 * terminal.
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

/** A text of several lines, with its tabs; other control characters are shown, as in a cell. */
export function linesText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => line.split('\t').map(cellText).join('\t'))
    .join('\n')
}

/** In code points; wide East Asian characters misalign a column, nothing worse. */
function width(text: string): number {
  return Array.from(text).length
}
