/**
 * The one error body of the HTTP interface, `{"error", "code", "message", "details"}`, and the way
 * from everything that can go wrong (a refusal of the registry, of this room or of the framework,
 * an unexpected exception) to it.
 */
import { Type } from 'typebox'
import { isUnavailable } from '../../identity/store/registry-unavailable.ts'
import { isDamage, isWithoutRoom } from '../../identity/store/registry-health.ts'
import { NAME } from './schema-keywords.ts'
import type { RefusalCode as RegistryRefusalCode, Result } from '../../identity/store/result.ts'

/** The kind of a refusal. Each kind is one gRPC code and one HTTP status. */
type RefusalCode = RegistryRefusalCode | 'unimplemented' | 'internal' | 'unavailable'

/** gRPC code and HTTP status of every refusal code. */
const STATUS_OF: Readonly<Record<RefusalCode, { readonly code: number; readonly status: number }>> = {
  invalid_argument: { code: 3, status: 400 },
  not_found: { code: 5, status: 404 },
  already_exists: { code: 6, status: 409 },
  permission_denied: { code: 7, status: 403 },
  resource_exhausted: { code: 8, status: 429 },
  failed_precondition: { code: 9, status: 400 },
  unimplemented: { code: 12, status: 501 },
  internal: { code: 13, status: 500 },
  unavailable: { code: 14, status: 503 },
  unauthenticated: { code: 16, status: 401 },
}

/**
 * The body of every error answer. `error` and `message` are the same sentence, as clients of the
 * API family expect.
 */
export const ErrorBodySchema = Type.Object(
  {
    error: Type.String({ description: 'The same sentence as `message`.' }),
    code: Type.Integer({ minimum: 1, maximum: 16, description: 'gRPC status code.' }),
    message: Type.String({ description: 'What was refused and why, for a person.' }),
    details: Type.Array(
      Type.Object(
        {
          reason: Type.String({ description: 'Stable code of the reason, see docs/errors.md.' }),
          line: Type.Optional(Type.Integer({ description: 'Of script_not_parsed: the line of the script, from 1.' })),
          column: Type.Optional(Type.Integer({ description: 'Of script_not_parsed: the column, from 1.' })),
          vectors: Type.Optional(
            Type.Array(
              Type.Object(
                { name: Type.String(), expected: Type.String(), got: Type.String() },
                { description: 'A test vector that failed, with its outcome in words or JSON', [NAME]: 'FailedVector' },
              ),
              { description: 'Of codec_test_failed: the test vectors that failed.' },
            ),
          ),
        },
        { description: 'The reason in one word', [NAME]: 'ErrorDetail' },
      ),
    ),
  },
  {
    description: 'Error',
    examples: [
      {
        error: 'object does not exist',
        code: 5,
        message: 'object does not exist',
        details: [{ reason: 'object_not_found' }],
      },
    ],
    [NAME]: 'Error',
  },
)

interface ErrorBody {
  readonly error: string
  readonly code: number
  readonly message: string
  readonly details: readonly ({ readonly reason: string } & Place)[]
}

/** Where the fault is: in a text that was sent, counted from 1, or in test vectors. */
interface Place {
  readonly line?: number
  readonly column?: number
  readonly vectors?: readonly { readonly name: string; readonly expected: string; readonly got: string }[]
}

interface RefusalOptions {
  readonly statusCode?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly place?: Place
}

/**
 * An expected refusal on its way to the error handler. `reason` is a stable code of docs/errors.md;
 * `statusCode` overrides the status that belongs to the code (405, 413, 415).
 */
export class RequestRefused extends Error {
  readonly refusal: RefusalCode
  readonly reason: string
  readonly headers: Readonly<Record<string, string>>
  readonly statusCode: number
  readonly place: Place

  constructor(refusal: RefusalCode, message: string, reason: string, options: RefusalOptions = {}) {
    super(message)
    this.name = 'RequestRefused'
    this.refusal = refusal
    this.reason = reason
    this.headers = options.headers ?? {}
    this.statusCode = options.statusCode ?? STATUS_OF[refusal].status
    this.place = options.place ?? {}
  }
}

/**
 * Seconds after which a throttled caller may try again, by reason (`Retry-After`, RFC 9110
 * §10.2.3). A hint: the registry alone knows when its bounds open.
 */
const RETRY_AFTER_SECONDS: Readonly<Record<string, string>> = {
  login_throttled: '30',
  login_busy: '2',
  second_factor_locked: '60',
}

