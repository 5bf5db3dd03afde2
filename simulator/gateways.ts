/** The gateways that hear the simulated devices: placed where the devices are, hearing worse with distance. */
import type { UplinkReception } from '../src/lorawan/events.ts'
import { isAudible } from './eu868.ts'
import type { Random } from './random.ts'
import { rounded } from './sensor.ts'
import type { Coordinates } from './sensor.ts'

/** A gateway of the simulated network. */
interface Gateway {
  readonly gatewayID: string
  readonly name: string
  readonly location: Coordinates
}

export interface Gateways {
  readonly size: number
  /** Who hears a device that sends from a place, the best first; at least one, at most four. */
  receptions(from: Coordinates, random: Random, atMs: number): readonly [UplinkReception, ...UplinkReception[]]
}

/** A gateway for each square of this many degrees that has devices in it: some 3 km by 2. */
const SQUARE_DEGREES = 0.03

/** The most gateways; devices further away than all of them are heard, faintly, by the nearest. */
const MAXIMUM_GATEWAYS = 16

/** How many gateways at most report one uplink. */
const MAXIMUM_RECEPTIONS = 4

/** RFC 9542 §2.2.3: EUI-64 identifiers for documentation; gateways take the end of the block. */
const GATEWAY_ID_PREFIX = '00005eef100000f'

/** Thermal noise in 125 kHz and the receiver's noise figure, in dBm. */
const NOISE_FLOOR = -117

/** Places gateways for devices at the locations given; they must not be none. */
export function createGateways(locations: readonly Coordinates[], random: Random): Gateways {
  const squares = new Map<string, Coordinates[]>()
  for (const location of locations) {
    const key = `${Math.floor(location.latitude / SQUARE_DEGREES)}/${Math.floor(location.longitude / SQUARE_DEGREES)}`
    const square = squares.get(key)
    if (square === undefined) squares.set(key, [location])
    else square.push(location)
  }
  const gateways = [...squares.values()]
    .toSorted((one, other) => other.length - one.length)
    .slice(0, MAXIMUM_GATEWAYS)
    .map((square, index) => gatewayAmid(square, index, random))
  return {
    size: gateways.length,
    receptions: (from, deviceRandom, atMs) => receptions(gateways, from, deviceRandom, atMs),
  }
}

/** A gateway on a roof near the middle of the devices of one square. */
function gatewayAmid(square: readonly Coordinates[], index: number, random: Random): Gateway {
  const mean = (of: (each: Coordinates) => number): number =>
    square.reduce((sum, each) => sum + of(each), 0) / square.length
  return {
    gatewayID: GATEWAY_ID_PREFIX + index.toString(16),
    name: `gateway-${index + 1}`,
    location: {
      latitude: rounded(mean((each) => each.latitude) + random.between(-0.003, 0.003), 5),
      longitude: rounded(mean((each) => each.longitude) + random.between(-0.003, 0.003), 5),
      altitude: Math.round(mean((each) => each.altitude) + random.between(10, 40)),
    },
  }
}

function receptions(
  gateways: readonly Gateway[],
  from: Coordinates,
  random: Random,
  atMs: number,
): readonly [UplinkReception, ...UplinkReception[]] {
  const heard = gateways
    .map((gateway) => receptionBy(gateway, from, random, atMs))
    .toSorted((one, other) => other.rssi - one.rssi)
  const [best, ...others] = heard
  if (best === undefined) throw new RangeError('there are no gateways')
  return [best, ...others.filter((each) => isAudible(each.loRaSNR)).slice(0, MAXIMUM_RECEPTIONS - 1)]
}

function receptionBy(gateway: Gateway, from: Coordinates, random: Random, atMs: number): UplinkReception {
  // 14 dBm sent; the loss of a town by log distance, with shadows of some 4 dB.
  const km = Math.max(0.02, distanceKm(gateway.location, from))
  const rssi = Math.round(14 - (120 + 35 * Math.log10(km)) + random.normal(0, 4))
  const snr = Math.min(12, Math.max(-20, rssi - NOISE_FLOOR + random.normal(0, 1)))
  return {
    gatewayID: gateway.gatewayID,
    uplinkID: uuid(random),
    name: gateway.name,
    time: new Date(atMs).toISOString(),
    rssi: Math.max(-139, Math.min(-25, rssi)),
    loRaSNR: rounded(snr, 1),
    location: gateway.location,
  }
}

/** On the small scale of a radio cell the earth is flat. */
function distanceKm(one: Coordinates, other: Coordinates): number {
  const north = (one.latitude - other.latitude) * 111.2
  const east = (one.longitude - other.longitude) * 111.2 * Math.cos((one.latitude * Math.PI) / 180)
  return Math.hypot(north, east)
}

/** A version 4 UUID (RFC 9562 §5.4) out of the seeded stream. */
function uuid(random: Random): string {
  const variant = random.integer(8, 11).toString(16)
  return `${random.hex(4)}-${random.hex(2)}-4${random.hex(2).slice(1)}-${variant}${random.hex(2).slice(1)}-${random.hex(6)}`
}
