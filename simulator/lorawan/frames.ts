/**
 * The frames of LoRaWAN 1.0.3 as a device sends and reads them: join, data, and their integrity
 * codes.
 */
import type LoraPacket from 'lora-packet/out/lib/LoraPacket.js'
import { loraPacket } from './lora-packet.ts'

/** What a device has after it joined. All Buffers are big-endian, as people write them. */
export interface Session {
  readonly devAddr: Buffer
  readonly nwkSKey: Buffer
  readonly appSKey: Buffer
}

export interface JoinRequest {
  /** 8 bytes, as `devEui`. */
  readonly joinEui: Buffer
  readonly devEui: Buffer
  /** 16 bits; never the same twice in the life of a device. */
  readonly devNonce: number
  readonly appKey: Buffer
}

/** What a network server answers to a join request. */
export interface JoinAccept {
  readonly session: Session
  readonly rx1DataRateOffset: number
  readonly rx2DataRate: number
  /** From 1 to 15. */
  readonly rxDelaySeconds: number
  /**
   * Hz: channels that the device has to add to those of its region; empty where the list is of
   * another kind.
   */
  readonly channels: readonly number[]
}

export interface UplinkFrame {
  /** 32 bits; 16 of them are on the air. */
  readonly fCnt: number
  /** Undefined for a frame without a payload. */
  readonly fPort: number | undefined
  readonly payload: Buffer
  readonly isConfirmed: boolean
  readonly isAdaptive: boolean
  /** True in the frame that acknowledges a confirmed downlink. */
  readonly isAcknowledgement: boolean
  /** MAC commands, at most 15 bytes. */
  readonly fOpts: Buffer
}

export interface DownlinkFrame {
  /** 32 bits. */
  readonly fCnt: number
  /** Undefined for a frame without a payload; 0 for one whose payload is MAC commands. */
  readonly fPort: number | undefined
  readonly payload: Buffer
  readonly isConfirmed: boolean
  /** True in the frame that acknowledges a confirmed uplink. */
  readonly isAcknowledgement: boolean
  /** True where the network server has more for the device. */
  readonly isPending: boolean
  /** MAC commands: of FOpts, or the payload of fPort 0. */
  readonly macCommands: Buffer
}

/** Why a device takes a frame for none of its own. */
export type NotTaken = 'not_data' | 'other_address' | 'wrong_mic' | 'repeated_fcnt'

/** The most MAC commands that a frame carries beside its payload, in bytes. */
export const MAXIMUM_FOPTS_BYTES = 15

const MTYPE = { unconfirmedUp: 2, confirmedUp: 4, joinAccept: 1 } as const

const CF_LIST_FREQUENCIES = 5
/** CFList gives frequencies in 100 Hz. */
const CF_LIST_UNIT = 100

/** A join request with its integrity code. */
export function encodeJoinRequest({ joinEui, devEui, devNonce, appKey }: JoinRequest): Buffer {
  const fields = { AppEUI: joinEui, DevEUI: devEui, DevNonce: uint16(devNonce) }
  return bytesOf(loraPacket.fromFields(fields, undefined, undefined, appKey))
}

/** The answer to one's own join request; undefined where it is another frame, or another's. */
export function decodeJoinAccept(phyPayload: Buffer, appKey: Buffer, devNonce: number): JoinAccept | undefined {
  const isJoinAccept = (phyPayload[0] ?? 0) >> 5 === MTYPE.joinAccept
  if (!isJoinAccept || (phyPayload.length !== 17 && phyPayload.length !== 33)) return undefined
  const packet = loraPacket.fromWire(loraPacket.decryptJoinAccept(loraPacket.fromWire(phyPayload), appKey))
  // The bit that says LoRaWAN 1.1 would ask for other keys; a device of 1.0.3 is never sent it.
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
  // Without a port the packet comes back without an integrity code.
  if (fPort === undefined) loraPacket.recalculateMIC(packet, nwkSKey, undefined, upper)
  return bytesOf(packet)
}

/**
 * Reads a frame from the network server; `lastFCnt` is the counter of the last one that was taken,
 * -1 before the first.
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
 * The half of a counter that isn't on the air, least significant byte first, as the integrity code
 * takes it.
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
