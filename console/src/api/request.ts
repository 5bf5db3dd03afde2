/**
 * The one way to the HTTP interface: JSON in both directions, the session's token, and refusals as
 * errors with a sentence.
 */
import { session } from '../session/session.ts'

/** A request that failed. */
export class ApiFailure extends Error {
  /** The HTTP status; 0 where the service did not answer. */
  readonly status: number
  /** A stable code of docs/errors.md; `unreachable` where the service did not answer. */
  readonly reason: string
  /**
   * The number of the line with the fault in a text of the request, from 1; undefined where the
   * refusal names none.
   */
  readonly line: number | undefined

  constructor(status: number, reason: string, message: string, line?: number) {
    super(message)
    this.name = 'ApiFailure'
    this.status = status
    this.reason = reason
    this.line = line
  }
}

/**
 * True where a request failed because the session is over. The sign-in is shown then, so the error
 * needs no other words.
 */
export function isSessionEnd(error: unknown): boolean {
  return error instanceof ApiFailure && error.status === 401 && SESSION_ENDS.has(error.reason)
}

interface RequestOptions {
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
  /** A one-time code of the second factor. */
  readonly otp?: string
  /** A token that is sent in the place of the session's token. */
  readonly token?: string
  readonly signal?: AbortSignal
  /** Lets the request outlive the page. */
  readonly keepalive?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/** Codes that mean, for every request, that the session is over. */
const SESSION_ENDS: ReadonlySet<string> = new Set([
  'token_missing',
  'token_malformed',
  'token_signature_invalid',
  'token_expired',
  'token_wrong_audience',
  'token_revoked',
  'user_inactive',
])

/**
 * Sends a request and answers its body. Throws `ApiFailure`. A session that the service does not
 * accept any more is ended here too.
 */
export async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  const token = options.token ?? session.token()
  const response = await answerTo(path + queryText(options.query), {
    method,
    headers: {
      accept: 'application/json',
      ...(token === undefined ? {} : { 'grpc-metadata-authorization': `Bearer ${token}` }),
      ...(options.otp === undefined ? {} : { 'grpc-metadata-x-otp': options.otp }),
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    keepalive: options.keepalive ?? false,
    credentials: 'same-origin',
  })
  const answer: unknown = await response.json().catch(() => undefined)
  if (response.ok) return answer as T
  throw refusalOf(response.status, answer, options.token === undefined)
}

/** Reads a file of the service. Throws as `request` does. */
export async function download(path: string, query: NonNullable<RequestOptions['query']>): Promise<Blob> {
  const headers = { 'grpc-metadata-authorization': `Bearer ${session.token() ?? ''}` }
  const response = await answerTo(path + queryText(query), { method: 'GET', headers, credentials: 'same-origin' })
  if (response.ok) return response.blob()
  throw refusalOf(response.status, await response.json().catch(() => undefined))
}

async function answerTo(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiFailure(0, 'unreachable', 'The service can’t be reached. Check the network and try again.')
  }
}

/**
 * The error for an answer that is not a success. With `isOfSession`, an answer that the session is
 * over ends the session here too.
 */
export function refusalOf(status: number, answer: unknown, isOfSession = true): ApiFailure {
  const { message, details } = (answer ?? {}) as { message?: unknown; details?: { reason?: unknown; line?: unknown }[] }
  const { reason, line } = details?.[0] ?? {}
  const sentence = typeof message === 'string' ? message : `The service answered with status ${status}.`
  const failure = new ApiFailure(
    status,
    typeof reason === 'string' ? reason : 'unknown',
    sentence,
    typeof line === 'number' ? line : undefined,
  )
  if (isOfSession && isSessionEnd(failure)) session.expire()
  return failure
}

/**
 * The query of an address, such as `?limit=25`; "" where it is empty. Members without a value are
 * left out.
 */
export function queryText(query: RequestOptions['query']): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== '')
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`
}
