/** A downlink as the JSON of a command message, which network servers take over MQTT. */
import { given } from '../../../given.ts'
import type { CommandNaming } from '../../commands/command-naming.ts'
import type { Downlink, HandOverAnswer } from '../../commands/network-server.ts'

/**
 * The time between two downlinks of one device. ChirpStack v4 acknowledges a command when it has
 * read it, and handles it in a task of its own, so that two downlinks shortly after each other may
 * change places. Measured with v4.19, 20 commands to each of 60 devices, and two CPUs with five
 * times their load: at 50 ms, 3 devices had two commands in the wrong order; at 100 ms, none had.
 * At 250 ms, it happened once in some tens of runs of all tests, which share two CPUs.
 */
export const NEXT_AFTER_MS = 500
/**
 * The highest fPort that ChirpStack v3 takes by MQTT; it silently drops a downlink with a higher
 * one.
 */
const HIGHEST_FPORT_OF_V3 = 224
/**
 * The fPort of LoRaWAN relays (TS011). ChirpStack v4 repeats such a downlink with each uplink of
 * the device, and sends no other downlink behind it.
 */
const RELAY_FPORT = 226

/**
 * The message of a downlink; one form fits both families. ChirpStack v4 wants `devEui`, takes `id`
 * and `expiresAt`, and ignores unknown members. v3 ignores unknown members as well, and takes
 * `devEui` for its `devEUI`. The id makes every payload unique: v3 drops a message that equals
 * another one of the last 100 ms.
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
 * The refusal of a downlink that the application's network server would silently not deliver;
 * undefined for any other downlink. `theirId` is the application's id there.
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
