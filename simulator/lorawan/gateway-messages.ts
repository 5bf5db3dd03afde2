/**
 * The messages between a gateway and ChirpStack, in Protocol Buffers. The messages of version 3 are
 * the members that version 4 calls "legacy", with the same numbers.
 */
import common from '@chirpstack/chirpstack-api/common/common_pb.js'
import gw from '@chirpstack/chirpstack-api/gw/gw_pb.js'
import protobufDuration from 'google-protobuf/google/protobuf/duration_pb.js'
import protobufTimestamp from 'google-protobuf/google/protobuf/timestamp_pb.js'
import { gpsMs } from '../gps-time.ts'
import type { Coordinates } from '../sensor.ts'

/** The version of ChirpStack. */
export type GatewayProtocol = 'v3' | 'v4'

/** The reception of a frame. */
export interface Reception {
  /** Hz. */
  readonly frequency: number
  /** Hz. */
  readonly bandwidth: number
  readonly spreadingFactor: number
  /** The index among the device's channels. */
  readonly channel: number
  /** dBm. */
  readonly rssi: number
  /** dB. */
  readonly snr: number
}

export interface HeardFrame {
  /** 16 lower-case hexadecimal digits. */
  readonly gatewayId: string
  readonly phyPayload: Buffer
  readonly reception: Reception
  /** 32 bits, unique for some time. */
  readonly uplinkId: number
  /** Comes back with the answer to this frame; at least 4 bytes. */
  readonly context: Buffer
  /** Milliseconds since 1970; undefined: the gateway has no GPS receiver. */
  readonly gpsTimeMs: number | undefined
}

/** One way to send a downlink; a gateway uses the first way that it can. */
export interface DownlinkItem {
  readonly phyPayload: Buffer
  /** Hz. */
  readonly frequency: number
  readonly spreadingFactor: number
  /** The delay after the uplink that has `context`; undefined: the frame is sent at once. */
  readonly delayMs: number | undefined
  readonly context: Buffer
}

export interface DownlinkCommand {
  /** Comes back with the gateway's answer. */
  readonly downlinkId: DownlinkId
  readonly items: readonly DownlinkItem[]
}

/** A number in version 4, 16 bytes of a UUID in version 3. */
type DownlinkId = number | Uint8Array

/** The gateway's answer about an item. */
export type TxAckStatus = keyof typeof gw.TxAckStatus

export interface GatewayState {
  /** Undefined: the gateway does not know its location. */
  readonly location: Coordinates | undefined
  /** Milliseconds since 1970. */
  readonly atMs: number
  readonly received: number
  readonly transmitted: number
}

/** Encodes a frame that the gateway has heard. */
export function encodeUplinkEvent(protocol: GatewayProtocol, heard: HeardFrame): Uint8Array {
  const event = new gw.UplinkFrame()
  event.setPhyPayload(heard.phyPayload)
  const { reception } = heard
  const lora = new gw.LoraModulationInfo()
  // Version 3 counts in kHz.
  lora.setBandwidth(protocol === 'v3' ? reception.bandwidth / 1000 : reception.bandwidth)
  lora.setSpreadingFactor(reception.spreadingFactor)
  if (protocol === 'v3') {
    lora.setCodeRateLegacy('4/5')
    const txInfo = new gw.UplinkTxInfoLegacy()
    txInfo.setFrequency(reception.frequency)
    txInfo.setLoraModulationInfo(lora)
    event.setTxInfoLegacy(txInfo)
    event.setRxInfoLegacy(receptionOfVersion3(heard))
  } else {
    lora.setCodeRate(gw.CodeRate.CR_4_5)
    const modulation = new gw.Modulation()
    modulation.setLora(lora)
    const txInfo = new gw.UplinkTxInfo()
    txInfo.setFrequency(reception.frequency)
    txInfo.setModulation(modulation)
    event.setTxInfo(txInfo)
    event.setRxInfo(receptionOfVersion4(heard))
  }
  return event.serializeBinary()
}

/** Decodes a downlink that the gateway has to send. Throws for bytes that are no such message. */
export function decodeDownCommand(protocol: GatewayProtocol, bytes: Uint8Array): DownlinkCommand {
  const frame = gw.DownlinkFrame.deserializeBinary(bytes)
  const isVersion3 = protocol === 'v3'
  return {
    downlinkId: isVersion3 ? frame.getDownlinkIdLegacy_asU8() : frame.getDownlinkId(),
    items: frame.getItemsList().map((item) => {
      const txInfo = isVersion3 ? item.getTxInfoLegacy() : item.getTxInfo()
      const lora =
        txInfo instanceof gw.DownlinkTxInfoLegacy ? txInfo.getLoraModulationInfo() : txInfo?.getModulation()?.getLora()
      const delay =
        txInfo instanceof gw.DownlinkTxInfoLegacy
          ? txInfo.getDelayTimingInfo()?.getDelay()
          : txInfo?.getTiming()?.getDelay()?.getDelay()
      return {
        phyPayload: Buffer.from(item.getPhyPayload_asU8()),
        frequency: txInfo?.getFrequency() ?? 0,
        spreadingFactor: lora?.getSpreadingFactor() ?? 0,
        delayMs: delay === undefined ? undefined : delay.getSeconds() * 1000 + Math.round(delay.getNanos() / 1e6),
        context: Buffer.from(txInfo?.getContext_asU8() ?? []),
      }
    }),
  }
}

