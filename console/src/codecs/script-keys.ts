/** The indentation that Enter and closing brackets write into a script. */

/** A text that replaces the characters from `from` to `to`. */
export interface Insertion {
  readonly from: number
  readonly to: number
  readonly text: string
}

const STEP = '  '

/**
 * The text that a key writes in the place of the selection; undefined where the key writes only
 * itself.
 */
export function insertionFor(key: string, script: string, from: number, to: number): Insertion | undefined {
  const line = script.slice(script.lastIndexOf('\n', from - 1) + 1, from)
  const indent = /^[ \t]*/.exec(line)?.[0] ?? ''
  if (key === 'Enter') {
    const deeper = /[([{]\s*$/.test(line) ? STEP : ''
    return indent + deeper === '' ? undefined : { from, to, text: `\n${indent}${deeper}` }
  }
  const closes = key === '}' || key === ']' || key === ')'
  return closes && line === indent && indent.endsWith(STEP) ? { from: from - STEP.length, to, text: key } : undefined
}
