/**
 * What passes between a simulated device and its network server over the air, and how the air is.
 */
import type { Downlink } from './downlink.ts'
import type { FrameCounterBits } from './frame-counter.ts'
import type { DataRate, Region } from './region.ts'
import type { Measurement } from './sensor.ts'

/** How the simulated devices and the air between behave. Shares and rates are from 0 to 1. */
export interface RadioSettings {
  readonly region: Region
  /** Of uplinks and join requests that are lost besides those that are too far. */
  readonly uplinkLossRate: number
  /** Of downlinks and join accepts that the device does not hear. */
  readonly downlinkLossRate: number
  /**
   * Of uplinks that the device sends a second time with the same frame counter, unless it was
   * answered.
   */
  readonly repeatRate: number
  /** Of uplinks that ask for an acknowledgement. */
  readonly confirmedRate: number
  /** Of uplinks whose payload the network server's codec does not read. */
  readonly codecErrorRate: number
  /** Of devices that are of class C. */
  readonly classCShare: number
  /** Of devices for which the network server has no codec: their uplinks have no `object`. */
  readonly withoutObjectShare: number
  /** Of devices that have a session from before the start. */
  readonly resumedShare: number
  /** Of uplinks after which a device starts anew and joins again. */
  readonly rejoinRate: number
  /** The power of all devices fails at once, each time after so long; undefined for never. */
  readonly powerCutEveryMs: number | undefined
  readonly frameCounterBits: FrameCounterBits
  /** How often a confirmed downlink is sent again where it is not acknowledged. */
  readonly downlinkRetries: number
}

/** A join request. */
export interface JoinRequest {
  readonly kind: 'join-request'
  /** Never used twice, but by a frame that is repeated. */
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
  /** ADRACKReq: it wants any downlink. */
  readonly asksForAnswer: boolean
}

/** The answer to a join request: a session begins. */
export interface JoinAccept {
  readonly kind: 'join-accept'
}

/** A frame for a device; without a downlink it carries settings and acknowledgements alone. */
export interface DownlinkFrame {
  readonly kind: 'downlink'
  readonly downlink: Downlink | undefined
  /** Advice of adaptive data rate. */
  readonly dataRate: DataRate | undefined
  /** FPending: more waits, so that the next uplink is worth hastening. */
  readonly hasMore: boolean
}
