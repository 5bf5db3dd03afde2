/**
 * Bytes as text, both ways: base64 as events and commands carry it, hexadecimal as people read it.
 */

/** Base64 as `01 67 00 fa`; undefined where it is none. */
export function hexOf(base64: string): string | undefined {
  try {
    return Array.from(atob(base64), (character) => character.charCodeAt(0).toString(16).padStart(2, '0')).join(' ')
  } catch {
    return undefined
  }
}

/**
 * Hexadecimal digits, with or without spaces, colons and 0x, as base64; undefined where they are no
 * whole bytes.
 */
export function base64Of(hex: string): string | undefined {
  const digits = hex.replaceAll(/0x|[\s:,-]/gi, '')
  if (digits.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(digits)) return undefined
  const pairs = digits.match(/../g) ?? []
  return btoa(pairs.map((pair) => String.fromCharCode(Number.parseInt(pair, 16))).join(''))
}
