/** Downlink commands, as a network server of either family reads them from the broker. */
import { encodeCayenne } from './cayenne.ts'

/** The payload families: A is the format of ChirpStack v3, B that of ChirpStack v4. */
export type Family = 'A' | 'B'

/** A command on its way to a device. */
export interface Downlink {
  /** The sender's id; undefined: it gave none. */
  readonly id: string | undefined
  readonly confirmed: boolean
  readonly fPort: number
  readonly bytes: Buffer
  /** Milliseconds since 1970; undefined: the downlink does not expire. */
  readonly expiresAtMs: number | undefined
}

/**
 * The result of reading a command. `codec_failed`: the object could not be encoded, and an event
 * tells the sender. `ignored`: the message is no command; a network server only writes a line into
 * its log, and nobody else learns of it.
 */
export type DownlinkResult =
  | { readonly outcome: 'taken'; readonly downlink: Downlink }
  | { readonly outcome: 'codec_failed'; readonly id: string | undefined; readonly message: string }
  | { readonly outcome: 'ignored'; readonly reason: string }

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Reads a command for a device; an object is encoded as Cayenne LPP. Family B requires `devEui`,
 * spelled as in the topic, and an `id` that is a UUID. Family A accepts any `id` and `devEui`, and
 * does not know `expiresAt`. Never throws.
 */
export function parseDownlink(payload: Buffer, family: Family, devEui: string): DownlinkResult {
  let message: unknown
  try {
    message = JSON.parse(payload.toString('utf8'))
  } catch {
    return ignored('the command is not JSON')
  }
  if (typeof message !== 'object' || message === null) return ignored('the command is not a JSON object')
  const { confirmed, fPort, data, object, id, expiresAt, devEui: named } = message as Record<string, unknown>
  if (typeof confirmed !== 'boolean') return ignored('confirmed is not a boolean')
  if (typeof fPort !== 'number' || !Number.isInteger(fPort) || fPort < 1 || fPort > 255) {
    return ignored('fPort is not a whole number from 1 to 255')
  }
  if (family === 'B') {
    if (named !== devEui) return ignored('devEui is not the DevEUI of the topic')
    if (id !== undefined && (typeof id !== 'string' || !UUID.test(id))) return ignored('id is not a UUID')
  }
  const givenId = typeof id === 'string' && id !== '' ? id : undefined
  const expiresAtMs = family === 'B' && typeof expiresAt === 'string' ? Date.parse(expiresAt) : undefined
  if (Number.isNaN(expiresAtMs)) return ignored('expiresAt is not a time')
  const taken = (bytes: Buffer): DownlinkResult => ({
    outcome: 'taken',
    downlink: { id: givenId, confirmed, fPort, bytes, expiresAtMs },
  })
  if (object !== undefined && object !== null) {
    const encoding = encodeCayenne(object)
    if (encoding.ok) return taken(encoding.bytes)
    if (typeof data !== 'string') return { outcome: 'codec_failed', id: givenId, message: encoding.message }
  }
  return typeof data === 'string' ? taken(Buffer.from(data, 'base64')) : ignored('there is neither data nor object')
}

function ignored(reason: string): DownlinkResult {
  return { outcome: 'ignored', reason }
}
