/** The events of simulated devices: all kinds that the simulator can make. */
import {
  DEV_EUI,
  NEAR,
  command,
  createDevice,
  eventsUntil,
  joined,
  untilEvent,
} from '../../simulator/device.testing.ts'
import type { DeviceOptions } from '../../simulator/device.testing.ts'
import { createGateways } from '../../simulator/gateways.ts'
import type { NetworkEvent } from '../../simulator/network-event.ts'
import { createRandom } from '../../simulator/random.ts'

const MINUTE_MS = 60_000
/** A UUID, because ChirpStack v4 gives its applications such ids. */
const APPLICATION_ID = 'ac134824-324d-427f-85da-370d2b18d379'

/** Lives of devices with all events that the simulator can make. */
export function lives(family: 'A' | 'B'): NetworkEvent[] {
  const options = { family, intervalMs: MINUTE_MS, applicationId: family === 'A' ? '5' : APPLICATION_ID } as const
  const members = family === 'B' ? { devEui: DEV_EUI } : {}
  return [
    ...liveOf({ ...options, model: 'gps-tracker' }, [{ ...members, confirmed: true }, members]),
    ...liveOf({ ...options, deviceClass: 'C' }, [{ ...members, confirmed: true }, members]),
    // A confirmed command that is not acknowledged.
    ...liveOf({ ...options, radio: { downlinkLossRate: 1, resumedShare: 1 } }, [{ ...members, confirmed: true }]),
    ...liveOf({ ...options, radio: { codecErrorRate: 1, repeatRate: 1, withoutObjectShare: 0 } }, []),
    ...liveOf({ ...options, radio: { withoutObjectShare: 1 } }, []),
    ...liveOf(options, [{ ...members, data: Buffer.alloc(243).toString('base64') }]),
    ...liveOf(options, [{ ...members, expiresAt: new Date(0).toISOString() }]),
    ...refusedObject(options, members),
    ...busyGateway(options, members),
    ...manyGateways(options),
  ]
}

function liveOf(options: DeviceOptions, commands: readonly object[]): NetworkEvent[] {
  const { device, nowMs } = joined(options)
  const events = eventsUntil(createDevice(options), nowMs)
  for (const members of commands) device.receive(command(members), nowMs)
  return [...events, ...eventsUntil(device, nowMs + 30 * MINUTE_MS)]
}

function refusedObject(options: DeviceOptions, members: object): NetworkEvent[] {
  const { device, nowMs } = joined(options)
  const fate = device.receive(command({ ...members, data: undefined, object: { led: { 1: 1 } } }), nowMs)
  return fate.outcome === 'refused' ? [fate.event] : []
}

function busyGateway(options: DeviceOptions, members: object): NetworkEvent[] {
  const gateways = createGateways([NEAR], createRandom(7))
  const { device, nowMs } = joined({ ...options, gateways, intervalMs: 10 * MINUTE_MS })
  // The first command goes out, with the counter 0.
  for (let count = 0; count < 2; count += 1) device.receive(command(members), nowMs)
  const { atMs } = untilEvent(device, 'txack')
  eventsUntil(device, atMs)
  const up = untilEvent(device, 'up')
  gateways.send([up.heard.receptions[0].gateway], up.atMs, 3000)
  return [untilEvent(device, 'fault')]
}

/** Some of the gateways have no GPS receiver. */
function manyGateways(options: DeviceOptions): NetworkEvent[] {
  const { longitude, altitude } = NEAR
  const places = [0, 0.02, 0.04, 0.06].map((step) => ({ latitude: NEAR.latitude + step, longitude, altitude }))
  const { device, nowMs } = joined({ ...options, gateways: createGateways(places, createRandom(7)) })
  return eventsUntil(device, nowMs + 10 * MINUTE_MS)
}
