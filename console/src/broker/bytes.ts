/** Bytes as text: base64 for events and commands, hexadecimal digits for people. */

/** Makes `01 67 00 fa` of base64; undefined where the text is not base64. */
export function hexOf(base64: string): string | undefined {
  try {
    return Array.from(atob(base64), (character) => character.charCodeAt(0).toString(16).padStart(2, '0')).join(' ')
  } catch {
    return undefined
  }
}

/**
 * Makes base64 of hexadecimal digits, with or without spaces, colons and 0x; undefined where the
 * digits are not whole bytes.
 */
export function base64Of(hex: string): string | undefined {
  const digits = hex.replaceAll(/0x|[\s:,-]/gi, '')
  if (digits.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(digits)) return undefined
  const pairs = digits.match(/../g) ?? []
  return btoa(pairs.map((pair) => String.fromCharCode(Number.parseInt(pair, 16))).join(''))
}
