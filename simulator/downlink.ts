/** Downlink commands as a network server reads them from the broker. */
import { encodeCayenne } from './cayenne.ts'

/** A command on its way to a device. */
export interface Downlink {
  readonly confirmed: boolean
  readonly fPort: number
  readonly bytes: Buffer
  /** Milliseconds since 1970; undefined where it does not expire. */
  readonly expiresAtMs: number | undefined
}

/** `codec` tells an object that could not be encoded from a message that is no command at all. */
export type DownlinkResult =
  | { readonly ok: true; readonly downlink: Downlink }
  | { readonly ok: false; readonly codec: boolean; readonly message: string }

/** Reads a command; an object without data is encoded as Cayenne LPP. Never throws. */
export function parseDownlink(payload: Buffer): DownlinkResult {
  let message: unknown
  try {
    message = JSON.parse(payload.toString('utf8'))
  } catch {
    return refused('the command is not JSON')
  }
  if (typeof message !== 'object' || message === null) return refused('the command is not a JSON object')
  const { confirmed, fPort, data, object, expiresAt } = message as Record<string, unknown>
  if (typeof confirmed !== 'boolean') return refused('confirmed is not a boolean')
  if (typeof fPort !== 'number' || !Number.isInteger(fPort) || fPort < 1 || fPort > 255) {
    return refused('fPort is not a whole number from 1 to 255')
  }
  const expiresAtMs = typeof expiresAt === 'string' ? Date.parse(expiresAt) : undefined
  if (object !== undefined) {
    const encoding = encodeCayenne(object)
    if (encoding.ok) return { ok: true, downlink: { confirmed, fPort, bytes: encoding.bytes, expiresAtMs } }
    if (data === undefined) return { ok: false, codec: true, message: encoding.message }
  }
  if (typeof data !== 'string') return refused('there is neither data nor object')
  return { ok: true, downlink: { confirmed, fPort, bytes: Buffer.from(data, 'base64'), expiresAtMs } }
}

function refused(message: string): DownlinkResult {
  return { ok: false, codec: false, message }
}
