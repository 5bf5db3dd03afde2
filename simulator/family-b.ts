/**
 * The events of family B (ChirpStack v4, JSON): `deviceInfo` first, with the ids of commands, and
 * `log` in place of `error`.
 */
import type { PublishedEventKind } from '../src/lorawan/topics.ts'
import type { Reception } from './gateways.ts'
import { gpsMs } from './gps-time.ts'
import type { DeviceIdentity, FaultCode, NetworkEvent, TxackEvent, UplinkEvent } from './network-event.ts'
import { region } from './region.ts'
import type { DataRate, RegionId } from './region.ts'

interface FamilyBEvent {
  readonly kind: Exclude<PublishedEventKind, 'error' | 'integration'>
  readonly payload: Readonly<Record<string, unknown>>
}

/** The tenant to which all simulated devices belong. */
const TENANT = { tenantId: '5f1d9a3e-6c1b-4b1f-9d58-1a4f0e7c2b90', tenantName: 'Simulated tenant' }

const LOG_CODES: Readonly<Record<FaultCode, string>> = {
  DOWNLINK_PAYLOAD_SIZE: 'DOWNLINK_PAYLOAD_SIZE',
  // Only written into the network server's own log.
  DOWNLINK_CODEC: 'DOWNLINK_CODEC',
  DOWNLINK_GATEWAY: 'DOWNLINK_GATEWAY',
  DOWNLINK_EXPIRED: 'EXPIRED',
  DOWNLINK_QUEUE_FULL: 'UNKNOWN',
  UPLINK_CODEC: 'UPLINK_CODEC',
  UPLINK_RETRANSMISSION: 'UPLINK_F_CNT_RETRANSMISSION',
  OTAA: 'OTAA',
}

/** The topic's kind and the payload of an event. */
export function familyBEvent(event: NetworkEvent): FamilyBEvent {
  const { deduplicationId, atMs } = event
  // A device of class C has class A until its first uplink is processed, and the join event comes
  // before.
  const deviceClass = event.kind === 'join' ? 'A' : event.device.deviceClass
  const own = { time: timeOf(atMs), deviceInfo: deviceInfoOf(event.device, deviceClass) }
  const common = { deduplicationId, ...own }
  switch (event.kind) {
    case 'up':
      return { kind: 'up', payload: { ...common, ...uplinkMembers(event) } }
    case 'join':
      return {
        kind: 'join',
        payload: { ...common, devAddr: event.devAddr, regionConfigId: regionConfigId(event.device.regionId) },
      }
    case 'ack': {
      const { acknowledged, fCntDown } = event
      return { kind: 'ack', payload: { ...common, queueItemId: event.queueItemId.id, acknowledged, fCntDown } }
    }
    case 'txack': {
      const { downlinkId, fCntDown, gatewayId } = event
      const ids = { queueItemId: event.queueItemId.id, fCntDown, gatewayId }
      return { kind: 'txack', payload: { downlinkId, ...own, ...ids, txInfo: downlinkInfoOf(event) } }
    }
    case 'fault': {
      const item = event.queueItemId === undefined ? {} : { queue_item_id: event.queueItemId.id }
      const context = { ...event.context, ...item }
      const { level, description } = event
      return { kind: 'log', payload: { ...own, level, code: LOG_CODES[event.code], description, context } }
    }
    case 'status': {
      const { margin, externalPowerSource, batteryLevel } = event
      return {
        kind: 'status',
        payload: { ...common, margin, externalPowerSource, batteryLevelUnavailable: false, batteryLevel },
      }
    }
    case 'location':
      return {
        kind: 'location',
        payload: { ...common, location: { ...event.location, source: 'UNKNOWN', accuracy: 0 } },
      }
    default:
      return event satisfies never
  }
}

function uplinkMembers(event: UplinkEvent): Record<string, unknown> {
  const { carrier, receptions } = event.heard
  return {
    devAddr: event.devAddr,
    adr: event.adr,
    dr: carrier.dataRate.dr,
    fCnt: event.fCnt,
    fPort: event.fPort,
    confirmed: event.confirmed,
    data: event.bytes.toString('base64'),
    ...(event.object === undefined ? {} : { object: event.object }),
    rxInfo: receptions.map((reception) => rxInfoOf(reception, event)),
    txInfo: { frequency: carrier.frequency, modulation: { lora: modulationOf(carrier.dataRate) } },
    regionConfigId: regionConfigId(event.device.regionId),
  }
}

function rxInfoOf({ gateway, uplinkId, gatewayTimeMs, rssi, snr }: Reception, event: UplinkEvent): object {
  const uplinkNumber = Number.parseInt(uplinkId.slice(0, 8), 16)
  const context = Buffer.alloc(4)
  context.writeUInt32BE(uplinkNumber)
  const channel = region(event.device.regionId).channels.indexOf(event.heard.carrier.frequency)
  return {
    gatewayId: gateway.gatewayId,
    uplinkId: uplinkNumber,
    gwTime: timeOf(gatewayTimeMs),
    nsTime: timeOf(event.atMs),
    // A gateway without GPS does not know GPS time.
    ...(gateway.hasGps ? { timeSinceGpsEpoch: gpsTime(gatewayTimeMs) } : {}),
    rssi,
    snr,
    // The first channel is left out.
    ...(channel === 0 ? {} : { channel }),
    location: gateway.location,
    context: context.toString('base64'),
    crcStatus: 'CRC_OK',
  }
}

function downlinkInfoOf({ carrier, power, delaySeconds, downlinkId }: TxackEvent): object {
  const context = Buffer.alloc(4)
  context.writeUInt32BE(downlinkId)
  return {
    frequency: carrier.frequency,
    power,
    modulation: { lora: { ...modulationOf(carrier.dataRate), polarizationInversion: true } },
    timing: delaySeconds === undefined ? { immediately: {} } : { delay: { delay: `${delaySeconds}s` } },
    context: context.toString('base64'),
  }
}

function deviceInfoOf(
  { record, deviceProfileId, deviceProfileName }: DeviceIdentity,
  deviceClass: DeviceIdentity['deviceClass'],
): object {
  return {
    ...TENANT,
    applicationId: record.applicationID,
    applicationName: record.applicationName,
    deviceProfileId,
    deviceProfileName,
    deviceName: record.deviceName,
    devEui: record.devEUI,
    deviceClassEnabled: `CLASS_${deviceClass}`,
    tags: record.tags ?? {},
  }
}

function modulationOf({ bandwidth, spreadingFactor }: DataRate): object {
  return { bandwidth, spreadingFactor, codeRate: 'CR_4_5' }
}

function regionConfigId(id: RegionId): string {
  return id.toLowerCase()
}

/** The time with an offset, which this family writes in place of `Z`. */
function timeOf(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '+00:00')
}

function gpsTime(ms: number): string {
  return `${(gpsMs(ms) / 1000).toFixed(3)}s`
}
