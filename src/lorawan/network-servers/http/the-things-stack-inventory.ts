/**
 * The inventory of one application of The Things Stack, by its HTTP API: the devices that the
 * Identity Server lists, and the application's default payload formatters. A device profile is what
 * the devices of one brand, model, firmware and band have in common.
 */
import { objectAt, objectOf, objectsAt, textAt } from '../../../json.ts'
import type { JsonObject } from '../../../json.ts'
import { InventoryUnreadable } from '../../inventory/inventory.ts'
import type {
  InventoryApplication,
  InventoryDevice,
  InventoryProfile,
  InventorySource,
} from '../../inventory/inventory.ts'
import { HttpClient } from './http-request.ts'
import type { HttpAnswer, HttpTarget } from './http-request.ts'

/**
 * The variable of a device with its device id in The Things Stack. Without the variable, the id is
 * `eui-` and the DevEUI.
 */
export const DEVICE_ID_VARIABLE = 'theThingsStackDeviceId'

/** Devices of one page; The Things Stack allows 1,000. */
const PAGE_SIZE = 200
/** A page of devices has some 200 KB. A device has at most 10 KB of attributes. */
const MAXIMUM_ANSWER_BYTES = 8 * 1024 * 1024
/** Pages of one reading: a server that repeats its pages for ever is not followed. */
const MAXIMUM_PAGES = 1_000

const VERSION = ['brand_id', 'model_id', 'firmware_version', 'band_id'] as const

type Version = Readonly<Record<(typeof VERSION)[number], string>>

type Formatters = Pick<InventoryProfile, 'payloadCodec' | 'payloadDecoderScript' | 'payloadEncoderScript'>

const NO_FORMATTERS: Formatters = { payloadCodec: '', payloadDecoderScript: '', payloadEncoderScript: '' }

export class TheThingsStackInventory implements InventorySource {
  readonly #client: HttpClient
  readonly #applicationId: string
  #formatters: Promise<Formatters> | undefined

  constructor(target: HttpTarget, applicationId: string) {
    this.#client = new HttpClient(target)
    this.#applicationId = applicationId
  }

  async *applications(): AsyncGenerator<InventoryApplication> {
    const path = `/api/v3/applications/${encodeURIComponent(this.#applicationId)}?field_mask=name,description`
    const application = await this.#ask(path)
    yield {
      id: this.#applicationId,
      name: textAt(application, 'name') ?? this.#applicationId,
      description: textAt(application, 'description') ?? '',
    }
  }

  async *devices(applicationId: string): AsyncGenerator<InventoryDevice> {
    for (let page = 1; page <= MAXIMUM_PAGES; page += 1) {
      const path =
        `/api/v3/applications/${encodeURIComponent(applicationId)}/devices` +
        `?field_mask=name,description,attributes,version_ids&order=device_id&limit=${PAGE_SIZE}&page=${page}`
      const devices = objectsAt(await this.#ask(path), 'end_devices')
      for (const device of devices) {
        const read = this.#deviceOf(device)
        if (read !== undefined) yield read
      }
      if (devices.length < PAGE_SIZE) return
    }
    throw new InventoryUnreadable('inventory_too_large', `The Things Stack lists more than ${MAXIMUM_PAGES} pages`)
  }

  async profile(profileId: string, applicationId: string): Promise<InventoryProfile | undefined> {
    this.#formatters ??= this.#readFormatters(applicationId)
    const formatters = await this.#formatters
    const version = versionOf(profileId.split('/'))
    if (formatters.payloadCodec === '' && Object.values(version).every((part) => part === '')) return undefined
    return {
      id: profileId,
      name: this.#nameOf(version),
      description: '',
      vendor: version.brand_id,
      model: version.model_id,
      firmwareVersion: version.firmware_version,
      region: version.band_id,
      deviceClass: '',
      ...formatters,
      expectedIntervalSeconds: 0,
      tags: {},
    }
  }

  close(): void {
    this.#client.close()
  }

  /**
   * The formatters that the application's devices have by default. A formatter of the Device
   * Repository is not fetched: the licence of the repository bounds what may be copied of it.
   */
  async #readFormatters(applicationId: string): Promise<Formatters> {
    const path = `/api/v3/as/applications/${encodeURIComponent(applicationId)}/link?field_mask=default_formatters`
    const answer = await this.#send(path)
    // The application has no link, or the key has no right to see its settings.
    if (answer.status === 404 || answer.status === 403) return NO_FORMATTERS
    const formatters = objectAt(objectIn(answer), 'default_formatters')
    const up = textAt(formatters, 'up_formatter')
    const isDown = textAt(formatters, 'down_formatter') === 'FORMATTER_JAVASCRIPT'
    if (up === 'FORMATTER_CAYENNELPP') return { ...NO_FORMATTERS, payloadCodec: 'CAYENNE_LPP' }
    if (up !== 'FORMATTER_JAVASCRIPT') return NO_FORMATTERS
    return {
      payloadCodec: 'CUSTOM_JS',
      payloadDecoderScript: textAt(formatters, 'up_formatter_parameter') ?? '',
      payloadEncoderScript: isDown ? (textAt(formatters, 'down_formatter_parameter') ?? '') : '',
    }
  }

