/**
 * One request to a receiver of a webhook. The address comes from a tenant, and so may the receiver
 * be hostile: addresses that must not be called are refused after the name was looked up, redirects
 * are not followed, no proxy is used, and the time and the answer are bounded.
 */
import { Resolver } from 'node:dns/promises'
import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import type { IncomingMessage, RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { Clock } from '../../clock.ts'
import { hostOf } from '../../webhook-settings.ts'
import type { CallableAddresses } from './callable-addresses.ts'

/** A request, ready to be sent. */
export interface WebhookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** PEM of the certificate authorities, in the place of the system's. */
  readonly ca: string | undefined
  /** The time for all of it: the look-up of the name, the connection, the whole answer. */
  readonly timeoutMs: number
}

/** The answer of a receiver. */
export interface WebhookAnswer {
  readonly kind: 'answered'
  readonly status: number
  readonly contentType: string
  /** The first 16 KiB of the body. */
  readonly body: Buffer
  /** True: the body is longer, and was not read to its end. */
  readonly isCut: boolean
  /** The value of `Retry-After` in ms; undefined: the answer does not say. */
  readonly retryAfterMs: number | undefined
}

/** No answer came. */
export interface WebhookFailure {
  readonly kind: 'failed'
  readonly code:
    | 'webhook_address_forbidden'
    | 'webhook_name_unknown'
    | 'webhook_timeout'
    | 'webhook_tls_failed'
    | 'webhook_unreachable'
  /** A sentence for people. */
  readonly reason: string
}

export type WebhookOutcome = WebhookAnswer | WebhookFailure

/** The addresses of a name, of both families. Rejects for a name without any. */
export type LookUp = (host: string, timeoutMs: number) => Promise<readonly string[]>

export interface WebhookClientOptions {
  readonly addresses: CallableAddresses
  readonly clock: Clock
  readonly userAgent: string
  /** Absent: the machine's DNS servers are asked. */
  readonly lookUp?: LookUp
}

/** Bytes of an answer that are read: enough for a command. The rest is not read. */
const MAXIMUM_ANSWER_BYTES = 16_384
/**
 * Answers with a status of 1xx that may come before the answer (RFC 9110 §15.2). A receiver that
 * sends them without end would keep the event loop busy for the whole time of the request.
 */
const MAXIMUM_INTERIM_ANSWERS = 8
/** Connections that stay open between requests to one receiver. */
const MAXIMUM_FREE_SOCKETS = 4
/** A connection without a request is closed after this time, before most receivers close it. */
const IDLE_MS = 4_000
/** A receiver may ask for a pause of an hour, and no longer. */
const MAXIMUM_RETRY_AFTER_MS = 3_600_000

/** The connection was closed before the request reached its receiver. */
const STALE = 'stale'

type TlsRequestOptions = RequestOptions & { readonly servername?: string; readonly ca?: string }

/** Where a request goes. */
interface Target {
  readonly url: URL
  /** The address that was checked. */
  readonly address: string
  /** The name that a certificate must have; undefined: the address itself. */
  readonly serverName: string | undefined
}

const FORBIDDEN: WebhookFailure = {
  kind: 'failed',
  code: 'webhook_address_forbidden',
  reason: 'the address of the receiver is not public, and the operator has not allowed its network',
}
const TIMEOUT: WebhookFailure = {
  kind: 'failed',
  code: 'webhook_timeout',
  reason: 'the receiver did not answer completely in time',
}

/** Sends the requests of one webhook. It has connections of its own. */
export class WebhookClient {
  readonly #options: WebhookClientOptions
  readonly #plain = new HttpAgent({ keepAlive: true, maxFreeSockets: MAXIMUM_FREE_SOCKETS, timeout: IDLE_MS })
  readonly #tls = new HttpsAgent({ keepAlive: true, maxFreeSockets: MAXIMUM_FREE_SOCKETS, timeout: IDLE_MS })
  readonly #lookUp: LookUp

  constructor(options: WebhookClientOptions) {
    this.#options = options
    this.#lookUp = options.lookUp ?? askDns
  }

