/**
 * The rules of texts: which texts names and notes may be, and how texts are compared and searched.
 */
import { sql } from 'kysely'
import type { Expression, RawBuilder, SqlBool } from 'kysely'

/** The longest search text. No text that is searched is longer. */
const MAXIMUM_SEARCH = 300

/**
 * Control characters and line separators, written for a character class of a regular expression.
 */
const NOT_IN_LINE = String.raw`\u0000-\u001f\u007f-\u009f\u2028\u2029`

/** The characters that `isLine` takes, as a pattern of JSON Schema (ECMA-262). */
export const LINE_PATTERN = `^[^${NOT_IN_LINE}]*$`

/**
 * The texts that `isName` takes, apart from their length. The byte order mark is white space in
 * ECMA-262, but not in all other dialects.
 */
export const NAME_PATTERN = String.raw`^[^${NOT_IN_LINE}]*[^\s\ufeff${NOT_IN_LINE}][^${NOT_IN_LINE}]*$`

/** The texts that `isTrimmedLine` takes, apart from their length. */
export const TRIMMED_LINE_PATTERN = String.raw`^[^\s\ufeff${NOT_IN_LINE}](?:[^${NOT_IN_LINE}]*[^\s\ufeff${NOT_IN_LINE}])?$`

/** The characters that `isParagraph` takes. */
export const PARAGRAPH_PATTERN = String.raw`^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$`

const LINE = new RegExp(LINE_PATTERN, 'u')
const NAME = new RegExp(NAME_PATTERN, 'u')
const TRIMMED_LINE = new RegExp(TRIMMED_LINE_PATTERN, 'u')
const PARAGRAPH = new RegExp(PARAGRAPH_PATTERN, 'u')

/** The text without differences of case and of Unicode's compatibility forms. */
export function foldText(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

/**
 * Whether the value is a text on one line with a number of characters (code points) within the
 * bounds. Control characters, NUL, line separators and half surrogate pairs are not allowed.
 */
export function isLine(value: unknown, minimum: number, maximum: number): value is string {
  return isText(value, minimum, maximum) && LINE.test(value)
}

/**
 * Whether the value is a name for people: a line of at most `maximum` characters with something to
 * see.
 */
export function isName(value: unknown, maximum: number): value is string {
  return isText(value, 1, maximum) && NAME.test(value)
}

/** Whether the value is a line of 1 to `maximum` characters, without white space at either end. */
export function isTrimmedLine(value: unknown, maximum: number): value is string {
  return isText(value, 1, maximum) && TRIMMED_LINE.test(value)
}

/** Like `isLine`, but line breaks and tabs are allowed. */
export function isParagraph(value: unknown, maximum: number): value is string {
  return isText(value, 0, maximum) && PARAGRAPH.test(value)
}

function isText(value: unknown, minimum: number, maximum: number): value is string {
  // A code point takes at most two units. This cheap bound comes first, against megabytes.
  if (typeof value !== 'string' || value.length > maximum * 2 || !value.isWellFormed()) return false
  let length = 0
  for (const _ of value) length += 1
  return length >= minimum && length <= maximum
}

/** The row id that the digits stand for; `undefined` for a text that can't be a row id. */
export function parseId(id: string): number | undefined {
  return /^[1-9][0-9]{0,14}$/.test(id) ? Number(id) : undefined
}

/** The folded text to search for; `undefined` when everything matches, `null` when nothing can. */
export function parseSearch(search: string | undefined): string | null | undefined {
  if (search === undefined || search === '') return undefined
  return isLine(search, 1, MAXIMUM_SEARCH) ? foldText(search) : null
}

/** SQL for "the column contains this text". The text's `%`, `_` and `\` stand for themselves. */
export function contains(column: Expression<string> | RawBuilder<string>, text: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`${column} like ${`%${text.replace(/[\\%_]/g, '\\$&')}%`} escape '\\'`
}