  /** Undefined for a device without a DevEUI: such a device can't be registered here. */
  #deviceOf(device: JsonObject): InventoryDevice | undefined {
    const ids = objectAt(device, 'ids')
    const devEui = (textAt(ids, 'dev_eui') ?? '').toLowerCase()
    if (!/^[0-9a-f]{16}$/.test(devEui)) return undefined
    const deviceId = textAt(ids, 'device_id') ?? ''
    const version = objectAt(device, 'version_ids')
    const parts = VERSION.map((member) => (textAt(version, member) ?? '').replaceAll('/', '-'))
    return {
      devEui,
      joinEui: (textAt(ids, 'join_eui') ?? '').toLowerCase(),
      name: textAt(device, 'name') ?? deviceId,
      description: textAt(device, 'description') ?? '',
      profileId: parts.join('/'),
      profileName: this.#nameOf(versionOf(parts)),
      tags: textsOf(objectAt(device, 'attributes')),
      variables: deviceId === `eui-${devEui}` ? {} : { [DEVICE_ID_VARIABLE]: deviceId },
      isDisabled: false,
    }
  }

  /** Devices that name no version share the application's formatters, and its name. */
  #nameOf({ brand_id: brand, model_id: model, firmware_version: firmware, band_id: band }: Version): string {
    return [brand, model, firmware, band].filter((part) => part !== '').join(' ') || this.#applicationId
  }

  async #ask(path: string): Promise<JsonObject> {
    return objectIn(await this.#send(path))
  }

  async #send(path: string): Promise<HttpAnswer> {
    try {
      return await this.#client.get(path, MAXIMUM_ANSWER_BYTES)
    } catch (error) {
      const isLate = error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')
      const reason = error instanceof Error && 'code' in error ? String(error.code) : 'no answer'
      throw new InventoryUnreadable(
        isLate ? 'inventory_too_slow' : 'inventory_unreachable',
        `The Things Stack: ${isLate ? 'no answer in time' : reason}`,
      )
    }
  }
}

function objectIn({ status, text }: HttpAnswer): JsonObject {
  if (status === 401 || status === 403) {
    const message = `The Things Stack refuses the API key (HTTP ${status}): it needs the right to view devices`
    throw new InventoryUnreadable('inventory_key_refused', message)
  }
  if (status !== 200) throw new InventoryUnreadable('inventory_failed', `The Things Stack answers with HTTP ${status}`)
  try {
    const object = objectOf(JSON.parse(text))
    if (object !== undefined) return object
  } catch {
    // The text is no JSON, or it was cut.
  }
  throw new InventoryUnreadable('inventory_failed', 'The Things Stack answers with something else than a JSON object')
}

function versionOf(parts: readonly string[]): Version {
  const [brand = '', model = '', firmware = '', band = ''] = parts
  return { brand_id: brand, model_id: model, firmware_version: firmware, band_id: band }
}

function textsOf(object: JsonObject | undefined): Readonly<Record<string, string>> {
  const entries = Object.entries(object ?? {}).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(entries) as Readonly<Record<string, string>>
}
