/**
 * The payloads of device events. Two families of network servers publish them: A, whose EUIs and
 * ids are spelled `devEUI` and `applicationID`, and B (ChirpStack v4), with `deviceInfo` in front.
 * Zero, false and empty values are written, but for what is optional here. Payloads pass through
 * the service as they are; only a device's state is read from them.
 */
import { objectOf } from '../json.ts'
import type { JsonObject } from '../json.ts'
import type { PublishedEventKind } from './topics.ts'

/**
 * What each event of family A begins with. Ids are strings of digits, EUIs lower-case hexadecimal.
 */
export interface EventCommon {
  readonly applicationID: string
  readonly applicationName: string
  readonly deviceName: string
  readonly devEUI: string
  readonly tags: Readonly<Record<string, string>>
}

/** WGS 84, degrees; altitude in metres. */
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
  /** The decoded payload, where a codec gave one. */
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
  /** The downlink frame counter of the confirmed downlink. */
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
  /** Left out where it is 0, and where the fault is of no frame. */
  readonly fCnt?: number
}

export interface StatusEvent extends EventCommon {
  /** Demodulation margin of the last status request, dB, -32 to 31. */
  readonly margin: number
  readonly externalPowerSource: boolean
  /** Percent; 0 where it is not known or the device has external power. */
  readonly batteryLevel: number
  readonly batteryLevelUnavailable: boolean
}

interface LocationEvent extends EventCommon {
  readonly location: EventLocation
}

interface TxackEvent extends EventCommon {
  readonly fCnt: number
  /** In some versions, as `txInfo`; ChirpStack v3.17 has neither. */
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

/** What an event tells about the state of its device. */
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
 * The largest status or ack that is parsed, in bytes; real ones have some 500. Of a larger one
 * nothing is read.
 */
const MAXIMUM_PARSED_BYTES = 65_536

/**
 * What an event of family A or B tells about its device; undefined where it is no sign of life: an
 * acknowledgement that did not come, errors, locations and the gateway's txack are not sent by the
 * device. Only a status and an ack are parsed. Never throws: whatever is missing, of another type
 * or out of range is left out. The time is the caller's, since a publisher's own may be wrong.
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

/** The members are spelled alike in both families. */
function statusOf(payload: Buffer): Omit<DeviceState, 'lastSeenAtMs'> {
  const { margin, batteryLevel, batteryLevelUnavailable, externalPowerSource } = boundedMembersOf(payload)
  const knowsBattery = batteryLevelUnavailable !== true && externalPowerSource !== true
  return {
    ...(isWithin(margin, -32, 31) ? { margin } : {}),
    ...(knowsBattery && isWithin(batteryLevel, 0, 100) ? { batteryLevel } : {}),
    ...(typeof externalPowerSource === 'boolean' ? { externalPowerSource } : {}),
  }
}

/** The members of an event; none where the payload is too large or is not a JSON object. */
function boundedMembersOf(payload: Buffer): JsonObject {
  return payload.length > MAXIMUM_PARSED_BYTES ? {} : (membersOf(payload) ?? {})
}

/**
 * The members of an event's payload; undefined where the payload is not a JSON object. Bytes that
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
