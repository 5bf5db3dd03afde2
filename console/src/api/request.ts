/**
 * The one way to the HTTP interface: JSON both ways, the session's token, and refusals as values
 * with a sentence.
 */
import { session } from '../session/session.ts'

/** A request that did not come to its success. */
export class ApiFailure extends Error {
  /** HTTP status; 0 when no answer came. */
  readonly status: number
  /** Stable code of docs/errors.md; `unreachable` when no answer came. */
  readonly reason: string
  /** The line at fault in a text that was sent, from 1; undefined where the refusal names none. */
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
 * Whether a request failed because the session is over: then signing in is offered, and there is
 * nothing to mend.
 */
export function isSessionEnd(error: unknown): boolean {
  return error instanceof ApiFailure && error.status === 401 && SESSION_ENDS.has(error.reason)
}

interface RequestOptions {
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
  /** A one-time code of the second factor. */
  readonly otp?: string
  /** In the place of the session's token. */
  readonly token?: string
  readonly signal?: AbortSignal
  /** Lets the request outlive the page. */
  readonly keepalive?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/** Codes that say that the session is over, whatever was asked. */
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
 * Sends a request and answers its body. Throws `ApiFailure`; a session that is over also ends on
 * this side.
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

async function answerTo(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiFailure(0, 'unreachable', 'The service can’t be reached. Check the network and try again.')
  }
}

/**
 * What an answer that is no success says. A session that is over, `isOfSession` being true, also
 * ends on this side.
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

/** `?limit=25`; "" where nothing is asked. Members without a value are left out. */
export function queryText(query: RequestOptions['query']): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== '')
  if (given.length === 0) return ''
  return `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`
}
