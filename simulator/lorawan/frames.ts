/**
 * The frames of LoRaWAN 1.0.3 that a device sends and reads: join, data, and their integrity codes.
 */
import type LoraPacket from 'lora-packet/out/lib/LoraPacket.js'
import { loraPacket } from './lora-packet.ts'

/** The state of a device after it joined. All Buffers are big-endian, as people write them. */
export interface Session {
  readonly devAddr: Buffer
  readonly nwkSKey: Buffer
  readonly appSKey: Buffer
}

export interface JoinRequest {
  /** 8 bytes, as `devEui`. */
  readonly joinEui: Buffer
  readonly devEui: Buffer
  /** 16 bits; a device never uses a value twice in its life. */
  readonly devNonce: number
  readonly appKey: Buffer
}

/** The network server's answer to a join request. */
export interface JoinAccept {
  readonly session: Session
  readonly rx1DataRateOffset: number
  readonly rx2DataRate: number
  /** From 1 to 15. */
  readonly rxDelaySeconds: number
  /**
   * Frequencies in Hz of channels that the device adds to those of its region; empty: the list is
   * of another kind.
   */
  readonly channels: readonly number[]
}

export interface UplinkFrame {
  /** 32 bits; a frame carries only the lower 16. */
  readonly fCnt: number
  /** Undefined: the frame has no payload. */
  readonly fPort: number | undefined
  readonly payload: Buffer
  readonly isConfirmed: boolean
  readonly isAdaptive: boolean
  /** True if the frame acknowledges a confirmed downlink. */
  readonly isAcknowledgement: boolean
  /** MAC commands, at most 15 bytes. */
  readonly fOpts: Buffer
}

export interface DownlinkFrame {
  /** 32 bits. */
  readonly fCnt: number
  /** Undefined: the frame has no payload; 0: the payload is MAC commands. */
  readonly fPort: number | undefined
  readonly payload: Buffer
  readonly isConfirmed: boolean
  /** True if the frame acknowledges a confirmed uplink. */
  readonly isAcknowledgement: boolean
  /** True if the network server has more downlinks for the device. */
  readonly isPending: boolean
  /** MAC commands from FOpts, or from the payload of fPort 0. */
  readonly macCommands: Buffer
}

/** The reason why a device does not accept a frame. */
export type NotTaken = 'not_data' | 'other_address' | 'wrong_mic' | 'repeated_fcnt'

/** The most bytes of MAC commands that a frame carries beside its payload. */
export const MAXIMUM_FOPTS_BYTES = 15

const MTYPE = { unconfirmedUp: 2, confirmedUp: 4, joinAccept: 1 } as const

const CF_LIST_FREQUENCIES = 5
/** The CFList gives frequencies in units of 100 Hz. */
const CF_LIST_UNIT = 100

/** A join request with its integrity code. */
export function encodeJoinRequest({ joinEui, devEui, devNonce, appKey }: JoinRequest): Buffer {
  const fields = { AppEUI: joinEui, DevEUI: devEui, DevNonce: uint16(devNonce) }
  return bytesOf(loraPacket.fromFields(fields, undefined, undefined, appKey))
}

/**
 * Reads the answer to the device's own join request; undefined: another frame, or another device's
 * answer.
 */
export function decodeJoinAccept(phyPayload: Buffer, appKey: Buffer, devNonce: number): JoinAccept | undefined {
  const isJoinAccept = (phyPayload[0] ?? 0) >> 5 === MTYPE.joinAccept
  if (!isJoinAccept || (phyPayload.length !== 17 && phyPayload.length !== 33)) return undefined
  const packet = loraPacket.fromWire(loraPacket.decryptJoinAccept(loraPacket.fromWire(phyPayload), appKey))
  // The bit OptNeg would mean that LoRaWAN 1.1 needs other keys; a device of 1.0.3 never gets it.
  if (packet.getDLSettingsOptNeg() === true || !loraPacket.verifyMIC(packet, undefined, appKey)) return undefined
  const { NetID: netId, AppNonce: appNonce, DevAddr: devAddr } = packet
  if (netId === undefined || appNonce === undefined || devAddr === undefined) return undefined
  const keys = loraPacket.generateSessionKeys10(appKey, netId, appNonce, uint16(devNonce))
  return {
    session: { devAddr, nwkSKey: keys.NwkSKey, appSKey: keys.AppSKey },
    rx1DataRateOffset: packet.getDLSettingsRxOneDRoffset() ?? 0,
    rx2DataRate: packet.getDLSettingsRxTwoDataRate() ?? 0,
    rxDelaySeconds: Math.max(1, packet.getRxDelayDel() ?? 1),
    channels: channelsOf(packet.CFList ?? Buffer.alloc(0)),
  }
}

