/**
 * The text of API keys: `fg_`, an id, `_`, a secret, and a checksum of all that. Scanners of
 * secrets find keys by this form, and a key that was cut or mistyped is refused without a look-up.
 */
import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** The first characters of every API key. They tell a key apart from a JWT. */
export const API_KEY_PREFIX = 'fg_'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_CHARACTERS = 12
/** 256 bits, which nobody can guess. */
const SECRET_CHARACTERS = 43
/** As many as the greatest CRC-32 has in base 62. */
const CHECKSUM_CHARACTERS = 6
const FORM = /^fg_([0-9A-Za-z]{12})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/

/** The two parts of a key. */
export interface ApiKeyText {
  /** Names the key; no secret. */
  readonly id: string
  readonly secret: string
}

/** The id of a new key: 12 characters of base 62. */
export function newApiKeyId(): string {
  return randomText(ID_CHARACTERS)
}

/** The secret of a new key: 43 characters of base 62. */
export function newApiKeySecret(): string {
  return randomText(SECRET_CHARACTERS)
}

/** The text that a program sends: 65 characters. */
export function writeApiKey({ id, secret }: ApiKeyText): string {
  const text = `${API_KEY_PREFIX}${id}_${secret}`
  return text + checksumOf(text)
}

/** The parts of the text; undefined for a text that no service has written as a key. */
export function readApiKey(text: string): ApiKeyText | undefined {
  const [, id, secret, checksum] = FORM.exec(text) ?? []
  if (id === undefined || secret === undefined) return undefined
  return checksum === checksumOf(text.slice(0, -CHECKSUM_CHARACTERS)) ? { id, secret } : undefined
}

function randomText(characters: number): string {
  let text = ''
  for (let index = 0; index < characters; index += 1) text += BASE62[randomInt(BASE62.length)]
  return text
}

/** CRC-32 of the text, in base 62, with zeros in front. */
function checksumOf(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let index = 0; index < CHECKSUM_CHARACTERS; index += 1) {
    digits = `${BASE62[rest % BASE62.length]}${digits}`
    rest = Math.floor(rest / BASE62.length)
  }
  return digits
}
