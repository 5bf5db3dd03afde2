/** Tables and figures, as Markdown that also reads well unrendered. */

/** A table whose columns are as wide as their content; columns without content are left out. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const columns = head.flatMap((_, column) => (rows.some((row) => (row[column] ?? '') !== '') ? [column] : []))
  const widths = columns.map((column) =>
    Math.max(head[column]?.length ?? 0, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string =>
    `| ${columns.map((column, index) => (cells[column] ?? '').padEnd(widths[index] ?? 0)).join(' | ')} |`
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n')
}

/** Three significant digits are more than the machine's precision. */
export function figure(value: number): string {
  if (Number.isNaN(value)) return '–'
  if (value >= 100) return value.toFixed(0)
  return value.toFixed(value >= 10 ? 1 : 2)
}
