/**
 * The few endpoints of the service that the SDK needs, with their answers typed and their refusals
 * as `FieldgateError`.
 */
import { asFieldgateError, FieldgateError } from './errors.ts'
import type { HttpAnswer, HttpRequest } from './platform.ts'

/** The longest time that one request may take, in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000
/** The items of one page of a list: the service's maximum. */
const PAGE = 1000
/** Pages of one list that are read. A longer list is cut, and the caller is told by its length. */
const MAXIMUM_PAGES = 20

export type Send = (request: HttpRequest) => Promise<HttpAnswer>

/** How a user proves who it is. */
export type Credential =
  | { readonly apiKey: string }
  | {
      readonly username: string
      readonly password: string
      /** A one-time code of the second factor, or a function that gives the present one. */
      readonly otp?: string | (() => string | Promise<string>)
    }

/** The state of one command, as `GET /api/devices/{devEui}/queue` lists it. */
export interface ListedCommand {
  readonly id: string
  readonly state: string
  readonly code: string
  readonly error: string
  readonly transmittedAt: string | null
}

type Json = Readonly<Record<string, unknown>>

export class HttpApi {
  readonly #base: string
  readonly #credential: Credential
  readonly #send: Send
  readonly #signal: AbortSignal
  #session: string | undefined = undefined

  constructor(base: URL, credential: Credential, send: Send, signal: AbortSignal) {
    this.#base = base.href.replace(/\/$/, '')
    this.#credential = credential
    this.#send = send
    this.#signal = signal
  }

  /** A broker token by endpoint 4, which opens one organization. */
  async brokerToken(organizationId: string, members: Json): Promise<string> {
    const answer = await this.#asked('POST', '/api/mosquitto-auth/login', { organizationId, ...members })
    return textOf(answer, 'jwtMqttAuth')
  }

  /** The ids of all organizations that the credential opens; at most two are needed. */
  async organizationIds(): Promise<readonly string[]> {
    const answer = await this.#asked('GET', '/api/organizations?limit=2')
    return listOf(answer, 'result').map((organization) => textOf(organization, 'id'))
  }

