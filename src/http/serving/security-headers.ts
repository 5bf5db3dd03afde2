/**
 * Headers that every answer carries, and cross-origin access, which is off unless origins are
 * named.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpApp } from '../api/http-app.ts'

/** The settings on which the headers depend. */
export interface SecurityHeaderSettings {
  /** Origins (`https://console.example.org`) whose pages may call this API; none by default. */
  readonly allowedOrigins?: readonly string[]
  /**
   * Sends HSTS (RFC 6797). Off by default: after a browser has seen HSTS, its user can no longer
   * accept a certificate of an unknown CA.
   */
  readonly strictTransportSecurity?: boolean
}

/** Answers of the API are data: nothing in them may run, load or be framed. */
const API_CONTENT_SECURITY_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

const CORS_METHODS = 'GET, POST, PUT, DELETE'
const CORS_HEADERS = 'Authorization, Content-Type, Grpc-Metadata-Authorization, Grpc-Metadata-X-OTP'

/**
 * Adds the headers to every answer, errors and unknown paths included, and answers preflights of
 * allowed origins.
 */
export function addSecurityHeaders(app: HttpApp, settings: SecurityHeaderSettings): void {
  const allowedOrigins = new Set(settings.allowedOrigins)
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({
      'content-security-policy': API_CONTENT_SECURITY_POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      // Answers hold tokens, names and addresses; no cache on the way may keep them.
      'cache-control': 'no-store',
    })
    if (settings.strictTransportSecurity === true) {
      reply.header('strict-transport-security', 'max-age=31536000')
    }
    if (allowedOrigins.size > 0) return allowOrigin(request, reply, allowedOrigins)
    return undefined
  })
}

function allowOrigin(
  request: FastifyRequest,
  reply: FastifyReply,
  allowedOrigins: ReadonlySet<string>,
): FastifyReply | undefined {
  reply.header('vary', 'Origin')
  const origin = request.headers.origin
  if (origin === undefined || !allowedOrigins.has(origin)) return undefined
  reply.headers({ 'access-control-allow-origin': origin, 'cross-origin-resource-policy': 'cross-origin' })
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return undefined
  return reply
    .code(204)
    .headers({
      'access-control-allow-methods': CORS_METHODS,
      'access-control-allow-headers': CORS_HEADERS,
      'access-control-max-age': '600',
    })
    .send()
}
