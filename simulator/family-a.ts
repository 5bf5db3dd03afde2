/**
 * The events of family A (ChirpStack v3, JSON v3): ids are strings of digits, EUIs are hexadecimal,
 * frame counters stand alone.
 */
import type { EventCommon, EventPayloads, ErrorType, TransmissionInfo, UplinkReception } from '../src/lorawan/events.ts'
import type { EventKind } from '../src/lorawan/topics.ts'
import type { Reception } from './gateways.ts'
import type { DeviceIdentity, FaultCode, NetworkEvent, QueueItemId, UplinkEvent } from './network-event.ts'
import type { Carrier } from './region.ts'

type FamilyAEvent = { [Kind in EventKind]: { readonly kind: Kind; readonly payload: EventPayloads[Kind] } }[EventKind]

const ERROR_TYPES: Readonly<Record<FaultCode, ErrorType>> = {
  DOWNLINK_PAYLOAD_SIZE: 'DOWNLINK_PAYLOAD_SIZE',
  DOWNLINK_CODEC: 'DOWNLINK_CODEC',
  DOWNLINK_GATEWAY: 'DOWNLINK_GATEWAY',
  // This family has no time at which a downlink expires.
  DOWNLINK_EXPIRED: 'UNKNOWN',
  DOWNLINK_QUEUE_FULL: 'UNKNOWN',
  UPLINK_CODEC: 'UPLINK_CODEC',
  UPLINK_RETRANSMISSION: 'UPLINK_FCNT_RETRANSMISSION',
  OTAA: 'OTAA',
}

/** Faults without a frame, so without a counter. In all others, a counter of 0 is left out. */
const WITHOUT_COUNTER: ReadonlySet<FaultCode> = new Set(['DOWNLINK_CODEC', 'OTAA'])

/**
 * The topic's kind and the payload of an event. `carriesIds` adds `queueItemId` to the txack, ack
 * and error events of commands that had an `id`; the real server of this family has no such member.
 */
export function familyAEvent(event: NetworkEvent, carriesIds: boolean): FamilyAEvent {
  const common = commonOf(event.device)
  const idOf = (item: QueueItemId | undefined): object =>
    carriesIds && item?.isGiven === true ? { queueItemId: item.id } : {}
  switch (event.kind) {
    case 'up':
      return { kind: 'up', payload: { ...common, ...uplinkMembers(event) } }
    case 'join':
      return {
        kind: 'join',
        payload: {
          ...common,
          devAddr: event.devAddr,
          rxInfo: rxInfoOf(event.heard.receptions),
          txInfo: txInfoOf(event.heard.carrier),
        },
      }
    case 'ack': {
      const { acknowledged, fCntDown } = event
      return { kind: 'ack', payload: { ...common, acknowledged, fCnt: fCntDown, ...idOf(event.queueItemId) } }
    }
    case 'txack': {
      return { kind: 'txack', payload: { ...common, fCnt: event.fCntDown, ...idOf(event.queueItemId) } }
    }
    case 'fault': {
      const { code, description, fCnt } = event
      const counter = fCnt === 0 || WITHOUT_COUNTER.has(code) ? {} : { fCnt }
      const members = { type: ERROR_TYPES[code], error: description, ...counter }
      return { kind: 'error', payload: { ...common, ...members, ...idOf(event.queueItemId) } }
    }
    case 'status': {
      const { margin, externalPowerSource, batteryLevel } = event
      return {
        kind: 'status',
        payload: { ...common, margin, externalPowerSource, batteryLevel, batteryLevelUnavailable: false },
      }
    }
    case 'location':
      return { kind: 'location', payload: { ...common, location: event.location } }
    default:
      return event satisfies never
  }
}

function uplinkMembers(event: UplinkEvent): Omit<EventPayloads['up'], keyof EventCommon> {
  return {
    deviceProfileName: event.device.deviceProfileName,
    deviceProfileID: event.device.deviceProfileId,
    rxInfo: rxInfoOf(event.heard.receptions),
    txInfo: txInfoOf(event.heard.carrier),
    adr: event.adr,
    fCnt: event.fCnt,
    fPort: event.fPort,
    data: event.bytes.toString('base64'),
    ...(event.object === undefined ? {} : { object: event.object }),
  }
}

function commonOf({ record }: DeviceIdentity): EventCommon {
  return {
    applicationID: record.applicationID,
    applicationName: record.applicationName,
    deviceName: record.deviceName,
    devEUI: record.devEUI,
    tags: record.tags ?? {},
  }
}

function rxInfoOf(receptions: readonly Reception[]): UplinkReception[] {
  return receptions.map(({ gateway, uplinkId, gatewayTimeMs, rssi, snr }) => ({
    gatewayID: gateway.gatewayId,
    uplinkID: uplinkId,
    name: gateway.name,
    time: new Date(gatewayTimeMs).toISOString(),
    rssi,
    loRaSNR: snr,
    location: gateway.location,
  }))
}

function txInfoOf({ frequency, dataRate }: Carrier): TransmissionInfo {
  return { frequency, dr: dataRate.dr }
}
