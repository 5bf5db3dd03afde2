/**
 * The gateways of the simulated network: they stand near the devices, hear worse with distance, and
 * send one frame at a time.
 */
import type { Random } from './random.ts'
import { rounded } from './sensor.ts'
import type { Coordinates } from './sensor.ts'

/** A gateway of the simulated network. */
export interface Gateway {
  /** 16 lower-case hexadecimal digits. */
  readonly gatewayId: string
  readonly name: string
  readonly location: Coordinates
  /**
   * The error of its clock: 0 with a GPS receiver; without one, the clock is set over the network.
   */
  readonly clockOffsetMs: number
  readonly hasGps: boolean
}

/** The reception of an uplink by one gateway. */
export interface Reception {
  readonly gateway: Gateway
  /** A UUID. */
  readonly uplinkId: string
  /** Milliseconds since 1970 by the gateway's own clock. */
  readonly gatewayTimeMs: number
  /** dBm. */
  readonly rssi: number
  /** dB. */
  readonly snr: number
}

export interface Gateways {
  readonly size: number
  /**
   * The gateways that hear a frame sent from a place, the best first: at most four, none if the
   * frame needs a better signal. The nearest gateway always hears a frame that needs no more than
   * `faintest`.
   */
  receptions(frame: SentFrame, random: Random): readonly Reception[]
  /**
   * Takes the first of these gateways that is free; it is busy for `airtimeMs` from now on.
   * Undefined: all are sending.
   */
  send(by: readonly Gateway[], nowMs: number, airtimeMs: number): Gateway | undefined
  /** The time at which the first of these gateways is free. */
  freeAtMs(of: readonly Gateway[]): number
}

export interface SentFrame {
  readonly from: Coordinates
  readonly atMs: number
  readonly requiredSnr: number
  /** The least Signal to Noise Ratio at which the nearest gateway hears the frame, in dB. */
  readonly faintest: number
}

/** Each square of this many degrees that has devices gets a gateway: some 3 km by 2. */
const SQUARE_DEGREES = 0.03

/**
 * The most gateways. The nearest one still hears, faintly, devices that are far from all gateways.
 */
const MAXIMUM_GATEWAYS = 16

/** The most gateways that report one uplink. */
const MAXIMUM_RECEPTIONS = 4

/** The share of gateways with a GPS receiver. */
const GPS_SHARE = 0.75
/** The largest error of the clock of a gateway without a GPS receiver. */
const MAXIMUM_CLOCK_OFFSET_MS = 400

/** RFC 9542 §2.2.3: EUI-64 identifiers for documentation; gateways use the end of the block. */
const GATEWAY_ID_PREFIX = '00005eef100000f'

/** Thermal noise in 125 kHz and the receiver's noise figure, in dBm. */
const NOISE_FLOOR = -117

/** Places gateways for devices at these locations, of which there must be at least one. */
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
  if (gateways.length === 0) throw new RangeError('there are no locations to place gateways at')
  /** By gateway: the time at which its transmission ends. */
  const busyUntilMs = new Map(gateways.map((gateway) => [gateway, 0]))
  return {
    size: gateways.length,
    receptions: (frame, deviceRandom) => receptions(gateways, frame, deviceRandom),
    send(by, nowMs, airtimeMs) {
      const free = by.find((gateway) => (busyUntilMs.get(gateway) ?? 0) <= nowMs)
      if (free !== undefined) busyUntilMs.set(free, nowMs + airtimeMs)
      return free
    },
    freeAtMs: (of) => Math.min(...of.map((gateway) => busyUntilMs.get(gateway) ?? 0)),
  }
}

/** A gateway on a roof near the middle of the devices of one square. */
function gatewayAmid(square: readonly Coordinates[], index: number, random: Random): Gateway {
  const mean = (of: (each: Coordinates) => number): number =>
    square.reduce((sum, each) => sum + of(each), 0) / square.length
  const hasGps = index === 0 || random.chance(GPS_SHARE)
  return {
    gatewayId: GATEWAY_ID_PREFIX + index.toString(16),
    name: `gateway-${index + 1}`,
    location: {
      latitude: rounded(mean((each) => each.latitude) + random.between(-0.003, 0.003), 5),
      longitude: rounded(mean((each) => each.longitude) + random.between(-0.003, 0.003), 5),
      altitude: Math.round(mean((each) => each.altitude) + random.between(10, 40)),
    },
    hasGps,
    clockOffsetMs: hasGps ? 0 : random.integer(-MAXIMUM_CLOCK_OFFSET_MS, MAXIMUM_CLOCK_OFFSET_MS),
  }
}

function receptions(gateways: readonly Gateway[], frame: SentFrame, random: Random): readonly Reception[] {
  const signals = gateways
    .map((gateway) => signalAt(gateway, frame.from, random))
    .toSorted((one, other) => other.rssi - one.rssi)
  const [nearest] = signals
  if (nearest !== undefined) nearest.snr = Math.max(nearest.snr, frame.faintest)
  return signals
    .filter(({ snr }) => snr >= frame.requiredSnr)
    .slice(0, MAXIMUM_RECEPTIONS)
    .map(({ gateway, rssi, snr }) => ({
      gateway,
      uplinkId: random.uuid(),
      gatewayTimeMs: frame.atMs + gateway.clockOffsetMs,
      rssi: Math.max(-139, Math.min(-25, rssi)),
      snr: rounded(snr, 1),
    }))
}

function signalAt(gateway: Gateway, from: Coordinates, random: Random): Signal {
  // A gateway hears 14 dBm sent, less the loss of a town by log distance, with shadows of some 4
  // dB.
  const km = Math.max(0.02, distanceKm(gateway.location, from))
  const rssi = Math.round(14 - (120 + 35 * Math.log10(km)) + random.normal(0, 4))
  return { gateway, rssi, snr: Math.min(12, rssi - NOISE_FLOOR + random.normal(0, 1)) }
}

/** A frame's strength at a gateway, heard or not. */
interface Signal {
  readonly gateway: Gateway
  readonly rssi: number
  snr: number
}

/** The distance in km. Within a radio cell the earth counts as flat. */
function distanceKm(one: Coordinates, other: Coordinates): number {
  const north = (one.latitude - other.latitude) * 111.2
  const east = (one.longitude - other.longitude) * 111.2 * Math.cos((one.latitude * Math.PI) / 180)
  return Math.hypot(north, east)
}
