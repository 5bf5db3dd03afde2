/**
 * UTF-8 Encoded Strings (MQTT 5.0 §1.5.4): two bytes of length, then well-formed UTF-8 without
 * U+0000.
 */
import { isUtf8 } from 'node:buffer'

/** The longest string that the two bytes of length allow. */
export const MAXIMUM_STRING_BYTES = 65_535

/**
 * The string between two positions of the buffer. Undefined when the bytes are ill-formed:
 * surrogates, overlong forms, code points past U+10FFFF [MQTT-1.5.4-1] or U+0000 [MQTT-1.5.4-2].
 * U+FEFF is kept everywhere [MQTT-1.5.4-3], and so are non-characters.
 */
export function decodeUtf8(bytes: Buffer, start: number, end: number): string | undefined {
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number
    if (byte === 0) return undefined
    if (byte >= 0x80) return decodeBeyondAscii(bytes, start, end, index)
  }
  return bytes.toString('latin1', start, end)
}

function decodeBeyondAscii(bytes: Buffer, start: number, end: number, firstBeyond: number): string | undefined {
  const rest = bytes.subarray(firstBeyond, end)
  if (rest.includes(0) || !isUtf8(rest)) return undefined
  return bytes.toString('utf8', start, end)
}

/**
 * The size of the string on the wire, without the two bytes of its length. Throws RangeError for
 * strings that no packet can carry: more than 65,535 bytes, or U+0000 [MQTT-1.5.4-2].
 */
export function utf8Size(text: string): number {
  if (text.includes('\0')) throw new RangeError('a string with U+0000 can not be sent')
  const size = Buffer.byteLength(text)
  if (size > MAXIMUM_STRING_BYTES) throw new RangeError(`a string of ${size} bytes is longer than MQTT can carry`)
  return size
}
