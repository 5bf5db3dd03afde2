/**
 * The sender of each request. `Grpc-Metadata-Authorization: Bearer <jwt>` is looked at first, plain
 * `Authorization` where it is missing. Every route says in its `config.may` who may use it, and by
 * which credential; the server does not start with a route that does not say it.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest, RouteOptions } from 'fastify'
import assert from 'node:assert/strict'
import { API_KEY_PREFIX } from '../../identity/tokens/api-key-text.ts'
import { metricsTokenPrefix } from '../../identity/tokens/metrics-tokens.ts'
import type { Registry } from '../../identity/registry.ts'
import type { Viewer } from '../../identity/store/result.ts'
import type { SessionClaims } from '../../identity/tokens/tokens.ts'
import { accepted, RequestRefused } from './errors.ts'
import { foreignBroker } from './foreign-broker-secret.ts'
import { isLocalPeer } from './local-peer.ts'
import type { Access } from './access.ts'
import type { Caller, Credential } from './caller.ts'
import type { HttpApp } from './http-app.ts'
import type { RequestGate } from './request-gate.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The right to use the route; `addRoutes` sets it. */
    may?: Access
    /** Set on the routes that answer 405. */
    refusesMethod?: true
  }
  interface FastifyInstance {
    /** Every route with the credential that it takes, but not the routes that answer 405. */
    readonly accessPolicy: readonly RoutePolicy[]
  }
  interface FastifyRequest {
    /** Set before the body is read. Null on routes that take no credential. */
    caller: Caller | null
    /** The payer of the request's heavy work (`WorkTurns`); set before the handler runs. */
    turnsOf: string
  }
}

/** The credential that one route takes, and who may use the route. */
interface RoutePolicy {
  readonly method: string
  readonly url: string
  readonly credential: Credential
  readonly may: Access
}

/** The parts of the registry that this file needs. */
export type AuthenticationRegistry = Pick<Registry, 'tokens' | 'serviceCredentials' | 'metricsTokens' | 'apiKeys'>

/** Longer than any token of this service; a longer one is not worth a signature check. */
const MAXIMUM_TOKEN_LENGTH = 4096

/**
 * Checks the credential of every request before its body is read, and refuses to start with a route
 * that does not say who may use it. Requests without a good credential wait at the gate.
 */
export function authenticateRequests(
  app: HttpApp,
  registry: AuthenticationRegistry,
  gate: RequestGate,
  hookSecrets: readonly string[] = [],
): void {
  const accessPolicy: RoutePolicy[] = []
  app.decorate('accessPolicy', accessPolicy)
  app.decorateRequest('caller', null)
  app.decorateRequest('turnsOf', '')
  app.addHook('onRoute', ({ method, url, config }: RouteOptions) => {
    if (config?.refusesMethod === true) return
    const may = config?.may
    assert(may !== undefined, `the route ${String(method)} ${url} does not say who may use it`)
    for (const one of [method].flat()) accessPolicy.push({ method: one, url, credential: may.credential, may })
  })
  app.addHook('onRequest', async (request) => {
    const credential = request.routeOptions.config.may?.credential
    // Unknown paths answer 404 to everybody, and other methods 405.
    if (credential === undefined || credential === 'none') return gate.strangerCame(request)
    try {
      request.caller =
        credential === 'brokerHook'
          ? foreignBroker(request, hookSecrets)
          : await callerOf(request, credential, registry)
    } catch (error) {
      await gate.strangerCame(request)
      throw error
    }
    return undefined
  })
}

/**
 * The sender of a request, by a credential that is in force now. Throws a refusal where there is
 * none. Long answers call it again and again.
 */
export async function callerOf(
  request: FastifyRequest,
  credential: Exclude<Credential, 'none' | 'brokerHook'>,
  registry: AuthenticationRegistry,
): Promise<Caller> {
  if (credential === 'metrics') return metricsReader(request, registry)
  if (credential === 'serviceCredential') return networkServer(request.headers, registry)
  const jwt = bearerToken(request.headers)
  const isKey = jwt.startsWith(API_KEY_PREFIX)
  switch (credential) {
    case 'secondFactorStep': {
      const claims = accepted(await registry.tokens.verifySecondFactorStep(jwt))
      return { kind: 'secondFactorStep', userId: claims.userId }
    }
    case 'sessionOrBrokerAccess':
      return isKey ? apiKeyOf(jwt, request, registry) : sessionOrBrokerAccess(jwt, registry)
    case 'session':
      return isKey ? apiKeyOf(jwt, request, registry) : sessionOf(jwt, registry)
  }
}