/** Encodes the fate of each item of a downlink, in the order of the items. */
export function encodeTxAck(
  protocol: GatewayProtocol,
  gatewayId: string,
  downlinkId: DownlinkId,
  statuses: readonly TxAckStatus[],
): Uint8Array {
  const ack = new gw.DownlinkTxAck()
  if (protocol === 'v3') ack.setGatewayIdLegacy(Buffer.from(gatewayId, 'hex'))
  else ack.setGatewayId(gatewayId)
  if (typeof downlinkId === 'number') ack.setDownlinkId(downlinkId)
  else ack.setDownlinkIdLegacy(downlinkId)
  for (const status of statuses) {
    const item = new gw.DownlinkTxAckItem()
    item.setStatus(gw.TxAckStatus[status])
    ack.addItems(item)
  }
  return ack.serializeBinary()
}

/** Encodes the periodic sign of life of a gateway. */
export function encodeStats(protocol: GatewayProtocol, gatewayId: string, state: GatewayState): Uint8Array {
  const stats = new gw.GatewayStats()
  if (protocol === 'v3') stats.setGatewayIdLegacy(Buffer.from(gatewayId, 'hex'))
  else stats.setGatewayId(gatewayId)
  stats.setRxPacketsReceived(state.received)
  stats.setRxPacketsReceivedOk(state.received)
  stats.setTxPacketsReceived(state.transmitted)
  stats.setTxPacketsEmitted(state.transmitted)
  stats.setTime(timestampOf(state.atMs))
  if (state.location !== undefined) stats.setLocation(locationOf(state.location))
  return stats.serializeBinary()
}

/** Encodes the retained state of a gateway's connection. */
export function encodeConnState(protocol: GatewayProtocol, gatewayId: string, state: 'ONLINE' | 'OFFLINE'): Uint8Array {
  const message = new gw.ConnState()
  if (protocol === 'v3') message.setGatewayIdLegacy(Buffer.from(gatewayId, 'hex'))
  else message.setGatewayId(gatewayId)
  message.setState(gw.ConnState.State[state])
  return message.serializeBinary()
}

function receptionOfVersion4({ gatewayId, uplinkId, context, reception, gpsTimeMs }: HeardFrame): gw.UplinkRxInfo {
  const rxInfo = new gw.UplinkRxInfo()
  rxInfo.setGatewayId(gatewayId)
  rxInfo.setUplinkId(uplinkId)
  rxInfo.setChannel(reception.channel)
  rxInfo.setRssi(reception.rssi)
  rxInfo.setSnr(reception.snr)
  if (gpsTimeMs !== undefined) {
    rxInfo.setGwTime(timestampOf(gpsTimeMs))
    rxInfo.setTimeSinceGpsEpoch(durationOf(gpsMs(gpsTimeMs)))
  }
  rxInfo.setContext(context)
  rxInfo.setCrcStatus(gw.CRCStatus.CRC_OK)
  return rxInfo
}

function receptionOfVersion3({
  gatewayId,
  uplinkId,
  context,
  reception,
  gpsTimeMs,
}: HeardFrame): gw.UplinkRxInfoLegacy {
  const rxInfo = new gw.UplinkRxInfoLegacy()
  rxInfo.setGatewayId(Buffer.from(gatewayId, 'hex'))
  const uuid = Buffer.alloc(16)
  uuid.writeUInt32BE(uplinkId, 12)
  rxInfo.setUplinkId(uuid)
  rxInfo.setChannel(reception.channel)
  rxInfo.setRssi(reception.rssi)
  rxInfo.setLoraSnr(reception.snr)
  if (gpsTimeMs !== undefined) {
    rxInfo.setTime(timestampOf(gpsTimeMs))
    rxInfo.setTimeSinceGpsEpoch(durationOf(gpsMs(gpsTimeMs)))
  }
  rxInfo.setContext(context)
  rxInfo.setCrcStatus(gw.CRCStatus.CRC_OK)
  return rxInfo
}

function timestampOf(ms: number): protobufTimestamp.Timestamp {
  const timestamp = new protobufTimestamp.Timestamp()
  timestamp.fromDate(new Date(ms))
  return timestamp
}

function durationOf(ms: number): protobufDuration.Duration {
  const duration = new protobufDuration.Duration()
  duration.setSeconds(Math.floor(ms / 1000))
  duration.setNanos((ms % 1000) * 1e6)
  return duration
}

function locationOf({ latitude, longitude, altitude }: Coordinates): common.Location {
  const location = new common.Location()
  location.setLatitude(latitude)
  location.setLongitude(longitude)
  location.setAltitude(altitude)
  location.setSource(common.LocationSource.GPS)
  return location
}
