/**
 * Broker-access tokens that are alive: listing and revoking them, and what clients with them do.
 */
import { Type } from 'typebox'
import type { Viewer } from '../../identity/store/result.ts'
import type { BrokerAccess } from '../../identity/tokens/broker-access-records.ts'
import { viewerOf } from '../api/authenticate.ts'
import type { BrokerViews, KeptRefusal } from '../operation/broker-views.ts'
import { accepted, objectNotFound } from '../api/errors.ts'
import {
  Empty,
  givenId,
  id,
  Listener,
  listOf,
  opaqueId,
  optionalId,
  pageOf,
  PagingQuery,
  responses,
  timestamp,
  Timestamp,
  TimestampOrNull,
  written,
} from '../api/fields.ts'
import type { HttpApp } from '../api/http-app.ts'
import type { BrokerAccessRegistry } from './mosquitto-auth.ts'
import { SESSION_SECURITY } from '../api/openapi.ts'
import { roleIn } from '../api/ownership.ts'
import { demand, mayDo } from '../api/permissions.ts'
import { RefusalOfClient, refusalOfClient } from '../operation/refusals.ts'
import { NAME } from '../api/schema-keywords.ts'

/** Connections that the status of a token names. */
const MAXIMUM_CONNECTIONS = 20

const TokenItem = Type.Object(
  {
    id: opaqueId('Token id.'),
    userID: id('User id.'),
    organizationID: id('Organization id.'),
    issuedAt: Timestamp,
    expiresAt: Timestamp,
    lastUsedAt: TimestampOrNull,
    connections: Type.Integer({ description: 'Clients that are connected with it now.' }),
    lastRefusal: Type.Union([RefusalOfClient, Type.Null()], {
      description: 'What was refused lately to a client with it, if anything was.',
    }),
  },
  { description: 'Broker-access token; the JWT itself is not kept.', [NAME]: 'IssuedBrokerToken' },
)

const TokenStatus = Type.Object(
  {
    connections: Type.Array(
      Type.Object(
        {
          id: opaqueId('Connection id.'),
          clientID: Type.String(),
          address: Type.String(),
          listener: Listener,
          openedAt: Timestamp,
        },
        { [NAME]: 'TokenConnection' },
      ),
      { description: `At most ${MAXIMUM_CONNECTIONS}, the newest first.` },
    ),
    connectionCount: Type.Integer(),
    lastRefusal: Type.Union([RefusalOfClient, Type.Null()]),
  },
  { description: 'What clients with the token do', [NAME]: 'BrokerTokenStatus' },
)

/** Registers the routes of broker-access tokens. */
export function addBrokerTokenRoutes(app: HttpApp, registry: BrokerAccessRegistry, views?: BrokerViews): void {
  listTokens(app, registry, views)
  if (views !== undefined) tokenStatus(app, registry, views)
  revokeToken(app, registry)
}

const config = { credential: 'session' } as const
const common = { tags: ['Broker access'], security: SESSION_SECURITY }

function listTokens(app: HttpApp, registry: BrokerAccessRegistry, views: BrokerViews | undefined): void {
  app.route({
    method: 'GET',
    url: '/api/broker-tokens',
    config,
    schema: {
      ...common,
      operationId: 'listBrokerTokens',
      summary: 'List broker-access tokens',
      description:
        'Those that are neither expired nor revoked, newest first. Without organizationID the caller’s own; with it the ' +
        'caller’s own in that organization, and for its admins everybody’s.',
      querystring: Type.Object({ ...PagingQuery, organizationID: optionalId('Organization id.') }),
      response: responses(listOf(TokenItem, 'BrokerTokenList')),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const page = pageOf(request.query)
      const organizationId = givenId(request.query.organizationID)
      const role = organizationId === undefined ? undefined : await roleIn(registry, viewer, organizationId)
      if (role !== undefined) demand(role, 'brokerToken.issue')
      const seesAll = role !== undefined && mayDo(role, 'brokerToken.manage')
      const whose = {
        ...(organizationId === undefined ? {} : { organizationId }),
        ...(seesAll ? {} : { userId: viewer.userId }),
      }
      const refusalOf = lastRefusals(views?.refusals(whose) ?? [])
      return written(await registry.tokens.listBrokerAccess({ ...page, ...whose }), (token) =>
        itemOf(token, views?.connectionsWith(token.tokenId) ?? 0, refusalOf.get(token.tokenId)),
      )
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
      operationId: 'revokeBrokerToken',
      summary: 'Revoke a broker-access token',
      description: 'One’s own, or as an admin of its organization anybody’s. Ends its connections at once.',
      params: Type.Object({ id: opaqueId('Token id.') }),
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const token = await tokenFor(registry, viewer, request.params.id)
      accepted(await registry.tokens.revokeBrokerAccess(token.tokenId, viewer))
      return {}
    },
  })
}

