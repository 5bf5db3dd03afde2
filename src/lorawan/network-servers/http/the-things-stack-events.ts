/**
 * Turns the webhooks of The Things Stack into events of family B. Their JSON leaves out zero, false
 * and empty values; the events have them. Facts that The Things Stack does not tell (the index of
 * the data rate, ADR, the device profile's id) are left out, or are empty if family B always has
 * the member.
 */
import { createHash } from 'node:crypto'
import type { PublishedEventKind } from '../../topics.ts'
import { given } from '../../../given.ts'
import { memberOf, numberAt, objectAt, objectsAt, textAt, textsAt } from '../../../json.ts'
import type { JsonObject } from '../../../json.ts'
import { CORRELATION_PREFIX } from './rest-forms.ts'

/** A webhook that has an event here. */
export interface TheThingsStackEvent {
  /** 16 lower-case hexadecimal digits. */
  readonly devEui: string
  /** The Things Stack's id of the device. */
  readonly deviceId: string
  readonly kind: PublishedEventKind
  /** The event, for the application to which the device belongs here. */
  payload(applicationId: string): Buffer
}

type Common = JsonObject & { readonly deviceInfo: JsonObject }

/** By the member of a webhook that names its kind: how it becomes an event. */
const KINDS: Readonly<
  Record<
    string,
    {
      readonly kind: PublishedEventKind
      readonly write: (common: Common, message: JsonObject, body: JsonObject) => JsonObject
    }
  >
> = {
  uplink_message: { kind: 'up', write: upOf },
  join_accept: { kind: 'join', write: joinOf },
  downlink_sent: { kind: 'txack', write: txackOf },
  downlink_ack: { kind: 'ack', write: (common, message, body) => ackOf(common, message, body, true) },
  downlink_nack: { kind: 'ack', write: (common, message, body) => ackOf(common, message, body, false) },
  downlink_queued: { kind: 'log', write: queuedOf },
  downlink_failed: { kind: 'log', write: failedOf },
  downlink_queue_invalidated: { kind: 'log', write: invalidatedOf },
  location_solved: { kind: 'location', write: locationEventOf },
  service_data: { kind: 'integration', write: integrationOf },
}

/**
 * Kinds of webhook that say nothing new: a downlink was enqueued, or an uplink comes once more in
 * another form.
 */
const SILENT: readonly string[] = ['downlink_queued', 'uplink_normalized']

/** Names of errors in The Things Stack, with the codes of family B. */
const FAILURE_CODES: Readonly<Record<string, string>> = {
  application_downlink_too_long: 'DOWNLINK_PAYLOAD_SIZE',
  downlink_expired: 'EXPIRED',
}

/**
 * The event of a webhook's body; `silent` for a webhook without an event here; undefined for a body
 * that is no webhook of The Things Stack.
 */
export function readTheThingsStackEvent(body: JsonObject): TheThingsStackEvent | 'silent' | undefined {
  const ids = objectAt(body, 'end_device_ids')
  const devEui = textAt(ids, 'dev_eui')?.toLowerCase() ?? ''
  const deviceId = textAt(ids, 'device_id')
  const member = Object.keys(KINDS).find((name) => isTold(name, objectAt(body, name), body))
  if (member === undefined) return SILENT.some((name) => memberOf(body, name) !== undefined) ? 'silent' : undefined
  const translation = KINDS[member]
  const message = objectAt(body, member)
  if (!/^[0-9a-f]{16}$/.test(devEui) || deviceId === undefined || translation === undefined || message === undefined) {
    return undefined
  }
  return {
    devEui,
    deviceId,
    kind: translation.kind,
    payload(applicationId) {
      const common = commonOf(body, message, { applicationId, devEui, deviceId })
      return Buffer.from(JSON.stringify(translation.write(common, message, body)))
    },
  }
}

function isTold(member: string, message: JsonObject | undefined, body: JsonObject): boolean {
  return message !== undefined && (member !== 'downlink_queued' || queueItemIdIn(message, body) !== '')
}

function commonOf(
  body: JsonObject,
  message: JsonObject,
  ids: { readonly applicationId: string; readonly devEui: string; readonly deviceId: string },
): Common {
  const versionIds = objectAt(message, 'version_ids')
  const model = [textAt(versionIds, 'brand_id'), textAt(versionIds, 'model_id')].filter((part) => part !== undefined)
  return {
    deduplicationId: uuidOf(body),
    time: textAt(body, 'received_at') ?? textAt(message, 'received_at') ?? '',
    deviceInfo: {
      tenantId: '',
      tenantName: textAt(objectAt(message, 'network_ids'), 'tenant_id') ?? '',
      applicationId: ids.applicationId,
      applicationName: textAt(objectAt(body, 'end_device_ids', 'application_ids'), 'application_id') ?? '',
      deviceProfileId: '',
      deviceProfileName: model.join('/'),
      deviceName: ids.deviceId,
      devEui: ids.devEui,
      tags: objectAt(message, 'attributes') ?? {},
    },
  }
}

function upOf(common: Common, message: JsonObject, body: JsonObject): JsonObject {
  const settings = objectAt(message, 'settings')
  const lora = objectAt(settings, 'data_rate', 'lora')
  return {
    ...common,
    devAddr: devAddrOf(body),
    fCnt: numberAt(message, 'f_cnt') ?? 0,
    fPort: numberAt(message, 'f_port') ?? 0,
    confirmed: memberOf(message, 'confirmed') === true,
    data: textAt(message, 'frm_payload') ?? '',
    ...given({ object: objectAt(message, 'decoded_payload') }),
    ...measurementsOf(message),
    rxInfo: objectsAt(message, 'rx_metadata').map(receptionOf),
    txInfo: {
      frequency: numberAt(settings, 'frequency') ?? 0,
      ...given({ modulation: lora && { lora: loraOf(lora) } }),
    },
  }
}

