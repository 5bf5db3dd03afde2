/**
 * The settings of a webhook, with their bounds and their rules. The registry keeps them, the room
 * of webhooks obeys them, and the API shows them.
 */
import { isIP } from 'node:net'

/** A webhook that collects events and sends them together. */
export interface WebhookBatch {
  /** From 2 to 1,000. */
  readonly maximumEvents: number
  /** Bytes of the bodies of the events, from 1,024 to 1,048,576. */
  readonly maximumBytes: number
  /** How long the first event waits for others, from 0 to 60,000. */
  readonly waitMs: number
}

/** The settings of a webhook that are no secret. An absent list is no limit. */
export interface WebhookSettings {
  /** For people. */
  readonly name: string
  /** `https://` or `http://`, without user and password. */
  readonly url: string
  /** PEM of the certificate authorities that are trusted in the place of the system's. */
  readonly caCertificate?: string
  readonly applicationIds?: readonly string[]
  /** DevEUIs in lower case. */
  readonly devEuis?: readonly string[]
  /** The device must have all of these tags, with these values. */
  readonly tags?: Readonly<Record<string, string>>
  /** Kinds of events as in topics: `up`, `join`. */
  readonly eventKinds?: readonly string[]
  /** Absent: each request has one event. */
  readonly batch?: WebhookBatch
  /** Requests at the same time, from 1 to 16. */
  readonly concurrency: number
  /** The time that one request may take, from 1 to 30. */
  readonly timeoutSeconds: number
  /** How long an event may fail before the webhook is paused, from 60 to 604,800. */
  readonly giveUpSeconds: number
  /** How the webhook goes on after an event that its receiver refuses time and again. */
  readonly onRefused: 'pause' | 'skip'
  /** True: the answer of the receiver may hold a command for the event's device. */
  readonly acceptsCommands: boolean
}

/** A secret by which requests are signed. */
export interface WebhookSecret {
  /** `whsec_` and Base64 of 32 bytes. */
  readonly secret: string
  /** ms since 1970; absent: the secret is the current one. */
  readonly retiresAtMs?: number
}

/** Why a webhook is paused. */
export interface WebhookPause {
  /** Stable: docs/errors.md has a paragraph for each. */
  readonly code: WebhookPauseCode
  /** A sentence for people. */
  readonly reason: string
  readonly atMs: number
}

export type WebhookPauseCode = 'webhook_paused_by_person' | 'webhook_failing' | 'webhook_event_refused' | 'webhook_gone'

/** A webhook as the registry keeps it. */
export interface Webhook extends WebhookSettings {
  readonly id: string
  readonly organizationId: string
  /** Header fields of each request, by name in lower case. The values are secret. */
  readonly headers: Readonly<Record<string, string>>
  /** The current secret first. */
  readonly secrets: readonly WebhookSecret[]
  /** Undefined while the webhook runs. */
  readonly pause: WebhookPause | undefined
  /** Grows with each replay: what was read before it counts no more. */
  readonly generation: number
  /** The events that the log took from this time on are sent, ms since 1970. */
  readonly startMs: number
  /**
   * ms since 1970: applications that were chosen later than at the start are read from this time
   * on.
   */
  readonly reachMs: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** The bounds of settings. Each keeps one organization from holding what others need. */
export const WEBHOOK_BOUNDS = {
  /** Webhooks of one organization: each reads the log. */
  perOrganization: 20,
  /** Requests at the same time of all webhooks of one organization together: sockets. */
  concurrencyPerOrganization: 80,
  concurrency: 16,
  applications: 100,
  devices: 100,
  tags: 8,
  headers: 16,
  headerValueLength: 1_024,
  urlLength: 2_048,
  caLength: 65_536,
  nameLength: 100,
  timeoutSeconds: 30,
  giveUpSeconds: { minimum: 60, maximum: 604_800, default: 86_400 },
  batchEvents: { minimum: 2, maximum: 1_000 },
  batchBytes: { minimum: 1_024, maximum: 1_048_576 },
  batchWaitMs: 60_000,
  /** How long a secret that was replaced may still sign, in seconds. */
  overlapSeconds: { maximum: 604_800, default: 86_400 },
} as const

/** Header fields of the service itself, and of the connection (RFC 9110 §7.6.1). */
const OWN_HEADERS = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
])

const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/
/** Visible ASCII, with blanks within: no line break begins another header field. */
const HEADER_VALUE = /^[!-~](?:[ -~]*[!-~])?$/

/** The fault of the address, in words; undefined when it can be called. */
export function urlFault(text: string): string | undefined {
  if (text.length > WEBHOOK_BOUNDS.urlLength) return `url: must have at most ${WEBHOOK_BOUNDS.urlLength} characters`
  if (!/^https?:\/\/[!-~]+$/i.test(text) || !URL.canParse(text)) {
    return 'url: must be an address that begins with https:// or http://'
  }
  const { username, password, hash, hostname, port } = new URL(text)
  if (username !== '' || password !== '') return 'url: must have no user and no password: use a header'
  if (hash !== '') return 'url: must have no fragment'
  if (hostname === '' || hostname.length > 253) return 'url: must name a host'
  return port === '0' ? 'url: must name a port from 1 to 65535' : undefined
}

/** The fault of the header fields, in words; undefined when they can be sent. */
export function headersFault(headers: Readonly<Record<string, string>>): string | undefined {
  const names = Object.keys(headers)
  if (names.length > WEBHOOK_BOUNDS.headers) return `headers: must be at most ${WEBHOOK_BOUNDS.headers}`
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length) return 'headers: must not repeat a name'
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase()
    if (!HEADER_NAME.test(name)) return 'headers: must have names of 1 to 64 letters, digits and hyphens'
    if (OWN_HEADERS.has(name) || name.startsWith('webhook-')) return `headers: must not set ${name}`
    if (value.length > WEBHOOK_BOUNDS.headerValueLength || !HEADER_VALUE.test(value)) {
      return `headers: must give ${name} 1 to ${WEBHOOK_BOUNDS.headerValueLength} visible ASCII characters`
    }
  }
  return undefined
}

/** The fault of settings that are each within their bounds; undefined when they fit together. */
export function settingsFault(settings: WebhookSettings): string | undefined {
  const { acceptsCommands, batch, caCertificate, url } = settings
  if (acceptsCommands && batch !== undefined) {
    return 'acceptsCommands: needs requests of one event, without a batch'
  }
  if (caCertificate === undefined) return undefined
  const isPem = caCertificate.length <= WEBHOOK_BOUNDS.caLength && /-----BEGIN CERTIFICATE-----/.test(caCertificate)
  if (!isPem) return 'caCertificate: must be certificates in PEM'
  return /^http:/i.test(url) ? 'caCertificate: needs an address that begins with https://' : undefined
}

/** The name of the host without the brackets of an IPv6 address, and whether it is an address. */
export function hostOf(url: URL): { readonly host: string; readonly isAddress: boolean } {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return { host, isAddress: isIP(host) !== 0 }
}