function tokenStatus(app: HttpApp, registry: BrokerAccessRegistry, views: BrokerViews): void {
  app.route({
    method: 'GET',
    url: '/api/broker-tokens/:id/status',
    config,
    schema: {
      ...common,
      operationId: 'getBrokerTokenStatus',
      summary: 'Who is connected with a token, and why not',
      description:
        'Of one’s own token, or as an admin of its organization of anybody’s: the clients that are connected with it, and ' +
        'what was refused lately to one. Of a token that has expired or was revoked, the list of refusals tells.',
      params: Type.Object({ id: opaqueId('Token id.') }),
      response: responses(TokenStatus),
    },
    handler: async (request) => {
      const { tokenId, organizationId, userId } = await tokenFor(registry, viewerOf(request), request.params.id)
      const connectionCount = views.connectionsWith(tokenId)
      // Most of those who ask wait for a first client: then there is no need to look at all of the
      // organization's.
      const all = connectionCount === 0 ? [] : views.connections(organizationId)
      const withToken = all.filter(({ holder }) => holder.tokenId === tokenId)
      const refusal = lastRefusals(views.refusals({ organizationId, userId })).get(tokenId)
      return {
        connectionCount,
        connections: withToken.slice(0, MAXIMUM_CONNECTIONS).map(({ id: connectionId, facts }) => ({
          id: connectionId,
          clientID: facts.clientId,
          address: facts.peer.address,
          listener: facts.peer.listener,
          openedAt: timestamp(facts.openedAtMs),
        })),
        lastRefusal: refusal === undefined ? null : refusalOfClient(refusal),
      }
    },
  })
}

/**
 * One's own token, or as an admin of its organization anybody's. Whoever may not touch a token does
 * not hear that it exists.
 */
async function tokenFor(registry: BrokerAccessRegistry, viewer: Viewer, tokenId: string): Promise<BrokerAccess> {
  const token = await registry.tokens.getBrokerAccess(tokenId)
  if (token === undefined) throw objectNotFound()
  if (token.userId === viewer.userId) return token
  if (!mayDo(await roleIn(registry, viewer, token.organizationId), 'brokerToken.manage')) throw objectNotFound()
  return token
}

/** By token, the newest of each. */
function lastRefusals(newestFirst: readonly KeptRefusal[]): ReadonlyMap<string, KeptRefusal> {
  const last = new Map<string, KeptRefusal>()
  for (const refusal of newestFirst) {
    const { tokenId } = refusal.holder
    if (tokenId !== undefined && !last.has(tokenId)) last.set(tokenId, refusal)
  }
  return last
}

function itemOf(token: BrokerAccess, connections: number, refusal: KeptRefusal | undefined) {
  return {
    id: token.tokenId,
    userID: token.userId,
    organizationID: token.organizationId,
    issuedAt: timestamp(token.issuedAtMs),
    expiresAt: timestamp(token.expiresAtMs),
    lastUsedAt: token.lastUsedAtMs === null ? null : timestamp(token.lastUsedAtMs),
    connections,
    lastRefusal: refusal === undefined ? null : refusalOfClient(refusal),
  }
}
