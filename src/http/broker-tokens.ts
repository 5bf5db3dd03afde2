/** Broker-access tokens that are alive: listing and revoking them. */
import { Type } from 'typebox'
import type { BrokerAccess } from '../identity/tokens.ts'
import { viewerOf } from './authenticate.ts'
import { accepted, objectNotFound } from './errors.ts'
import {
  Empty,
  givenId,
  listOf,
  opaqueId,
  optionalId,
  PagingQuery,
  pageOf,
  responses,
  timestamp,
  Timestamp,
  TimestampOrNull,
  written,
} from './fields.ts'
import type { HttpApp } from './http-app.ts'
import type { BrokerAccessRegistry } from './mosquitto-auth.ts'
import { SESSION_SECURITY } from './openapi.ts'
import { roleIn } from './ownership.ts'
import { demand, mayDo } from './permissions.ts'

const TokenItem = Type.Object(
  {
    id: Type.String(),
    userID: Type.String(),
    organizationID: Type.String(),
    issuedAt: Timestamp,
    expiresAt: Timestamp,
    lastUsedAt: TimestampOrNull,
  },
  { description: 'Broker-access token; the JWT itself is not kept.' },
)

/** Registers the routes of broker-access tokens. */
export function addBrokerTokenRoutes(app: HttpApp, registry: BrokerAccessRegistry): void {
  listTokens(app, registry)
  revokeToken(app, registry)
}

const config = { credential: 'session' } as const
const common = { tags: ['Broker access'], security: SESSION_SECURITY }

function listTokens(app: HttpApp, registry: BrokerAccessRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/broker-tokens',
    config,
    schema: {
      ...common,
      summary: 'List broker-access tokens',
      description:
        'Those that are neither expired nor revoked, newest first. Without organizationID the caller’s own; with it the ' +
        'caller’s own in that organization, and for its admins everybody’s.',
      querystring: Type.Object({ ...PagingQuery, organizationID: optionalId('Organization id.') }),
      response: responses(listOf(TokenItem, 'Broker-access tokens')),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const page = pageOf(request.query)
      const organizationId = givenId(request.query.organizationID)
      if (organizationId === undefined) {
        return written(await registry.tokens.listBrokerAccess({ ...page, userId: viewer.userId }), itemOf)
      }
      const role = await roleIn(registry, viewer, organizationId)
      demand(role, 'brokerToken.issue')
      const whose = mayDo(role, 'brokerToken.manage') ? {} : { userId: viewer.userId }
      return written(await registry.tokens.listBrokerAccess({ ...page, organizationId, ...whose }), itemOf)
    },
  })
}

function revokeToken(app: HttpApp, registry: BrokerAccessRegistry): void {
  app.route({
    method: 'DELETE',
    url: '/api/broker-tokens/:id',
    config,
    schema: {
      ...common,
      summary: 'Revoke a broker-access token',
      description: 'One’s own, or as an admin of its organization anybody’s. Ends its connections at once.',
      params: Type.Object({ id: opaqueId('Token id.') }),
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const token = await registry.tokens.getBrokerAccess(request.params.id)
      if (token === undefined) throw objectNotFound()
      const isOwn = token.userId === viewer.userId
      // Whoever may not revoke a token does not hear that it exists.
      if (!isOwn && !mayDo(await roleIn(registry, viewer, token.organizationId), 'brokerToken.manage')) {
        throw objectNotFound()
      }
      accepted(await registry.tokens.revokeBrokerAccess(token.tokenId, viewer))
      return {}
    },
  })
}

function itemOf(token: BrokerAccess) {
  return {
    id: token.tokenId,
    userID: token.userId,
    organizationID: token.organizationId,
    issuedAt: timestamp(token.issuedAtMs),
    expiresAt: timestamp(token.expiresAtMs),
    lastUsedAt: token.lastUsedAtMs === null ? null : timestamp(token.lastUsedAtMs),
  }
}
