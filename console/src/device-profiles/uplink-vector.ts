/** Makes a test vector of a stored uplink. */
import { hexOf } from '../broker/bytes.ts'
import type { LiveEvent } from '../broker/live-event.ts'

/** The part of an event that a vector needs. */
export type UplinkSample = Pick<
  LiveEvent,
  'kind' | 'deviceName' | 'receivedAtMs' | 'fPort' | 'fCnt' | 'data' | 'object'
>

/**
 * The newest uplink with bytes and an object as a vector; undefined where there is none. The oldest
 * event comes first. The variables are those of the device.
 */
export function uplinkVector(
  events: readonly UplinkSample[],
  variables: Readonly<Record<string, string>>,
): object | undefined {
  const event = events.findLast(({ kind, data, object, fPort }) => {
    return kind === 'up' && data !== undefined && fPort !== undefined && typeof object === 'object' && object !== null
  })
  if (event === undefined) return undefined
  const { deviceName, fPort, fCnt, data, object, receivedAtMs } = event
  const bytes = hexOf(data ?? '')?.replaceAll(' ', '')
  if (bytes === undefined) return undefined
  return {
    name: fCnt === undefined ? deviceName : `${deviceName}, frame ${fCnt}`,
    fPort,
    bytes,
    recvTime: new Date(receivedAtMs).toISOString(),
    ...(Object.keys(variables).length === 0 ? {} : { variables }),
    expected: { data: object },
  }
}
