/**
 * The network server's events about a device, before they are spelled in the payload of a family.
 */
import type { DeviceRecord } from './device-file.ts'
import type { Reception } from './gateways.ts'
import type { Carrier, RegionId } from './region.ts'
import type { Coordinates } from './sensor.ts'

/** A device as its events describe it. */
export interface DeviceIdentity {
  readonly record: DeviceRecord
  readonly deviceProfileName: string
  /** A UUID. */
  readonly deviceProfileId: string
  readonly deviceClass: 'A' | 'C'
  readonly regionId: RegionId
}

interface EventBase {
  readonly device: DeviceIdentity
  /** Milliseconds since 1970. */
  readonly atMs: number
  /** A UUID: the same for all events of one uplink. */
  readonly deduplicationId: string
}

/** The reception of an uplink. */
export interface Heard {
  readonly carrier: Carrier
  /** At least one reception, the best first. */
  readonly receptions: readonly [Reception, ...Reception[]]
}

export interface UplinkEvent extends EventBase {
  readonly kind: 'up'
  readonly devAddr: string
  readonly adr: boolean
  readonly confirmed: boolean
  readonly fCnt: number
  readonly fPort: number
  readonly bytes: Buffer
  /** Undefined: the network server has no codec for the device, or the codec failed. */
  readonly object: Readonly<Record<string, unknown>> | undefined
  readonly heard: Heard
}

export interface JoinEvent extends EventBase {
  readonly kind: 'join'
  /** 8 hexadecimal digits. */
  readonly devAddr: string
  readonly heard: Heard
}

export interface AckEvent extends EventBase {
  readonly kind: 'ack'
  readonly queueItemId: QueueItemId
  readonly acknowledged: boolean
  readonly fCntDown: number
}

export interface TxackEvent extends EventBase {
  readonly kind: 'txack'
  readonly queueItemId: QueueItemId
  /** True if an ack follows. */
  readonly confirmed: boolean
  /** Unsigned, 32 bits. */
  readonly downlinkId: number
  readonly fCntDown: number
  readonly gatewayId: string
  readonly carrier: Carrier
  /** dBm. */
  readonly power: number
  /** The delay after the uplink that the downlink answers; undefined: it was sent at once. */
  readonly delaySeconds: number | undefined
}

export type FaultCode =
  | 'DOWNLINK_PAYLOAD_SIZE'
  | 'DOWNLINK_CODEC'
  | 'DOWNLINK_GATEWAY'
  | 'DOWNLINK_EXPIRED'
  | 'DOWNLINK_QUEUE_FULL'
  | 'UPLINK_CODEC'
  | 'UPLINK_RETRANSMISSION'
  | 'OTAA'

export interface FaultEvent extends EventBase {
  readonly kind: 'fault'
  readonly code: FaultCode
  readonly level: 'WARNING' | 'ERROR'
  readonly description: string
  readonly fCnt: number
  /**
   * The id of the command at fault; undefined: the fault belongs to no command, or the command
   * stays queued.
   */
  readonly queueItemId: QueueItemId | undefined
  readonly context: Readonly<Record<string, string>>
}

export interface StatusEvent extends EventBase {
  readonly kind: 'status'
  readonly margin: number
  readonly externalPowerSource: boolean
  /** Percent, 0 with external power. */
  readonly batteryLevel: number
}

export interface LocationEvent extends EventBase {
  readonly kind: 'location'
  readonly location: Coordinates
}

/** The id of a command: the sender's own, or an id that the network server made up. */
export interface QueueItemId {
  readonly id: string
  readonly isGiven: boolean
}

export type NetworkEvent = UplinkEvent | JoinEvent | AckEvent | TxackEvent | FaultEvent | StatusEvent | LocationEvent
