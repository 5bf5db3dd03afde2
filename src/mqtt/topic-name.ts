/** Topic Names, to which messages are published (MQTT 5.0 §4.7). */
import { MAXIMUM_STRING_BYTES } from './utf8.ts'

/**
 * True when the text can be the Topic Name of a message: 1 to 65,535 bytes of UTF-8 [MQTT-4.7.3-1]
 * [MQTT-4.7.3-3], no wildcard [MQTT-4.7.0-1], no U+0000 [MQTT-4.7.3-2], no lone surrogate.
 */
export function isValidTopicName(name: string): boolean {
  return !hasWildcard(name) && isTopicText(name)
}

/** True when `+` or `#` stands anywhere in the text. */
export function hasWildcard(text: string): boolean {
  return text.includes('+') || text.includes('#')
}

/**
 * True when the text has a length and characters that both a Topic Name and a Topic Filter may
 * have.
 */
export function isTopicText(text: string): boolean {
  if (text.length === 0 || text.length > MAXIMUM_STRING_BYTES) return false
  if (text.includes('\0') || !text.isWellFormed()) return false
  // A UTF-16 code unit takes three bytes at most.
  return text.length * 3 <= MAXIMUM_STRING_BYTES || Buffer.byteLength(text) <= MAXIMUM_STRING_BYTES
}
