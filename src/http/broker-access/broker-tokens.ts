/**
 * Broker-access tokens that are alive: listing and revoking them, and what clients with them do.
 */
import { Type } from 'typebox'
import type { BrokerAccess } from '../../identity/tokens/broker-access-records.ts'
import type { BrokerViews, KeptRefusal } from '../operation/broker-views.ts'
import { accepted } from '../api/errors.ts'
import {
  Empty,
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
import { given } from '../../given.ts'
import { narrowed, onHidden } from '../api/access.ts'
import type { HiddenThing } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import type { BrokerAccessRegistry } from './mosquitto-auth.ts'
import { mayDo } from '../api/permissions.ts'
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

/** The routes of broker-access tokens. Without `views` no connections and no refusals are shown. */
export function brokerTokenRoutes(registry: BrokerAccessRegistry, views?: BrokerViews): readonly Route[] {
  return resource('Broker access', [
    listTokens(registry, views),
    ...(views === undefined ? [] : [tokenStatus(registry, views)]),
    revokeToken(registry),
  ])
}

function listTokens(registry: BrokerAccessRegistry, views: BrokerViews | undefined): Route {
  return route({
    method: 'GET',
    url: '/api/broker-tokens',
    may: narrowed('brokerToken.issue', { organization: 'query.organizationID' }),
    schema: {
      operationId: 'listBrokerTokens',
      summary: 'List broker-access tokens',
      description:
        'The tokens that are neither expired nor revoked, newest first. With organizationID an admin sees all tokens of the ' +
        'organization, and another member its own; without it everybody sees their own.',
      querystring: Type.Object({ ...PagingQuery, organizationID: optionalId('Organization id.') }),
      response: responses(listOf(TokenItem, 'BrokerTokenList')),
    },
    handle: async ({ viewer, organizationId, role }, request) => {
      const page = pageOf(request.query)
      const seesAll = role !== undefined && mayDo(role, 'brokerToken.manage')
      const whose = given({ organizationId, userId: seesAll ? undefined : viewer.userId })
      const refusalOf = lastRefusals(views?.refusals(whose) ?? [])
      return written(await registry.tokens.listBrokerAccess({ ...page, ...whose }), (token) =>
        itemOf(token, views?.connectionsWith(token.tokenId) ?? 0, refusalOf.get(token.tokenId)),
      )
    },
  })
}

function revokeToken(registry: BrokerAccessRegistry): Route {
  return route({
    method: 'DELETE',
    url: '/api/broker-tokens/:id',
    may: onHidden('brokerToken.manage', tokenNamed(registry)),
    schema: {
      operationId: 'revokeBrokerToken',
      summary: 'Revoke a broker-access token',
      description: 'Ends its connections at once.',
      params: Type.Object({ id: opaqueId('Token id.') }),
      response: responses(Empty),
    },
    handle: async ({ viewer, found }) => {
      accepted(await registry.tokens.revokeBrokerAccess(found.tokenId, viewer))
      return {}
    },
  })
}

function tokenStatus(registry: BrokerAccessRegistry, views: BrokerViews): Route {
  return route({
    method: 'GET',
    url: '/api/broker-tokens/:id/status',
    may: onHidden('brokerToken.manage', tokenNamed(registry)),
    schema: {
      operationId: 'getBrokerTokenStatus',
      summary: 'Who is connected with a token, and why not',
      description:
        'The clients that are connected with it, and the latest refusal to such a client. For a token that has expired or was ' +
        'revoked, see the list of refusals.',
      params: Type.Object({ id: opaqueId('Token id.') }),
      response: responses(TokenStatus),
    },
    handle: async ({ found }) => {
      const { tokenId, organizationId, userId } = found
      const connectionCount = views.connectionsWith(tokenId)
      // Most callers wait for a first client. Then the organization's connections need not be
      // searched.
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

/** The token that the path names. Its owner may do with it what admins may. */
function tokenNamed(registry: BrokerAccessRegistry): HiddenThing<BrokerAccess> {
  return {
    named: 'params.id',
    find: (tokenId) => registry.tokens.getBrokerAccess(tokenId),
    organizationIdOf: (token) => token.organizationId,
    ownerOf: (token) => token.userId,
  }
}

/** The newest refusal of each token. */
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
