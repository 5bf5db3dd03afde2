/** Reads events of family A, as ChirpStack v3 writes them, into facts. */
import { memberOf, textAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { JsonText } from './event-facts.ts'
import type {
  CommonFacts,
  EventFacts,
  KindFacts,
  ReceivedEvent,
  ReceptionFacts,
  TransmissionFacts,
} from './event-facts.ts'
import { codeOfType } from './fault-codes.ts'
import {
  hexadecimal,
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
export function readFamilyA(event: ReceivedEvent): EventFacts {
  const kindFacts = kindFactsOf(event)
  return { ...commonOf(event), ...kindFacts }
}

function commonOf({ members, applicationId, devEui, id, receivedAt }: ReceivedEvent): CommonFacts {
  return {
    commandId: optionalText(members, 'commandId'),
    deduplicationId: id(),
    time: timeOf(members) ?? receivedAt,
    applicationId,
    applicationName: textIn(members, 'applicationName'),
    devEui,
    deviceName: textIn(members, 'deviceName'),
    deviceProfileId: textIn(members, 'deviceProfileID'),
    deviceProfileName: textIn(members, 'deviceProfileName'),
    tenantId: '',
    tenantName: '',
    deviceClass: undefined,
    tags: textsIn(members, 'tags'),
  }
}

/** The first gateway that knows the time has it. */
function timeOf(members: JsonObject): string | undefined {
  const list = memberOf(members, 'rxInfo')
  return Array.isArray(list)
    ? objectsIn(members, 'rxInfo')
        .map((one) => textAt(one, 'time'))
        .find(Boolean)
    : undefined
}

function kindFactsOf(event: ReceivedEvent): KindFacts {
  const { kind, members } = event
  switch (kind) {
    case 'up':
      return upOf(event)
    case 'join':
      return {
        kind,
        devAddr: addressIn(members),
        rxInfo: receptionsOf(members),
        txInfo: transmissionOf(members),
      }
    case 'ack':
      return {
        kind,
        queueItemId: '',
        acknowledged: optionalBoolean(members, 'acknowledged') ?? false,
        fCnt: numberIn(members, 'fCnt'),
      }
    case 'txack':
      return {
        kind,
        queueItemId: '',
        fCnt: numberIn(members, 'fCnt'),
        gatewayId: gatewayIdIn(members),
        txInfo: transmissionOf(members),
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
        object: objectOf(event),
      }
  }
}

function upOf(event: ReceivedEvent): KindFacts {
  const { members } = event
  return {
    kind: 'up',
    devAddr: addressIn(members),
    adr: optionalBoolean(members, 'adr'),
    confirmed: optionalBoolean(members, 'confirmedUplink'),
    fCnt: numberIn(members, 'fCnt'),
    fPort: numberIn(members, 'fPort'),
    data: textIn(members, 'data'),
    object: objectOf(event),
    normalized: jsonIn(event, 'normalized'),
    rxInfo: receptionsOf(members),
    txInfo: transmissionOf(members) ?? { ...NO_TRANSMISSION, dr: optionalNumber(members, 'dr') },
  }
}

/** One format of ChirpStack v3 has the object as JSON within a text. */
function objectOf(event: ReceivedEvent): JsonText | undefined {
  const object = jsonIn(event, 'object')
  const text = object === undefined ? textAt(event.members, 'objectJSON') : undefined
  if (text === undefined || text === '') return object
  try {
    JSON.parse(text)
  } catch {
    throw new UnreadableEvent('objectJSON: must be JSON')
  }
  return new JsonText(text)
}

function faultOf(kind: 'error' | 'log', members: JsonObject): KindFacts {
  return {
    kind,
    level: optionalText(members, 'level') ?? 'ERROR',
    code: optionalText(members, 'code') ?? codeOfType(optionalText(members, 'type') ?? 'UNKNOWN'),
    message: textIn(members, 'error'),
    fCnt: optionalNumber(members, 'fCnt'),
    member: optionalText(members, 'member'),
    context: {},
  }
}

function receptionsOf(members: JsonObject): readonly ReceptionFacts[] {
  return objectsIn(members, 'rxInfo').map((reception) => ({
    gatewayId: gatewayIdIn(reception) ?? '',
    gatewayName: textIn(reception, 'name'),
    uplinkId: optionalText(reception, 'uplinkID'),
    time: optionalText(reception, 'time'),
    rssi: numberIn(reception, 'rssi'),
    snr: numberIn(reception, 'loRaSNR'),
    channel: optionalNumber(reception, 'channel'),
    location: optionalPlace(reception),
  }))
}

const NO_TRANSMISSION: TransmissionFacts = {
  frequency: 0,
  dr: undefined,
  bandwidth: undefined,
  spreadingFactor: undefined,
  codeRate: undefined,
  power: undefined,
}

function transmissionOf(members: JsonObject): TransmissionFacts | undefined {
  const txInfo = objectIn(members, 'txInfo')
  if (txInfo === undefined) return undefined
  const dr = optionalNumber(txInfo, 'dr') ?? optionalNumber(members, 'dr')
  return { ...NO_TRANSMISSION, frequency: numberIn(txInfo, 'frequency'), dr }
}

function addressIn(members: JsonObject): string | undefined {
  const text = optionalText(members, 'devAddr')
  return text === undefined ? undefined : hexadecimal(text, 4)
}

function gatewayIdIn(members: JsonObject): string | undefined {
  const text = optionalText(members, 'gatewayID')
  return text === undefined ? undefined : hexadecimal(text, 8)
}
