/**
 * Finds the place at which a text stops being JSON (RFC 8259). The engines of JavaScript tell the
 * place in words of their own, or not at all.
 */

/** The place of a fault in a text: `line` and `column` count from 1. */
export interface JsonFault {
  /** The index of the first character that no JSON text has there; the text's length at its end. */
  readonly position: number
  readonly line: number
  readonly column: number
}

/** The place of the first fault in a text; undefined for a JSON text of any depth. */
export function jsonFaultOf(text: string): JsonFault | undefined {
  const bytes = Buffer.from(text)
  const fault = jsonFaultAt(bytes, bytes.length)
  if (fault === undefined) return undefined
  const before = bytes.toString('utf8', 0, fault)
  const lines = before.split('\n')
  return { position: before.length, line: lines.length, column: (lines.at(-1) as string).length + 1 }
}

/** A sentence about a text that is no JSON, for the person who wrote it. */
export function notJson(text: string): string {
  const fault = jsonFaultOf(text)
  return fault === undefined ? 'not JSON' : `not JSON at line ${fault.line}, column ${fault.column}`
}

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

/**
 * The index of the first byte that no JSON text has there; the text's length where the text breaks
 * off. Undefined for one JSON value with white space around it, of at most `maximumDepth` levels.
 * One pass; nothing is allocated but a byte a level. The bytes must be UTF-8.
 */
export function jsonFaultAt(text: Buffer, maximumDepth: number): number | undefined {
  /** By level: the byte that closes it. */
  const closings = new Uint8Array(maximumDepth)
  let depth = 0
  let at = afterSpace(text, 0)
  for (;;) {
    const byte = text[at]
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (depth === maximumDepth) return at
      const closing = byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY
      at = afterSpace(text, at + 1)
      if (text[at] === closing) at += 1
      else {
        closings[depth] = closing
        depth += 1
        if (closing === CLOSE_OBJECT) at = afterName(text, at)
        if (at < 0) return ~at
        continue
      }
    } else {
      at = afterScalar(text, at)
      if (at < 0) return ~at
    }
    // A value has ended, and perhaps the array or object around it.
    at = afterSpace(text, at)
    while (depth > 0 && text[at] === closings[depth - 1]) {
      depth -= 1
      at = afterSpace(text, at + 1)
    }
    if (depth === 0) return at === text.length ? undefined : at
    if (text[at] !== COMMA) return at
    at = afterSpace(text, at + 1)
    if (closings[depth - 1] === CLOSE_OBJECT) at = afterName(text, at)
    if (at < 0) return ~at
  }
}

// The functions below return the index behind what they read, or `~index` of the fault in it.

function afterSpace(text: Buffer, from: number): number {
  let at = from
  while (SPACES[text[at] as number] === 1) at += 1
  return at
}

/** Reads a member's name and its colon. */
function afterName(text: Buffer, from: number): number {
  if (text[from] !== QUOTE) return ~from
  const end = afterString(text, from)
  if (end < 0) return end
  const colon = afterSpace(text, end)
  return text[colon] === COLON ? afterSpace(text, colon + 1) : ~colon
}

function afterScalar(text: Buffer, from: number): number {
  const byte = text[from]
  if (byte === undefined) return ~from
  if (byte === QUOTE) return afterString(text, from)
  if (byte === MINUS || isDigit(byte)) return afterNumber(text, from)
  for (const literal of LITERALS) if (byte === literal[0]) return afterLiteral(text, from, literal)
  return ~from
}

function afterLiteral(text: Buffer, from: number, literal: Buffer): number {
  for (let index = 1; index < literal.length; index += 1) {
    if (text[from + index] !== literal[index]) return ~(from + index)
  }
  return from + literal.length
}

function afterString(text: Buffer, from: number): number {
  for (let at = from + 1; ; at += 1) {
    while (PLAIN[text[at] as number] === 1) at += 1
    const byte = text[at]
    if (byte === QUOTE) return at + 1
    if (byte !== BACKSLASH) return ~at
    at += 1
    const escaped = text[at]
    if (escaped === LETTER_U) {
      for (let digit = 0; digit < 4; digit += 1) {
        at += 1
        if (!isHexadecimal(text[at])) return ~at
      }
    } else if (escaped === undefined || !ESCAPES.has(escaped)) return ~at
  }
}

function afterNumber(text: Buffer, from: number): number {
  let at = text[from] === MINUS ? from + 1 : from
  // No digit follows a leading zero.
  at = text[at] === ZERO ? at + 1 : afterDigits(text, at)
  if (at >= 0 && text[at] === POINT) at = afterDigits(text, at + 1)
  if (at < 0 || ((text[at] as number) | 0x20) !== 0x65) return at
  const sign = text[at + 1]
  return afterDigits(text, sign === PLUS || sign === MINUS ? at + 2 : at + 1)
}

/** At least one digit. */
function afterDigits(text: Buffer, from: number): number {
  let at = from
  while (isDigit(text[at])) at += 1
  return at === from ? ~at : at
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE
}

function isHexadecimal(byte: number | undefined): boolean {
  if (byte === undefined) return false
  const letter = byte | 0x20
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66)
}
