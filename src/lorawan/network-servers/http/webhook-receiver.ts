/**
 * Receives events that a network server posts over HTTP, authenticated by a service credential, and
 * gives them to the sink.
 */
import type { EventSink } from '../../commands/network-server.ts'
import type { DevicePlace } from '../../commands/command-ports.ts'
import { EventRefused } from '../adapter/event-refused.ts'
import type { EventRefusalCode } from '../adapter/event-refused.ts'
import { objectAt, parseObject, textAt } from '../../../json.ts'
import type { JsonObject } from '../../../json.ts'
import type { TheThingsStackDeviceIds } from './the-things-stack-device-ids.ts'
import { readTheThingsStackEvent } from './the-things-stack-events.ts'

export type WebhookSource = 'chirpstack' | 'the-things-stack'

export type WebhookOutcome =
  | { readonly outcome: 'owned' }
  /** The webhook has no event here, and needs none. */
  | { readonly outcome: 'silent' }
  /** The event is refused for good. */
  | { readonly outcome: 'refused'; readonly code: 'event_malformed' | EventRefusalCode; readonly reason: string }
  /** The event could not be owned now; the network server should send it again. */
  | { readonly outcome: 'failed' }

export interface WebhookReceiverParts {
  readonly placeOf: (devEui: string) => DevicePlace | undefined | Promise<DevicePlace | undefined>
  /** The sink for the devices of one organization; null for the whole deployment. */
  readonly sinkOf: (organizationId: string | null) => EventSink
  readonly deviceIds: TheThingsStackDeviceIds
}

export interface Webhook {
  readonly source: WebhookSource
  /** The organization of the service credential; null for a credential of the whole deployment. */
  readonly organizationId: string | null
  /** ChirpStack's `?event=`. The Things Stack names the kind in the body. */
  readonly event: string | undefined
  readonly body: Buffer
}

/**
 * Webhooks that are being owned at a time. Further webhooks are asked to come again: this bounds
 * the memory that a flood can take.
 */
const MAXIMUM_UNDER_WAY = 1_000

interface ReadEvent {
  readonly devEui: string
  readonly kind: string
  payload(applicationId: string): Buffer
  /** Called when the device is known to belong to the sender. */
  readonly learn?: () => void
}

export class WebhookReceiver {
  readonly #parts: WebhookReceiverParts
  #underWay = 0

  constructor(parts: WebhookReceiverParts) {
    this.#parts = parts
  }

  /**
   * Takes one webhook. Its event goes to the application to which the device belongs here, whatever
   * ids the network server has. The device must belong to the credential's organization.
   */
  async receive(webhook: Webhook): Promise<WebhookOutcome> {
    const read = this.#read(webhook)
    if (read === 'silent') return { outcome: 'silent' }
    if (read === undefined) {
      const reason = 'the body is no event of this kind of network server with the DevEUI of a device'
      return { outcome: 'refused', code: 'event_malformed', reason }
    }
    if (this.#underWay >= MAXIMUM_UNDER_WAY) return { outcome: 'failed' }
    this.#underWay += 1
    try {
      return await this.#own(read, webhook.organizationId)
    } finally {
      this.#underWay -= 1
    }
  }

  #read({ source, event, body }: Webhook): ReadEvent | 'silent' | undefined {
    const message = parseObject(body)
    if (message === undefined) return undefined
    if (source === 'chirpstack') return event === undefined ? undefined : readChirpStackEvent(event, message, body)
    const read = readTheThingsStackEvent(message)
    if (read === undefined || read === 'silent') return read
    return { ...read, learn: () => this.#parts.deviceIds.learn(read.devEui, read.deviceId) }
  }

  async #own(event: ReadEvent, organizationId: string | null): Promise<WebhookOutcome> {
    const { devEui, kind } = event
    try {
      const place = await this.#parts.placeOf(devEui)
      const isOwn = organizationId === null || place?.organizationId === organizationId
      // For an unknown device the sink refuses the event; it gets an application without devices.
      const applicationId = isOwn ? (place?.applicationId ?? '') : ''
      if (applicationId !== '') event.learn?.()
      const payload = event.payload(applicationId)
      await this.#parts.sinkOf(organizationId).event({ applicationId, devEui, kind, payload })
      return { outcome: 'owned' }
    } catch (error) {
      if (error instanceof EventRefused) return { outcome: 'refused', code: error.code, reason: error.message }
      return { outcome: 'failed' }
    }
  }
}

/**
 * ChirpStack v4 names the device in `deviceInfo`, v3 beside the other members; the DevEUI is
 * hexadecimal or base64.
 */
function readChirpStackEvent(kind: string, message: JsonObject, body: Buffer): ReadEvent | undefined {
  const text = textAt(objectAt(message, 'deviceInfo'), 'devEui') ?? textAt(message, 'devEUI')
  const devEui = text === undefined ? undefined : devEuiOf(text)
  return devEui === undefined ? undefined : { devEui, kind, payload: () => body }
}

function devEuiOf(text: string): string | undefined {
  if (/^[0-9a-f]{16}$/i.test(text)) return text.toLowerCase()
  return /^[A-Za-z0-9+/]{11}=$/.test(text) ? Buffer.from(text, 'base64').toString('hex') : undefined
}
