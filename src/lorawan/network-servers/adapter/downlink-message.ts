/** A downlink in the JSON that network servers take as the payload of a command message. */
import { given } from '../../../given.ts'
import type { CommandNaming } from '../../commands/command-naming.ts'
import type { Downlink, HandOverAnswer } from '../../commands/network-server.ts'

/**
 * ChirpStack v4 acknowledges a command when it has read it, and handles it in a task of its own.
 * This is how long two of one device are apart, so that they keep their order. Of 20 commands to
 * each of 60 devices, on two CPUs with five times the work that they can do, v4.19 had two in
 * another order of 3 devices at 50 ms, and of none at 100 ms.
 */
export const NEXT_AFTER_MS = 250
/** The highest fPort that ChirpStack v3 takes by MQTT; it drops what is above without a word. */
const HIGHEST_FPORT_OF_V3 = 224
/**
 * Of LoRaWAN relays (TS011). ChirpStack v4 sends such a downlink with each uplink of the device
 * again, and nothing behind it.
 */
const RELAY_FPORT = 226

/**
 * One form for both families: ChirpStack v4 wants `devEui`, takes `id` and `expiresAt`, and ignores
 * what it does not know; v3 ignores members that it does not know, and takes `devEui` for its
 * `devEUI`. With the id in it no two payloads are alike: v3 drops one that equals another of the
 * last 100 ms.
 */
export function downlinkMessage({ id, devEui, confirmed, fPort, data, object, expiresAtMs }: Downlink): Buffer {
  const message = {
    devEui,
    id,
    confirmed,
    fPort,
    ...(data === undefined ? { object } : { data: data.toString('base64') }),
    ...given({ expiresAt: expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString() }),
  }
  return Buffer.from(JSON.stringify(message))
}

/**
 * The refusal of a downlink that the application's network server would not deliver, and not say
 * so; undefined for any other. `theirId` is the application's id there.
 */
export function undeliverable(
  { fPort, applicationId }: Downlink,
  naming: Pick<CommandNaming, 'names' | 'countsFrames'>,
  theirId = applicationId,
): HandOverAnswer | undefined {
  if (naming.countsFrames(applicationId) && fPort > HIGHEST_FPORT_OF_V3) {
    const reason = `fPort: ${fPort} is above ${HIGHEST_FPORT_OF_V3}, the highest that ChirpStack v3 takes`
    return { outcome: 'refused', reason }
  }
  if (naming.names(applicationId, theirId) && fPort === RELAY_FPORT) {
    const reason = `fPort: ${fPort} is for relays; ChirpStack v4 would send nothing else to the device any more`
    return { outcome: 'refused', reason }
  }
  return undefined
}
