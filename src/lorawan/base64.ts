/**
 * Base64 in commands and codecs (RFC 4648 §4): the standard alphabet, with complete padding or
 * none.
 */

/** The most application data of one LoRaWAN frame at the best data rate, in bytes (RP002 §2, N). */
export const MAXIMUM_DATA_BYTES = 242

const QUAD = '[A-Za-z0-9+/]{4}'
/** The end of a text with one or two bytes, without stray bits in the last character. */
const REST = '(?:[A-Za-z0-9+/][AQgw](?:==)?|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=?)?'

/** The texts that `decodeBase64` reads, as a pattern of JSON Schema. */
export const BASE64_PATTERN = `^(?:${QUAD})*${REST}$`

/**
 * The texts of at most `MAXIMUM_DATA_BYTES`, which are 80 times 3 and 2, as a pattern of JSON
 * Schema.
 */
export const DATA_PATTERN = `^(?:${QUAD}){0,${Math.floor(MAXIMUM_DATA_BYTES / 3)}}${REST}$`

const BASE64 = new RegExp(BASE64_PATTERN)

/** The bytes; undefined for a text that is not base64. */
export function decodeBase64(text: string): Buffer | undefined {
  return BASE64.test(text) ? Buffer.from(text, 'base64') : undefined
}