/** A data frame, encrypted and with its integrity code. */
export function encodeUplink({ devAddr, nwkSKey, appSKey }: Session, frame: UplinkFrame): Buffer {
  const { fCnt, fPort, payload, fOpts } = frame
  const fields = {
    MType: frame.isConfirmed ? MTYPE.confirmedUp : MTYPE.unconfirmedUp,
    DevAddr: devAddr,
    FCtrl: { ADR: frame.isAdaptive, ACK: frame.isAcknowledgement },
    FCnt: uint16(fCnt % 2 ** 16),
    FOpts: fOpts,
    payload: fPort === undefined ? Buffer.alloc(0) : payload,
    ...(fPort === undefined ? {} : { FPort: fPort }),
  }
  const upper = upperBytes(fCnt)
  const packet = loraPacket.fromFields(fields, appSKey, nwkSKey, undefined, upper)
  // Without a port, the library returns the packet without an integrity code.
  if (fPort === undefined) loraPacket.recalculateMIC(packet, nwkSKey, undefined, upper)
  return bytesOf(packet)
}

/**
 * Reads a frame from the network server; `lastFCnt` is the counter of the last accepted frame, -1
 * before the first.
 */
export function decodeDownlink(phyPayload: Buffer, session: Session, lastFCnt: number): DownlinkFrame | NotTaken {
  if (phyPayload.length < 12) return 'not_data'
  const packet = loraPacket.fromWire(phyPayload)
  if (!packet.isDataMessage() || packet.getDir() !== 'down') return 'not_data'
  if (packet.DevAddr?.equals(session.devAddr) !== true) return 'other_address'
  const onAir = packet.getFCnt() ?? 0
  const same = lastFCnt < 0 ? onAir : lastFCnt - (lastFCnt % 2 ** 16) + onAir
  const isVerified = (fCnt: number): boolean =>
    loraPacket.verifyMIC(packet, session.nwkSKey, undefined, upperBytes(fCnt))
  if (same <= lastFCnt && isVerified(same)) return 'repeated_fcnt'
  const fCnt = same > lastFCnt ? same : same + 2 ** 16
  if (!isVerified(fCnt)) return 'wrong_mic'
  const fPort = packet.getFPort() ?? undefined
  const payload =
    fPort === undefined
      ? Buffer.alloc(0)
      : loraPacket.decrypt(packet, session.appSKey, session.nwkSKey, upperBytes(fCnt))
  return {
    fCnt,
    fPort,
    payload,
    isConfirmed: packet.isConfirmed(),
    isAcknowledgement: packet.getFCtrlACK() === true,
    isPending: packet.getFCtrlFPending() === true,
    macCommands: fPort === 0 ? payload : (packet.FOpts ?? Buffer.alloc(0)),
  }
}

/** The frequencies of a CFList of type 0. */
function channelsOf(cfList: Buffer): number[] {
  if (cfList.length !== 16 || cfList[15] !== 0) return []
  return Array.from(
    { length: CF_LIST_FREQUENCIES },
    (_each, place) => cfList.readUIntLE(place * 3, 3) * CF_LIST_UNIT,
  ).filter((frequency) => frequency > 0)
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

/**
 * The upper half of a counter, which no frame carries, least significant byte first, as the
 * integrity code needs it.
 */
function upperBytes(fCnt: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(Math.floor(fCnt / 2 ** 16))
  return bytes
}

function bytesOf(packet: LoraPacket.default): Buffer {
  const bytes = packet.getPHYPayload()
  if (!Buffer.isBuffer(bytes)) throw new TypeError('the frame has no bytes')
  return bytes
}
