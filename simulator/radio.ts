/** The frames between a simulated device and its network server, and the quality of the air. */
import type { Downlink } from './downlink.ts'
import type { FrameCounterBits } from './frame-counter.ts'
import type { DataRate, Region } from './region.ts'
import type { Measurement } from './sensor.ts'

/**
 * How the simulated devices and the air between them and the gateways behave. Shares and rates are
 * from 0 to 1.
 */
export interface RadioSettings {
  readonly region: Region
  /**
   * The share of uplinks and join requests that are lost, besides those that are sent from too far
   * away.
   */
  readonly uplinkLossRate: number
  /** The share of downlinks and join accepts that the device does not hear. */
  readonly downlinkLossRate: number
  /**
   * The share of uplinks that the device sends a second time with the same frame counter, unless
   * the first was answered.
   */
  readonly repeatRate: number
  /** The share of uplinks that ask for an acknowledgement. */
  readonly confirmedRate: number
  /** The share of uplinks whose payload the network server's codec can't read. */
  readonly codecErrorRate: number
  /** The share of devices of class C. */
  readonly classCShare: number
  /**
   * The share of devices for which the network server has no codec: their uplinks have no `object`.
   */
  readonly withoutObjectShare: number
  /** The share of devices that have a session from before the start. */
  readonly resumedShare: number
  /** The share of uplinks after which a device starts anew and joins again. */
  readonly rejoinRate: number
  /** The interval at which the power of all devices fails at once; undefined: never. */
  readonly powerCutEveryMs: number | undefined
  readonly frameCounterBits: FrameCounterBits
  /** How often a confirmed downlink is sent again if it is not acknowledged. */
  readonly downlinkRetries: number
}

/** A join request. */
export interface JoinRequest {
  readonly kind: 'join-request'
  /** A number that is never used twice, except by a repeated frame. */
  readonly devNonce: number
}

/** A frame with data from a device. */
export interface UplinkFrame {
  readonly kind: 'uplink'
  /** The lower 16 bits of the frame counter. */
  readonly counter16: number
  readonly measurement: Measurement
  readonly confirmed: boolean
  readonly adr: boolean
  /** ACK: the device received the last confirmed downlink. */
  readonly acknowledges: boolean
  /** ADRACKReq: the device asks for any downlink. */
  readonly asksForAnswer: boolean
}

/** The answer to a join request: a session begins. */
export interface JoinAccept {
  readonly kind: 'join-accept'
}

/** A frame for a device; without a downlink it carries only settings and acknowledgements. */
export interface DownlinkFrame {
  readonly kind: 'downlink'
  readonly downlink: Downlink | undefined
  /** Advice of adaptive data rate. */
  readonly dataRate: DataRate | undefined
  /** FPending: more downlinks wait, so the device should hasten its next uplink. */
  readonly hasMore: boolean
}