  /** Sends the request. Never rejects. An abort by the signal is answered like a timeout. */
  async send(request: WebhookRequest, aborted?: AbortSignal): Promise<WebhookOutcome> {
    const ending = new AbortController()
    const end = (): void => ending.abort()
    const cancel = this.#options.clock.after(request.timeoutMs, end)
    aborted?.addEventListener('abort', end, { once: true })
    if (aborted?.aborted === true) end()
    try {
      const timeout = new Promise<WebhookOutcome>((resolve) => {
        if (ending.signal.aborted) resolve(TIMEOUT)
        ending.signal.addEventListener('abort', () => resolve(TIMEOUT), { once: true })
      })
      return await Promise.race([this.#send(request, ending.signal), timeout])
    } finally {
      cancel()
      aborted?.removeEventListener('abort', end)
      // Ends a request that is still under way.
      if (!ending.signal.aborted) end()
    }
  }

  /** Ends the connections. */
  close(): void {
    this.#plain.destroy()
    this.#tls.destroy()
  }

  async #send(request: WebhookRequest, signal: AbortSignal): Promise<WebhookOutcome> {
    const url = new URL(request.url)
    const { host, isAddress } = hostOf(url)
    let found: readonly string[]
    try {
      found = isAddress ? [host] : await this.#lookUp(host, request.timeoutMs)
    } catch {
      return { kind: 'failed', code: 'webhook_name_unknown', reason: `the name ${host} has no address` }
    }
    // The connection goes to this very address: the name is not looked up again, so that no later
    // answer of its DNS server can lead inside (DNS rebinding).
    const address = found.find((one) => this.#options.addresses.has(one))
    if (address === undefined) return FORBIDDEN
    if (signal.aborted) return TIMEOUT
    return this.#exchange(request, { url, address, serverName: isAddress ? undefined : host }, signal)
  }

  async #exchange(request: WebhookRequest, target: Target, signal: AbortSignal): Promise<WebhookOutcome> {
    const options = this.#optionsOf(request, target)
    const isTls = target.url.protocol === 'https:'
    const body = Buffer.from(request.body)
    const outcome = await this.#post({ ...options, agent: isTls ? this.#tls : this.#plain }, isTls, body, signal)
    if (outcome !== STALE) return outcome
    const again = await this.#post({ ...options, agent: false }, isTls, body, signal)
    return again === STALE ? failureOf(new Error('the connection ended')) : again
  }

  #optionsOf({ headers, body, ca }: WebhookRequest, { url, address, serverName }: Target): TlsRequestOptions {
    const isTls = url.protocol === 'https:'
    return {
      method: 'POST',
      host: address,
      port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
      path: `${url.pathname}${url.search}`,
      setHost: false,
      headers: {
        ...headers,
        host: url.host,
        accept: '*/*',
        'accept-encoding': 'identity',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body).toString(),
        'user-agent': this.#options.userAgent,
      },
      ...(isTls && serverName !== undefined ? { servername: serverName } : {}),
      ...(isTls && ca !== undefined ? { ca } : {}),
    }
  }

  #post(
    options: TlsRequestOptions,
    isTls: boolean,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<WebhookOutcome | typeof STALE> {
    return new Promise((resolve) => {
      const sent = (isTls ? requestHttps : requestHttp)(options)
      let isSettled = false
      const settle = (outcome: WebhookOutcome | typeof STALE): void => {
        if (isSettled) return
        isSettled = true
        resolve(outcome)
        // Nothing is read after the outcome.
        if (outcome === STALE || outcome.kind === 'failed' || outcome.isCut) sent.destroy()
      }
      signal.addEventListener('abort', () => settle(TIMEOUT), { once: true })
      sent.on('error', (error: NodeJS.ErrnoException) => {
        // The receiver has closed a connection that was open between two requests.
        const isStale = sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
        settle(isStale ? STALE : failureOf(error))
      })
      let interimAnswers = 0
      const noteInterim = (): void => {
        interimAnswers += 1
        if (interimAnswers > MAXIMUM_INTERIM_ANSWERS) settle(failureOf(new Error('only interim answers came')))
      }
      sent.on('continue', noteInterim)
      sent.on('information', noteInterim)
      sent.on('response', (response) => {
        // The second look: the connection must have gone where it was sent.
        const peer = response.socket.remoteAddress
        if (peer !== undefined && !this.#options.addresses.has(peer)) settle(FORBIDDEN)
        else this.#read(response, settle)
      })
      sent.end(body)
    })
  }

  #read(response: IncomingMessage, settle: (outcome: WebhookOutcome) => void): void {
    const chunks: Buffer[] = []
    let size = 0
    const done = (isCut: boolean): void => {
      const { statusCode = 0, headers } = response
      const retryAfterMs = retryAfterOf(headers['retry-after'], this.#options.clock.now())
      const body = Buffer.concat(chunks).subarray(0, MAXIMUM_ANSWER_BYTES)
      const contentType = headers['content-type'] ?? ''
      settle({ kind: 'answered', status: statusCode, contentType, body, isCut, retryAfterMs })
    }
    response.on('data', (chunk: Buffer) => {
      if (size >= MAXIMUM_ANSWER_BYTES) return
      chunks.push(chunk)
      size += chunk.length
      if (size >= MAXIMUM_ANSWER_BYTES) done(true)
    })
    response.on('end', () => done(false))
    response.on('error', (error: NodeJS.ErrnoException) => settle(failureOf(error)))
    response.on('close', () => settle(failureOf(new Error('the connection ended within the answer'))))
  }
}

/** Seconds, or a date (RFC 9110 §10.2.3). */
function retryAfterOf(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value.slice(0, 64)) - nowMs
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAXIMUM_RETRY_AFTER_MS) : undefined
}

function failureOf(error: NodeJS.ErrnoException): WebhookFailure {
  const code = error.code ?? ''
  const isTls = /CERT|SSL|TLS|ALTNAME|SELF_SIGNED|ISSUER|SIGNATURE/.test(code)
  // The texts of errors can repeat what the receiver sent, so that their codes alone are told.
  const detail = /^[A-Z0-9_]{1,64}$/.test(code) ? ` (${code})` : ''
  if (isTls) {
    const reason = `the receiver’s certificate or its TLS can’t be accepted${detail}`
    return { kind: 'failed', code: 'webhook_tls_failed', reason }
  }
  return { kind: 'failed', code: 'webhook_unreachable', reason: `the receiver can’t be reached${detail}` }
}

/**
 * Asks the machine's DNS servers by sockets. The look-up of the system would take one of the few
 * threads that the disk needs as well, and a tenant's DNS server decides how long it takes.
 */
async function askDns(host: string, timeoutMs: number): Promise<readonly string[]> {
  // RFC 6761 §6.3: the name needs no DNS server.
  if (/^(?:.+\.)?localhost\.?$/i.test(host)) return ['127.0.0.1', '::1']
  const resolver = new Resolver({ timeout: Math.min(timeoutMs, 5_000), tries: 2 })
  const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const found = [...(ipv4.status === 'fulfilled' ? ipv4.value : []), ...(ipv6.status === 'fulfilled' ? ipv6.value : [])]
  if (found.length === 0) throw new Error('no address')
  return found
}
