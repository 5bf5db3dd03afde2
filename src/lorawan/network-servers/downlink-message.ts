/** A downlink in the JSON that network servers take as the payload of a command message. */
import type { Downlink, HandOver } from '../network-server.ts'

/** The highest that ChirpStack v3 takes by MQTT; it drops what is above without a word. */
const HIGHEST_FPORT_OF_V3 = 224

/**
 * One form for both families: ChirpStack v4 wants `devEui`, takes `id` and `expiresAt`, and ignores what it does not know;
 * v3 ignores members that it does not know, and takes `devEui` for its `devEUI`. With the id in it no two payloads are alike:
 * v3 drops one that equals another of the last 100 ms.
 */
export function downlinkMessage({ id, devEui, confirmed, fPort, data, object, expiresAtMs }: Downlink): Buffer {
  const message = {
    devEui,
    id,
    confirmed,
    fPort,
    ...(data === undefined ? { object } : { data: data.toString('base64') }),
    ...(expiresAtMs === undefined ? {} : { expiresAt: new Date(expiresAtMs).toISOString() }),
  }
  return Buffer.from(JSON.stringify(message))
}

/** The refusal of a downlink that a network server which counts frames (ChirpStack v3) would drop in silence; undefined where it takes it. */
export function silentlyDropped({ fPort }: Downlink): HandOver | undefined {
  if (fPort <= HIGHEST_FPORT_OF_V3) return undefined
  const reason = `fPort: ${fPort} is above ${HIGHEST_FPORT_OF_V3}, the highest that ChirpStack v3 takes`
  return { outcome: 'refused', reason }
}