/** The measurements that a payload formatter of The Things Stack gives besides the object. */
function measurementsOf(message: JsonObject): JsonObject {
  const normalized = objectsAt(message, 'normalized_payload')
  return normalized.length === 0 ? {} : { normalized }
}

function loraOf(lora: JsonObject): JsonObject {
  const codingRate = textAt(lora, 'coding_rate')
  return {
    bandwidth: numberAt(lora, 'bandwidth') ?? 0,
    spreadingFactor: numberAt(lora, 'spreading_factor') ?? 0,
    // The Things Stack writes `4/5`, and family B `CR_4_5`.
    codeRate: codingRate === undefined ? 'CR_UNDEFINED' : `CR_${codingRate.replace('/', '_')}`,
  }
}

function receptionOf(reception: JsonObject): JsonObject {
  const gateway = objectAt(reception, 'gateway_ids')
  const location = objectAt(reception, 'location')
  const time = textAt(reception, 'time') ?? textAt(reception, 'received_at')
  const gatewayName = textAt(gateway, 'gateway_id') ?? ''
  return {
    gatewayId: textAt(gateway, 'eui')?.toLowerCase() ?? gatewayName,
    ...given({ gwTime: time }),
    rssi: numberAt(reception, 'rssi') ?? 0,
    snr: numberAt(reception, 'snr') ?? 0,
    ...given({ location: location && locationOf(location) }),
    context: textAt(reception, 'uplink_token') ?? '',
    metadata: { gateway_id: gatewayName },
  }
}

function joinOf(common: Common, _message: JsonObject, body: JsonObject): JsonObject {
  return { ...common, devAddr: devAddrOf(body) }
}

function txackOf(common: Common, message: JsonObject, body: JsonObject): JsonObject {
  return { ...common, queueItemId: queueItemIdIn(message, body), fCntDown: numberAt(message, 'f_cnt') ?? 0 }
}

function ackOf(common: Common, message: JsonObject, body: JsonObject, acknowledged: boolean): JsonObject {
  return {
    ...common,
    queueItemId: queueItemIdIn(message, body),
    acknowledged,
    fCntDown: numberAt(message, 'f_cnt') ?? 0,
  }
}

function queuedOf(common: Common, message: JsonObject, body: JsonObject): JsonObject {
  const context = { queue_item_id: queueItemIdIn(message, body) }
  return { ...common, level: 'INFO', code: 'UNKNOWN', description: 'the downlink is queued', context }
}

function failedOf(common: Common, message: JsonObject, body: JsonObject): JsonObject {
  const error = objectAt(message, 'error')
  const name = textAt(error, 'name') ?? ''
  const context = { queue_item_id: queueItemIdIn(objectAt(message, 'downlink'), body), error: name }
  const code = Object.hasOwn(FAILURE_CODES, name) ? FAILURE_CODES[name] : 'UNKNOWN'
  return { ...common, level: 'ERROR', code, description: sentenceOf(error, name), context }
}

/** The Things Stack's sentences have places for values: `payload length {length} exceeds {max}`. */
function sentenceOf(error: JsonObject | undefined, name: string): string {
  const sentence = textAt(error, 'message_format') ?? (name === '' ? 'the downlink failed' : name)
  const attributes = objectAt(error, 'attributes')
  return sentence.replaceAll(/\{(\w+)\}/g, (place, member: string) => {
    const value = memberOf(attributes, member)
    return typeof value === 'string' || typeof value === 'number' ? String(value) : place
  })
}

function invalidatedOf(common: Common, message: JsonObject): JsonObject {
  const context = { downlinks: String(objectsAt(message, 'downlinks').length) }
  const description = 'the downlink queue was invalidated and is set up again'
  return { ...common, level: 'WARNING', code: 'F_CNT_DOWN', description, context }
}

function locationEventOf(common: Common, message: JsonObject): JsonObject {
  return { ...common, location: locationOf(objectAt(message, 'location')) }
}

function integrationOf(common: Common, message: JsonObject): JsonObject {
  return {
    ...common,
    integrationName: textAt(message, 'service') ?? '',
    eventType: 'service_data',
    object: objectAt(message, 'data') ?? {},
  }
}

function locationOf(location: JsonObject | undefined): JsonObject {
  return {
    latitude: numberAt(location, 'latitude') ?? 0,
    longitude: numberAt(location, 'longitude') ?? 0,
    altitude: numberAt(location, 'altitude') ?? 0,
  }
}

function devAddrOf(body: JsonObject): string {
  return textAt(objectAt(body, 'end_device_ids'), 'dev_addr')?.toLowerCase() ?? ''
}

/** The id that went out with the downlink; empty for a downlink that another program enqueued. */
function queueItemIdIn(message: JsonObject | undefined, body: JsonObject): string {
  const ids = [...textsAt(message, 'correlation_ids'), ...textsAt(body, 'correlation_ids')]
  return ids.find((id) => id.startsWith(CORRELATION_PREFIX))?.slice(CORRELATION_PREFIX.length) ?? ''
}

/**
 * A UUID made from the body: The Things Stack repeats an unanswered webhook, and the repetition
 * gets the same id.
 */
function uuidOf(body: JsonObject): string {
  const hex = createHash('sha256').update(JSON.stringify(body)).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}
