import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'

/** The most of a search text that is looked for: nothing that is searched is longer. */
const searchMaximum = 300

/** The text without differences of case and of Unicode's compatibility forms. */
export function foldText(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

/**
 * Whether the value is a text of so many characters (code points) on one line: no control characters, no NUL, no line
 * separators, no half surrogate pairs.
 */
export function isLine(value: unknown, minimum: number, maximum: number): value is string {
  return isText(value, minimum, maximum) && !/[\p{Cc}\u2028\u2029]/u.test(value)
}

/** A name of a thing, for people: a line of 1 to so many characters that shows something. */
export function isName(value: unknown, maximum: number): value is string {
  return isLine(value, 1, maximum) && value.trim() !== ''
}

/** As `isLine`, but with line breaks and tabs. */
export function isParagraph(value: unknown, maximum: number): value is string {
  return isText(value, 0, maximum) && !/(?![\t\n\r])\p{Cc}/u.test(value)
}

function isText(value: unknown, minimum: number, maximum: number): value is string {
  // A code point takes at most two units: the cheap bound comes first, against megabytes.
  if (typeof value !== 'string' || value.length > maximum * 2 || !value.isWellFormed()) return false
  let length = 0
  for (const _ of value) length += 1
  return length >= minimum && length <= maximum
}

/** The row id that the digits stand for; `undefined` for what can't be one. */
export function parseId(id: string): number | undefined {
  return /^[1-9][0-9]{0,14}$/.test(id) ? Number(id) : undefined
}

/** What a search looks for: folded; `undefined` when everything matches, `null` when nothing can. */
export function parseSearch(search: string | undefined): string | null | undefined {
  if (search === undefined || search === '') return undefined
  return isLine(search, 1, searchMaximum) ? foldText(search) : null
}

/** SQL for "the column contains this text". The text's `%`, `_` and `\` stand for themselves. */
export function contains(column: Expression<string> | RawBuilder<string>, text: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`${column} like ${`%${text.replace(/[\\%_]/g, '\\$&')}%`} escape '\\'`
}
