/**
 * The payloads of device events. There are two families of network servers: A spells EUIs and ids
 * `devEUI` and `applicationID`; B (ChirpStack v4) begins with `deviceInfo`. Zero, false and empty
 * values are written, except for the members that are optional here. Payloads pass through the
 * service unchanged; only the state of a device is read from them.
 */
import { objectOf } from '../json.ts'
import type { JsonObject } from '../json.ts'
import type { PublishedEventKind } from './topics.ts'

/**
 * The first members of each event of family A. Ids are strings of digits, EUIs lower-case
 * hexadecimal.
 */
export interface EventCommon {
  readonly applicationID: string
  readonly applicationName: string
  readonly deviceName: string
  readonly devEUI: string
  readonly tags: Readonly<Record<string, string>>
}

/** A place in WGS 84, in degrees; the altitude is in metres. */
interface EventLocation {
  readonly latitude: number
  readonly longitude: number
  readonly altitude: number
}

/** The reception of an uplink by one gateway. */
export interface UplinkReception {
  readonly gatewayID: string
  readonly uplinkID: string
  readonly name: string
  /** RFC 3339. */
  readonly time: string
  /** dBm. */
  readonly rssi: number
  /** dB. */
  readonly loRaSNR: number
  readonly location: EventLocation
}

export interface TransmissionInfo {
  /** Hz. */
  readonly frequency: number
  /** The data rate's index in the region. */
  readonly dr: number
}

interface UpEvent extends EventCommon {
  readonly deviceProfileName: string
  readonly deviceProfileID: string
  readonly rxInfo: readonly UplinkReception[]
  readonly txInfo: TransmissionInfo
  readonly adr: boolean
  readonly fCnt: number
  readonly fPort: number
  /** Base64 of the decrypted payload. */
  readonly data: string
  /** The decoded payload, if there is a codec. */
  readonly object?: Readonly<Record<string, unknown>>
}

interface JoinEvent extends EventCommon {
  /** 8 hexadecimal digits. */
  readonly devAddr: string
  readonly rxInfo: readonly UplinkReception[]
  readonly txInfo: TransmissionInfo
}

export interface AckEvent extends EventCommon {
  readonly acknowledged: boolean
  /** The frame counter of the confirmed downlink. */
  readonly fCnt: number
}

export type ErrorType =
  | 'UNKNOWN'
  | 'DOWNLINK_PAYLOAD_SIZE'
  | 'DOWNLINK_FCNT'
  | 'UPLINK_CODEC'
  | 'DOWNLINK_CODEC'
  | 'OTAA'
  | 'UPLINK_FCNT_RESET'
  | 'UPLINK_MIC'
  | 'UPLINK_FCNT_RETRANSMISSION'
  | 'DOWNLINK_GATEWAY'

interface ErrorEvent extends EventCommon {
  readonly type: ErrorType
  readonly error: string
  /** Left out when it is 0, and when the fault concerns no frame. */
  readonly fCnt?: number
}

export interface StatusEvent extends EventCommon {
  /** Demodulation margin of the last status request, dB, -32 to 31. */
  readonly margin: number
  readonly externalPowerSource: boolean
  /** Percent; 0 when it is unknown or the device has external power. */
  readonly batteryLevel: number
  readonly batteryLevelUnavailable: boolean
}

interface LocationEvent extends EventCommon {
  readonly location: EventLocation
}

interface TxackEvent extends EventCommon {
  readonly fCnt: number
  /** Some versions have it, as `txInfo`; ChirpStack v3.17 has neither. */
  readonly gatewayID?: string
  readonly txInfo?: TransmissionInfo
}

/** The payload of each kind of event. */
export interface EventPayloads {
  readonly up: UpEvent
  readonly join: JoinEvent
  readonly ack: AckEvent
  readonly error: ErrorEvent
  readonly status: StatusEvent
  readonly location: LocationEvent
  readonly txack: TxackEvent
}

/** The state of a device, as far as an event tells it. */
export interface DeviceState {
  /** Milliseconds since 1970. */
  readonly lastSeenAtMs: number
  /** Percent, 0 to 100. */
  readonly batteryLevel?: number
  readonly externalPowerSource?: boolean
  /** dB, -32 to 31. */
  readonly margin?: number
}

/**
 * The largest status or ack that is parsed, in bytes; real ones have some 500. A larger one is not
 * parsed.
 */
const MAXIMUM_PARSED_BYTES = 65_536

/**
 * The state of the device in an event of family A or B. Undefined for an event that the device did
 * not send: a missing acknowledgement, an error, a location, or the gateway's txack. Only a status
 * and an ack are parsed. Never throws: members that are missing, of another type or out of range
 * are left out. The caller gives the time, since the publisher's clock may be wrong.
 */
export function deviceStateOf(
  kind: PublishedEventKind,
  payload: Buffer,
  receivedAtMs: number,
): DeviceState | undefined {
  if (kind === 'up' || kind === 'join') return { lastSeenAtMs: receivedAtMs }
  if (kind === 'status') return { lastSeenAtMs: receivedAtMs, ...statusOf(payload) }
  if (kind === 'ack' && boundedMembersOf(payload)['acknowledged'] === true) return { lastSeenAtMs: receivedAtMs }
  return undefined
}

/** Both families have the same names for these members. */
function statusOf(payload: Buffer): Omit<DeviceState, 'lastSeenAtMs'> {
  const { margin, batteryLevel, batteryLevelUnavailable, externalPowerSource } = boundedMembersOf(payload)
  const knowsBattery = batteryLevelUnavailable !== true && externalPowerSource !== true
  return {
    ...(isWithin(margin, -32, 31) ? { margin } : {}),
    ...(knowsBattery && isWithin(batteryLevel, 0, 100) ? { batteryLevel } : {}),
    ...(typeof externalPowerSource === 'boolean' ? { externalPowerSource } : {}),
  }
}

/** The members of an event; none when the payload is too large or is not a JSON object. */
function boundedMembersOf(payload: Buffer): JsonObject {
  return payload.length > MAXIMUM_PARSED_BYTES ? {} : (membersOf(payload) ?? {})
}

/**
 * The members of an event's payload; undefined when the payload is not a JSON object. Bytes that
 * are not UTF-8 become U+FFFD: the members that this service reads are ASCII, and a device whose
 * name is badly encoded at its network server must not lose its events.
 */
export function membersOf(payload: Buffer): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(payload.toString()))
  } catch {
    return undefined
  }
}

function isWithin(value: unknown, low: number, high: number): value is number {
  return typeof value === 'number' && value >= low && value <= high
}
