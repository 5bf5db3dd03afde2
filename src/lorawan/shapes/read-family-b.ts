/** Reads events of family B, as ChirpStack v4 writes them, into facts. */
import { memberOf } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import type {
  CommonFacts,
  EventFacts,
  KindFacts,
  ReceivedEvent,
  ReceptionFacts,
  TransmissionFacts,
} from './event-facts.ts'
import {
  jsonIn,
  numberIn,
  objectIn,
  objectsIn,
  optionalBoolean,
  optionalNumber,
  optionalPlace,
  optionalText,
  placeIn,
  textIn,
  textsIn,
  UnreadableEvent,
} from './member-values.ts'

/** Throws `UnreadableEvent`. */
export function readFamilyB(event: ReceivedEvent): EventFacts {
  const kindFacts = kindFactsOf(event)
  return { ...commonOf(event), ...kindFacts }
}

function commonOf({ members, applicationId, devEui, id, receivedAt }: ReceivedEvent): CommonFacts {
  const info = objectIn(members, 'deviceInfo')
  const time = textIn(members, 'time')
  return {
    commandId: optionalText(members, 'commandId'),
    deduplicationId: deduplicationIdIn(members) ?? id(),
    time: time === '' ? receivedAt : time,
    applicationId,
    applicationName: textIn(info, 'applicationName'),
    devEui,
    deviceName: textIn(info, 'deviceName'),
    deviceProfileId: textIn(info, 'deviceProfileId'),
    deviceProfileName: textIn(info, 'deviceProfileName'),
    tenantId: textIn(info, 'tenantId'),
    tenantName: textIn(info, 'tenantName'),
    deviceClass: optionalText(info, 'deviceClassEnabled'),
    tags: textsIn(info, 'tags'),
  }
}

/** Events about faults have it among their further facts. */
function deduplicationIdIn(members: JsonObject): string | undefined {
  return optionalText(members, 'deduplicationId') ?? textsIn(members, 'context')['deduplication_id']
}

function kindFactsOf(event: ReceivedEvent): KindFacts {
  const { kind, members } = event
  switch (kind) {
    case 'up':
      return upOf(event)
    case 'join':
      return { kind, devAddr: optionalText(members, 'devAddr'), rxInfo: undefined, txInfo: undefined }
    case 'ack':
      return {
        kind,
        queueItemId: textIn(members, 'queueItemId'),
        acknowledged: optionalBoolean(members, 'acknowledged') ?? false,
        fCnt: numberIn(members, 'fCntDown'),
      }
    case 'txack': {
      const txInfo = objectIn(members, 'txInfo')
      return {
        kind,
        queueItemId: textIn(members, 'queueItemId'),
        fCnt: numberIn(members, 'fCntDown'),
        gatewayId: optionalText(members, 'gatewayId'),
        txInfo: txInfo && transmissionOf(txInfo, undefined),
      }
    }
    case 'error':
    case 'log':
      return faultOf(kind, members)
    case 'status':
      return {
        kind,
        margin: numberIn(members, 'margin'),
        externalPowerSource: optionalBoolean(members, 'externalPowerSource') ?? false,
        batteryLevelUnavailable: optionalBoolean(members, 'batteryLevelUnavailable') ?? false,
        batteryLevel: numberIn(members, 'batteryLevel'),
      }
    case 'location': {
      const location = objectIn(members, 'location')
      if (location === undefined) throw new UnreadableEvent('location: is missing')
      return { kind, location: placeIn(location) }
    }
    case 'integration':
      return {
        kind,
        integrationName: textIn(members, 'integrationName'),
        eventType: textIn(members, 'eventType'),
        object: jsonIn(event, 'object'),
      }
  }
}

function upOf(event: ReceivedEvent): KindFacts {
  const { members } = event
  return {
    kind: 'up',
    devAddr: optionalText(members, 'devAddr'),
    adr: optionalBoolean(members, 'adr'),
    confirmed: optionalBoolean(members, 'confirmed') ?? false,
    fCnt: numberIn(members, 'fCnt'),
    fPort: numberIn(members, 'fPort'),
    data: textIn(members, 'data'),
    object: jsonIn(event, 'object'),
    normalized: jsonIn(event, 'normalized'),
    rxInfo: objectsIn(members, 'rxInfo').map(receptionOf),
    txInfo: transmissionOf(objectIn(members, 'txInfo'), optionalNumber(members, 'dr')),
  }
}

function faultOf(kind: 'error' | 'log', members: JsonObject): KindFacts {
  const context = textsIn(members, 'context')
  const counter = context['f_cnt_up'] ?? context['f_cnt_down'] ?? context['f_cnt']
  return {
    kind,
    level: optionalText(members, 'level') ?? 'INFO',
    code: optionalText(members, 'code') ?? 'UNKNOWN',
    message: textIn(members, 'description'),
    fCnt: counter !== undefined && /^\d{1,10}$/.test(counter) ? Number(counter) : undefined,
    member: optionalText(members, 'member'),
    context,
  }
}

function receptionOf(reception: JsonObject): ReceptionFacts {
  const metadata = textsIn(reception, 'metadata')
  const uplinkId = optionalNumber(reception, 'uplinkId')
  return {
    gatewayId: textIn(reception, 'gatewayId'),
    gatewayName: metadata['gateway_name'] ?? metadata['gateway_id'] ?? '',
    uplinkId: uplinkId === undefined ? undefined : uuidOf(uplinkId),
    time: optionalText(reception, 'gwTime'),
    rssi: numberIn(reception, 'rssi'),
    snr: numberIn(reception, 'snr'),
    channel: numberIn(reception, 'channel'),
    location: optionalPlace(reception),
  }
}

/** As gateways of ChirpStack v3 wrote the id of 32 bits: at the end of a UUID of zeros. */
function uuidOf(uplinkId: number): string {
  return `00000000-0000-0000-0000-${uplinkId.toString(16).padStart(12, '0')}`
}

/** `dr` is the index of the data rate, which stands beside the transmission. */
function transmissionOf(txInfo: JsonObject | undefined, dr: number | undefined): TransmissionFacts {
  const lora = objectIn(objectIn(txInfo, 'modulation'), 'lora')
  const power = memberOf(txInfo, 'power')
  return {
    frequency: numberIn(txInfo, 'frequency'),
    dr,
    bandwidth: optionalNumber(lora, 'bandwidth'),
    spreadingFactor: optionalNumber(lora, 'spreadingFactor'),
    codeRate: optionalText(lora, 'codeRate'),
    power: typeof power === 'number' ? power : undefined,
  }
}
