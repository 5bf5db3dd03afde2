/**
 * Writes facts in the spelling of ChirpStack v4. A fact that is not known is left out. Zero and
 * false are written.
 */
import { given } from '../../given.ts'
import type { JsonObject } from '../../json.ts'
import type { EventFacts, ReceptionFacts, TransmissionFacts } from './event-facts.ts'

/** The members of the event. A member that is undefined is not to be written. */
export function writeV4(facts: EventFacts): JsonObject {
  const { commandId, deduplicationId, time } = facts
  const about = { time, deviceInfo: deviceInfoOf(facts) }
  const common = { deduplicationId, ...about }
  switch (facts.kind) {
    case 'up':
      return {
        ...common,
        devAddr: facts.devAddr,
        adr: facts.adr,
        dr: facts.txInfo.dr,
        fCnt: facts.fCnt,
        fPort: facts.fPort,
        confirmed: facts.confirmed,
        data: facts.data,
        object: facts.object,
        normalized: facts.normalized,
        rxInfo: facts.rxInfo.map(receptionOf),
        txInfo: transmissionOf(facts.txInfo),
      }
    case 'join':
      return { ...common, devAddr: facts.devAddr }
    case 'ack': {
      const { queueItemId, acknowledged, fCnt } = facts
      return { commandId, ...common, queueItemId, acknowledged, fCntDown: fCnt }
    }
    case 'txack': {
      const { queueItemId, fCnt, gatewayId, txInfo } = facts
      return { commandId, ...common, queueItemId, fCntDown: fCnt, gatewayId, txInfo: txInfo && transmissionOf(txInfo) }
    }
    case 'error':
    case 'log': {
      const { level, code, message, fCnt, member, context } = facts
      const counter = fCnt === undefined ? {} : { [counterOf(code)]: String(fCnt) }
      return { commandId, ...about, level, code, description: message, context: { ...counter, ...context }, member }
    }
    case 'status': {
      const { margin, externalPowerSource, batteryLevelUnavailable, batteryLevel } = facts
      return { ...common, margin, externalPowerSource, batteryLevelUnavailable, batteryLevel }
    }
    case 'location':
      return { ...common, location: facts.location }
    case 'integration': {
      const { integrationName, eventType, object } = facts
      return { ...common, integrationName, eventType, object }
    }
  }
}

function counterOf(code: string): string {
  return code.startsWith('UPLINK_') ? 'f_cnt_up' : code.startsWith('DOWNLINK_') ? 'f_cnt_down' : 'f_cnt'
}

function deviceInfoOf(facts: EventFacts): JsonObject {
  return {
    tenantId: facts.tenantId,
    tenantName: facts.tenantName,
    applicationId: facts.applicationId,
    applicationName: facts.applicationName,
    deviceProfileId: facts.deviceProfileId,
    deviceProfileName: facts.deviceProfileName,
    deviceName: facts.deviceName,
    devEui: facts.devEui,
    deviceClassEnabled: facts.deviceClass,
    tags: facts.tags,
  }
}

function receptionOf(reception: ReceptionFacts): JsonObject {
  return {
    gatewayId: reception.gatewayId,
    uplinkId: reception.uplinkId === undefined ? undefined : numberOf(reception.uplinkId),
    gwTime: reception.time,
    rssi: reception.rssi,
    snr: reception.snr,
    channel: reception.channel,
    location: reception.location,
    metadata: reception.gatewayName === '' ? undefined : { gateway_name: reception.gatewayName },
  }
}

/** The number of 32 bits at the end of a UUID of zeros; undefined for a real UUID. */
function numberOf(uplinkId: string): number | undefined {
  const digits = /^0{8}-0{4}-0{4}-0{4}-0{4}([0-9a-f]{8})$/.exec(uplinkId)?.[1]
  return digits === undefined ? undefined : Number.parseInt(digits, 16)
}

function transmissionOf({ frequency, power, bandwidth, spreadingFactor, codeRate }: TransmissionFacts): JsonObject {
  const isLora = bandwidth !== undefined && spreadingFactor !== undefined
  const modulation = isLora ? { lora: { bandwidth, spreadingFactor, ...given({ codeRate }) } } : undefined
  return { frequency, power, modulation }
}
