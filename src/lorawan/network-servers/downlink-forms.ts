/** A downlink in the JSON that each family of network servers takes. */
import type { Downlink } from '../network-server.ts'

/** A: ChirpStack v3 and its relatives. B: ChirpStack v4. */
export type Family = 'A' | 'B'

/**
 * The payload of a command message. Family B gets its DevEUI, which must equal the topic's, the id and the expiry; nothing
 * else, for ChirpStack v4 refuses a message with members that it doesn't know, and refuses it silently.
 */
export function downlinkMessage(downlink: Downlink, family: Family): Buffer {
  const { confirmed, fPort, devEui, id, expiresAtMs } = downlink
  const data = downlink.data.toString('base64')
  if (family === 'A') return Buffer.from(JSON.stringify({ confirmed, fPort, data }))
  const expiry = expiresAtMs === undefined ? {} : { expiresAt: new Date(expiresAtMs).toISOString() }
  return Buffer.from(JSON.stringify({ devEui, id, confirmed, fPort, data, ...expiry }))
}