  /** The ids of the organization's applications. */
  async applicationIds(organizationId: string): Promise<readonly string[]> {
    const ids: string[] = []
    for (let page = 0; page < MAXIMUM_PAGES; page += 1) {
      const query = `organizationID=${encodeURIComponent(organizationId)}&limit=${PAGE}&offset=${page * PAGE}`
      const found = listOf(await this.#asked('GET', `/api/applications?${query}`), 'result')
      ids.push(...found.map((application) => textOf(application, 'id')))
      if (found.length < PAGE) break
    }
    return ids
  }

  /** The id of the device's application. */
  async applicationOf(devEui: string): Promise<string> {
    const answer = await this.#asked('GET', `/api/devices/${encodeURIComponent(devEui)}`)
    return textOf(objectOf(answer['device'] ?? answer), 'applicationID')
  }

  /** The id of the newest stored event of an application; undefined where none is stored. */
  async newestEventId(applicationId: string): Promise<string | undefined> {
    const path = `/api/applications/${encodeURIComponent(applicationId)}/events?limit=1&order=newest`
    const [newest] = listOf(await this.#asked('GET', path), 'result')
    return newest === undefined ? undefined : textOf(newest, 'id')
  }

  /** The state of one command; undefined where the service does not keep it any more. */
  async command(devEui: string, id: string): Promise<ListedCommand | undefined> {
    const answer = await this.#asked('GET', `/api/devices/${encodeURIComponent(devEui)}/queue`)
    const found = listOf(answer, 'deviceQueueItems').find((item) => item['id'] === id)
    if (found === undefined) return undefined
    const transmittedAt = found['transmittedAt']
    return {
      id,
      state: textOf(found, 'state'),
      code: textOf(found, 'code'),
      error: textOf(found, 'error'),
      transmittedAt: typeof transmittedAt === 'string' ? transmittedAt : null,
    }
  }

  /** Where the broker is; undefined where the credential may not ask. */
  async deployment(): Promise<{ readonly host: string; readonly port: number } | undefined> {
    try {
      const { mqttsHost, mqttsPort } = await this.#asked('GET', '/api/internal/deployment')
      if (typeof mqttsHost !== 'string' || typeof mqttsPort !== 'number') return undefined
      return { host: mqttsHost, port: mqttsPort }
    } catch (error) {
      const { status } = asFieldgateError(error)
      if (status === 401 || status === 403 || status === 404) return undefined
      throw error
    }
  }

  /** Sends a request with the credential; logs in where it must. */
  async #asked(method: 'GET' | 'POST', path: string, body?: Json): Promise<Json> {
    if ('apiKey' in this.#credential) return this.#call(method, path, this.#credential.apiKey, body)
    const hadSession = this.#session !== undefined
    this.#session ??= await this.#login(this.#credential)
    try {
      return await this.#call(method, path, this.#session, body)
    } catch (error) {
      // The session may have ended. A new one is refused in its own words.
      if (!hadSession || asFieldgateError(error).status !== 401) throw error
      this.#session = await this.#login(this.#credential)
      return this.#call(method, path, this.#session, body)
    }
  }

  async #login({ username, password, otp }: Exclude<Credential, { readonly apiKey: string }>): Promise<string> {
    const first = await this.#call('POST', '/api/internal/login', undefined, { username, password })
    const jwt = textOf(first, 'jwt')
    if (first['is2faRequired'] !== true) return jwt
    if (otp === undefined)
      throw new FieldgateError('otp_missing', 'the user has a second factor, and `otp` is not given')
    const code = typeof otp === 'string' ? otp : await otp()
    const second = await this.#call('POST', '/api/internal/login-2fa', jwt, {}, { 'grpc-metadata-x-otp': code })
    return textOf(second, 'jwt')
  }

  async #call(
    method: 'GET' | 'POST',
    path: string,
    token: string | undefined,
    body: Json | undefined,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Json> {
    const headers: Record<string, string> = { accept: 'application/json', ...more }
    if (token !== undefined) headers['authorization'] = `Bearer ${token}`
    if (body !== undefined) headers['content-type'] = 'application/json'
    const limit = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    const answer = await this.#sent({
      method,
      url: this.#base + path,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.any([this.#signal, limit]),
    })
    if (answer.status >= 200 && answer.status < 300) return objectOf(parsed(answer.text))
    throw refusalOf(answer, path)
  }

  async #sent(request: HttpRequest): Promise<HttpAnswer> {
    try {
      return await this.#send(request)
    } catch (error) {
      const sentence = error instanceof Error ? error.message : String(error)
      const code = isCertificateFault(error) ? 'certificate_refused' : 'service_unreachable'
      throw new FieldgateError(code, `${request.url}: ${sentence}`, { isTemporary: true, cause: error })
    }
  }
}

/** The refusal of the service, or of a program before it that answers no JSON. */
function refusalOf({ status, retryAfter, text }: HttpAnswer, path: string): FieldgateError {
  const body = objectOf(parsed(text))
  const [detail] = listOf(body, 'details')
  const reason = detail?.['reason']
  const message = body['message']
  const retryAfterMs = Number(retryAfter) * 1000
  return new FieldgateError(
    typeof reason === 'string' ? reason : `http_${status}`,
    typeof message === 'string' ? message : `${path} was answered ${status}`,
    {
      status,
      isTemporary: status >= 500 || status === 429 || status === 408,
      ...(retryAfterMs > 0 ? { retryAfterMs } : {}),
    },
  )
}

/** `fetch` wraps the error of the network. */
function isCertificateFault(error: unknown): boolean {
  const { code, cause } = Object(error) as { readonly code?: unknown; readonly cause?: unknown }
  if (typeof code === 'string' && /CERT|UNABLE_TO_(?:VERIFY|GET_ISSUER)/.test(code)) return true
  return cause !== undefined && isCertificateFault(cause)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

function listOf(object: Json, member: string): readonly Json[] {
  const list = object[member]
  return Array.isArray(list) ? list.map(objectOf) : []
}

function textOf(object: Json, member: string): string {
  const value = object[member]
  if (typeof value === 'string') return value
  throw new FieldgateError('answer_not_understood', `the service answered without the member ${member}`, {
    isTemporary: true,
  })
}