/** The value of a registry's answer; its refusal is thrown as `RequestRefused`. */
export function accepted<T>(result: Result<T>): T {
  if (result.ok) return result.value
  const retryAfter = RETRY_AFTER_SECONDS[result.reason]
  const headers: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
  throw new RequestRefused(result.code, result.message, result.reason, { headers })
}

/**
 * The answer for an id that does not exist, and for an id that belongs to another organization. The
 * two must not be told apart, so only this function makes the answer. Clients of the API family
 * match on the text.
 */
export function objectNotFound(): RequestRefused {
  return new RequestRefused('not_found', 'object does not exist', 'object_not_found')
}

/** The answer for a member of the organization whose role is too small. */
export function permissionDenied(message: string): RequestRefused {
  return new RequestRefused('permission_denied', message, 'role_too_small')
}

/** A wrong member of a body, a query or a path: `organizationId: must be a string of digits`. */
export function invalidArgument(message: string, reason = 'invalid_argument'): RequestRefused {
  return new RequestRefused('invalid_argument', message, reason)
}

/**
 * Everything that the server writes for a refused request. `unexpected` is true for a fault of the
 * service.
 */
export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: ErrorBody
  readonly unexpected: boolean
}

/**
 * The answer for anything thrown. An error that is neither a refusal nor a complaint of the
 * framework about the request becomes `internal`, without any detail of the fault inside.
 */
export function answerFor(error: unknown): ErrorAnswer {
  const refused = error instanceof RequestRefused ? error : frameworkRefusal(error)
  if (refused === undefined) {
    return answer(new RequestRefused('internal', 'internal error', 'internal'), true)
  }
  return answer(refused, false)
}

const CHALLENGE = 'Bearer realm="fieldgate"'

function answer(refused: RequestRefused, unexpected: boolean): ErrorAnswer {
  const { message, reason } = refused
  // Every 401 says how to do better (RFC 9110 §11.6.1).
  const challenge: Record<string, string> = refused.statusCode === 401 ? { 'www-authenticate': CHALLENGE } : {}
  // The body's shape is a contract; a link to the paragraph of the reason goes into a header of its
  // own (RFC 8288).
  const link = `</docs/errors#http-${reason}>; rel="help"`
  return {
    status: refused.statusCode,
    headers: { ...challenge, link, ...refused.headers },
    body: { error: message, code: STATUS_OF[refused.refusal].code, message, details: [{ reason, ...refused.place }] },
    unexpected,
  }
}

/**
 * The refusal for a complaint of the framework about a request, by its stable code, and for a full
 * disk, a damaged registry or one that is away.
 */
function frameworkRefusal(error: unknown): RequestRefused | undefined {
  if (isWithoutRoom(error)) {
    return new RequestRefused('unavailable', 'the disk is full: nothing was changed', 'registry_full')
  }
  if (isUnavailable(error)) {
    const message = 'the registry’s database can’t be reached, try again'
    return new RequestRefused('unavailable', message, 'registry_unavailable', { headers: { 'retry-after': '5' } })
  }
  if (isDamage(error)) {
    return new RequestRefused('unavailable', 'the registry is damaged: a backup must be restored', 'registry_damaged')
  }
  switch (textOf(error, 'code')) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new RequestRefused('resource_exhausted', 'the body is too large', 'body_too_large', { statusCode: 413 })
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new RequestRefused(
        'invalid_argument',
        'the Content-Type is not supported here; send application/json',
        'unsupported_media_type',
        { statusCode: 415 },
      )
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return invalidArgument('the body is not valid JSON', 'invalid_json')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalidArgument('the body is shorter or longer than its Content-Length', 'invalid_content_length')
    case 'FST_ERR_BAD_URL':
      return invalidArgument('the path is not a valid URL path', 'invalid_path')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return invalidArgument('a member of the path is too long', 'invalid_path')
    case 'FST_ERR_HANDLER_TIMEOUT':
      return new RequestRefused('unavailable', 'the request took too long', 'timeout')
    case undefined:
    default:
      return otherClientFault(error)
  }
}

/**
 * The refusal for a stream that ended early, or for a static file that is not there. Their status
 * tells them apart from faults of the service.
 */
function otherClientFault(error: unknown): RequestRefused | undefined {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  if (status === 404) return routeNotFound()
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return invalidArgument('the request could not be read', 'unreadable_request')
  }
  return undefined
}

/** The answer for an unknown path. */
export function routeNotFound(): RequestRefused {
  return new RequestRefused('not_found', 'no such path', 'route_not_found')
}

function textOf(error: unknown, member: string): string | undefined {
  if (!(error instanceof Error) || !(member in error)) return undefined
  const value: unknown = Reflect.get(error, member)
  return typeof value === 'string' ? value : undefined
}
