/**
 * Checks whether bytes are one JSON text (RFC 8259), so that they can stand in an answer unchanged.
 * The check is about as fast as JSON.parse, but it builds nothing: a tenant's text of a million
 * brackets costs no more than any other text of its size, and no number is rounded.
 */
import { isUtf8 } from 'node:buffer'

/**
 * How deep arrays and objects may lie in each other. Events have some five levels; many readers of
 * JSON recurse, and a text of a million brackets, which costs its publisher nothing, would end
 * them.
 */
const MAXIMUM_DEPTH = 128

const TAB = 0x09
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const LETTER_U = 0x75
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * The characters that may follow a backslash, besides `u` with its four digits: " \ / b f n r t.
 */
const ESCAPES: ReadonlySet<number> = new Set([0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74])
const LITERALS = ['true', 'false', 'null'].map((literal) => Buffer.from(literal))
/** By byte: 1 for white space. */
const SPACES = Uint8Array.from({ length: 256 }, (_, byte) =>
  [TAB, LINE_FEED, CARRIAGE_RETURN, SPACE].includes(byte) ? 1 : 0,
)
/** By byte: 1 for a byte that stands for itself in a string. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
)
/** The position of a text in which no value, string or member begins. */
const NOWHERE = -1

/**
 * True for one JSON value in UTF-8, with white space around it, of at most 128 levels. One pass;
 * nothing is allocated but a byte a level.
 */
export function isJson(text: Buffer): boolean {
  if (!isUtf8(text)) return false
  /** By level: the byte that closes it. */
  const closings = new Uint8Array(MAXIMUM_DEPTH)
  let depth = 0
  let at = afterSpace(text, 0)
  for (;;) {
    const byte = text[at]
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (depth === MAXIMUM_DEPTH) return false
      const closing = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY
      at = afterSpace(text, at + 1)
      if (text[at] === closing) at += 1
      else {
        closings[depth] = closing
        depth += 1
        if (closing === CLOSE_OBJECT) at = afterName(text, at)
        if (at === NOWHERE) return false
        continue
      }
    } else {
      at = afterScalar(text, at)
      if (at === NOWHERE) return false
    }
    // A value has ended, and perhaps the array or object around it.
    at = afterSpace(text, at)
    while (depth > 0 && text[at] === closings[depth - 1]) {
      depth -= 1
      at = afterSpace(text, at + 1)
    }
    if (depth === 0) return at === text.length
    if (text[at] !== COMMA) return false
    at = afterSpace(text, at + 1)
    if (closings[depth - 1] === CLOSE_OBJECT) at = afterName(text, at)
    if (at === NOWHERE) return false
  }
}

function afterSpace(text: Buffer, from: number): number {
  let at = from
  while (SPACES[text[at] as number] === 1) at += 1
  return at
}

/** The position behind a member's name and its colon. */
function afterName(text: Buffer, from: number): number {
  if (text[from] !== QUOTE) return NOWHERE
  const end = afterString(text, from)
  if (end === NOWHERE) return NOWHERE
  const colon = afterSpace(text, end)
  return text[colon] === COLON ? afterSpace(text, colon + 1) : NOWHERE
}

function afterScalar(text: Buffer, from: number): number {
  const byte = text[from]
  if (byte === undefined) return NOWHERE
  if (byte === QUOTE) return afterString(text, from)
  if (byte === MINUS || isDigit(byte)) return afterNumber(text, from)
  for (const literal of LITERALS) {
    const end = from + literal.length
    if (byte === literal[0] && end <= text.length && literal.compare(text, from, end) === 0) return end
  }
  return NOWHERE
}

function afterString(text: Buffer, from: number): number {
  for (let at = from + 1; ; at += 1) {
    while (PLAIN[text[at] as number] === 1) at += 1
    const byte = text[at]
    if (byte === QUOTE) return at + 1
    if (byte !== BACKSLASH) return NOWHERE
    at += 1
    const escaped = text[at]
    if (escaped === LETTER_U) {
      for (let digit = 0; digit < 4; digit += 1) {
        at += 1
        if (!isHexadecimal(text[at])) return NOWHERE
      }
    } else if (escaped === undefined || !ESCAPES.has(escaped)) return NOWHERE
  }
}

function afterNumber(text: Buffer, from: number): number {
  let at = text[from] === MINUS ? from + 1 : from
  // No digit follows a leading zero.
  at = text[at] === ZERO ? at + 1 : afterDigits(text, at)
  if (at !== NOWHERE && text[at] === POINT) at = afterDigits(text, at + 1)
  if (at === NOWHERE || ((text[at] as number) | 0x20) !== 0x65) return at
  const sign = text[at + 1]
  return afterDigits(text, sign === PLUS || sign === MINUS ? at + 2 : at + 1)
}

/** At least one digit. */
function afterDigits(text: Buffer, from: number): number {
  let at = from
  while (isDigit(text[at])) at += 1
  return at === from ? NOWHERE : at
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE
}

function isHexadecimal(byte: number | undefined): boolean {
  if (byte === undefined) return false
  const letter = byte | 0x20
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66)
}
