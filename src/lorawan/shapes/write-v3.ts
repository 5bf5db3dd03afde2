/**
 * Writes facts in the spelling of ChirpStack v3. A fact that is not known is left out. The rest of
 * the facts, for which ChirpStack v3 has no member, is in docs/events.md.
 */
import type { JsonObject } from '../../json.ts'
import type { EventFacts, PlaceFacts, ReceptionFacts, TransmissionFacts } from './event-facts.ts'
import { typeOfCode } from './fault-codes.ts'

/** The members of the event. A member that is undefined is not to be written. */
export function writeV3(facts: EventFacts): JsonObject {
  const common = {
    commandId: facts.commandId,
    applicationID: facts.applicationId,
    applicationName: facts.applicationName,
    deviceName: facts.deviceName,
    devEUI: facts.devEui,
    tags: facts.tags,
  }
  switch (facts.kind) {
    case 'up':
      return {
        ...common,
        deviceProfileName: facts.deviceProfileName,
        deviceProfileID: facts.deviceProfileId,
        rxInfo: facts.rxInfo.map(receptionOf),
        txInfo: transmissionOf(facts.txInfo),
        adr: facts.adr,
        fCnt: facts.fCnt,
        fPort: facts.fPort,
        // ChirpStack v3 has no empty text here.
        data: facts.data === '' ? null : facts.data,
        object: facts.object,
        normalized: facts.normalized,
      }
    case 'join': {
      const { devAddr, rxInfo, txInfo } = facts
      return { ...common, devAddr, rxInfo: rxInfo?.map(receptionOf), txInfo: txInfo && transmissionOf(txInfo) }
    }
    case 'ack':
      return { ...common, acknowledged: facts.acknowledged, fCnt: facts.fCnt }
    case 'txack': {
      const { fCnt, gatewayId: gatewayID, txInfo } = facts
      return { ...common, fCnt, gatewayID, txInfo: txInfo && transmissionOf(txInfo) }
    }
    case 'error':
    case 'log': {
      const { level, code, message, fCnt, member } = facts
      const type = typeOfCode(code)
      const rest = { type: type ?? 'UNKNOWN', error: message, fCnt, level }
      return { ...common, ...rest, code: type === undefined ? code : undefined, member }
    }
    case 'status': {
      const { margin, externalPowerSource, batteryLevel, batteryLevelUnavailable } = facts
      return { ...common, margin, externalPowerSource, batteryLevel, batteryLevelUnavailable }
    }
    case 'location':
      return { ...common, location: placeOf(facts.location) }
    case 'integration': {
      const { integrationName, eventType, object } = facts
      return { ...common, integrationName, eventType, object }
    }
  }
}

function receptionOf(reception: ReceptionFacts): JsonObject {
  return {
    gatewayID: reception.gatewayId,
    uplinkID: reception.uplinkId,
    name: reception.gatewayName,
    time: reception.time,
    rssi: reception.rssi,
    loRaSNR: reception.snr,
    location: reception.location === undefined ? null : placeOf(reception.location),
  }
}

function transmissionOf({ frequency, dr }: TransmissionFacts): JsonObject {
  return { frequency, dr }
}

function placeOf({ latitude, longitude, altitude }: PlaceFacts): JsonObject {
  return { latitude, longitude, altitude }
}
