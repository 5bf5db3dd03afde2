/**
 * Reads the examples of collections. They are JSON, or literals of JavaScript with comments,
 * hexadecimal numbers and commas at the end. Nothing of them is run.
 */
import { parse } from 'yaml'

/** A string, or a comment, or a tab between the two. */
const PARTS = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\/\/[^\n]*|\/\*[^]*?\*\/|\t/g

/** The value of the text. Throws when it is no literal. */
export function parseLiteral(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    // YAML's flow style has all else: numbers such as 0x1f, names without quotes, a last comma.
    const plain = text.replaceAll(PARTS, (part) => (/^["']/.test(part) ? part : ' '))
    return parse(plain, { logLevel: 'error', schema: 'core', maxAliasCount: 0 }) as unknown
  }
}
