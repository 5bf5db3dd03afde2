/** The credential of brokers of other projects: a secret of the operator. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Caller } from './caller.ts'
import { RequestRefused } from './errors.ts'
import { isLocalPeer } from './local-peer.ts'

/** A header is not longer; longer ones are not read. */
const MAXIMUM_HEADER_CHARACTERS = 1_024

/**
 * The foreign broker behind a request: it sends the secret as the password of Basic authentication
 * (RFC 7617) with any user name, or as a bearer token (RFC 6750). Without secrets a program of this
 * machine is let in. Throws the refusal otherwise: an answer would tell a stranger whether a token
 * is good.
 */
export function foreignBroker(request: FastifyRequest, secrets: readonly string[]): Caller {
  const isLetIn = secrets.length === 0 ? isLocalPeer(request) : isSecret(request.headers, secrets)
  if (isLetIn) return { kind: 'foreignBroker' }
  const message = 'this needs the secret of the broker hooks, by Basic authentication or as a bearer token'
  const headers = { 'www-authenticate': 'Basic realm="fieldgate", charset="UTF-8"' }
  throw new RequestRefused('unauthenticated', message, 'broker_hook_secret_wrong', { headers })
}

function isSecret(headers: IncomingHttpHeaders, secrets: readonly string[]): boolean {
  const given = secretIn(headers['grpc-metadata-authorization'] ?? headers.authorization)
  if (given === undefined) return false
  const actual = hashOf(given)
  // All are compared, so that the time tells nothing.
  return secrets.map((secret) => timingSafeEqual(actual, hashOf(secret))).includes(true)
}

function secretIn(authorization: string | string[] | undefined): string | undefined {
  if (typeof authorization !== 'string' || authorization.length > MAXIMUM_HEADER_CHARACTERS) return undefined
  const [, scheme = '', value = ''] = /^(basic|bearer) +([A-Za-z0-9._~+/=-]+) *$/i.exec(authorization) ?? []
  if (scheme.toLowerCase() === 'bearer') return value
  const pair = Buffer.from(value, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  return colon < 0 ? undefined : pair.slice(colon + 1)
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