/**
 * A key of the whole deployment sees all organizations, as its maker does. Every other key sees its
 * own, and never as a global admin, whoever made it.
 */
async function apiKeyOf(
  text: string,
  { ip }: Pick<FastifyRequest, 'ip'>,
  registry: AuthenticationRegistry,
): Promise<Caller> {
  const key = await registry.apiKeys.authenticate(text, ip)
  if (key !== undefined) {
    const viewer = { userId: key.makerUserId, isAdmin: key.organizationId === null, apiKey: key }
    return { kind: 'apiKey', viewer, key }
  }
  // One answer for every key that is not in force: nobody learns which keys there were.
  throw new RequestRefused('unauthenticated', 'the API key is not known here, or not in force', 'api_key_wrong')
}

async function sessionOf(jwt: string, registry: AuthenticationRegistry): Promise<Caller> {
  return { kind: 'session', viewer: viewerIn(accepted(await registry.tokens.verifySession(jwt))) }
}

/**
 * A metrics token is looked at from the loopback interface too: its last use is noted, and one that
 * was revoked is refused.
 */
async function metricsReader(request: FastifyRequest, registry: AuthenticationRegistry): Promise<Caller> {
  const { authorization } = request.headers
  const hasToken = authorization?.includes(metricsTokenPrefix) === true
  if (!hasToken && isLocalPeer(request)) return { kind: 'loopback' }
  const token = bearerToken(request.headers)
  if (token.startsWith(API_KEY_PREFIX)) return apiKeyOf(token, request, registry)
  if (!token.startsWith(metricsTokenPrefix)) return sessionOf(token, registry)
  if (await registry.metricsTokens.authenticate(token)) return { kind: 'metricsToken' }
  throw new RequestRefused('unauthenticated', 'the metrics token is unknown or was revoked', 'metrics_token_wrong')
}

function viewerIn({ userId, isAdmin, isOperator }: SessionClaims): Viewer {
  return { userId, isAdmin, isOperator }
}

/** RFC 7617: user name and password in base64, in UTF-8. */
async function networkServer(
  { authorization }: IncomingHttpHeaders,
  registry: AuthenticationRegistry,
): Promise<Caller> {
  const encoded =
    authorization === undefined ? undefined : /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization)?.[1]
  const pair =
    encoded === undefined || encoded.length > MAXIMUM_TOKEN_LENGTH ? undefined : Buffer.from(encoded, 'base64')
  const colon = pair?.indexOf(0x3a) ?? -1
  if (pair === undefined || colon < 0) throw credentialRefused()
  const userName = pair.subarray(0, colon).toString('utf8')
  const known = await registry.serviceCredentials.authenticate(userName, pair.subarray(colon + 1))
  if (known === undefined) throw credentialRefused()
  return { kind: 'networkServer', credentialId: known.id, organizationId: known.organizationId }
}

/** One answer for a credential that is missing, unknown or wrong. */
function credentialRefused(): RequestRefused {
  const message = 'this needs the user name and password of a service credential, by Basic authentication'
  const headers = { 'www-authenticate': 'Basic realm="fieldgate", charset="UTF-8"' }
  return new RequestRefused('unauthenticated', message, 'service_credential_wrong', { headers })
}

async function sessionOrBrokerAccess(jwt: string, registry: AuthenticationRegistry): Promise<Caller> {
  const session = await registry.tokens.verifySession(jwt)
  if (session.ok) {
    return { kind: 'session', viewer: viewerIn(session.value) }
  }
  const brokerAccess = await registry.tokens.verifyBrokerAccess(jwt)
  // The refusal of the check that knows this kind of token says more.
  const telling = !brokerAccess.ok && brokerAccess.reason === 'token_wrong_audience' ? session : brokerAccess
  const claims = accepted(telling)
  assert('organizationId' in claims)
  const { userId, organizationId, scope } = claims
  return { kind: 'brokerAccess', userId, organizationId, scope }
}

/** The bearer token of a request; refuses where it is missing or can't be one. */
export function bearerToken(headers: IncomingHttpHeaders): string {
  const value = headers['grpc-metadata-authorization'] ?? headers.authorization
  if (value === undefined) {
    throw new RequestRefused('unauthenticated', 'a bearer token is missing', 'token_missing')
  }
  // A header that was sent twice arrives joined by a comma, which no token contains.
  const token = typeof value === 'string' ? /^bearer +([A-Za-z0-9._-]+) *$/i.exec(value)?.[1] : undefined
  if (token === undefined || token.length > MAXIMUM_TOKEN_LENGTH) {
    const message = 'the authorization header must be "Bearer", a space and a token'
    throw new RequestRefused('unauthenticated', message, 'token_malformed')
  }
  return token
}
