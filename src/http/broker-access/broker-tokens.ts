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
  listOfNodes,
  missingNodes,
  MissingNodes,
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
import { mayDo, rightsFor } from '../api/permissions.ts'
import { RefusalOfClient, refusalOfClient } from '../operation/refusals.ts'
import { ScopeItem, scopeItemOf } from '../api/scope-fields.ts'
import { NAME } from '../api/schema-keywords.ts'

/** Connections that the status of a token names. */
const MAXIMUM_CONNECTIONS = 20

const TokenItem = Type.Object(
  {
    id: opaqueId('Token id.'),
    userID: id('User id; the maker of the API key, where a key made the token.'),
    apiKeyID: Type.String({ description: 'The API key that made the token; "" where a person did.' }),
    organizationID: id('Organization id.'),
    issuedAt: Timestamp,
    expiresAt: Timestamp,
    lastUsedAt: TimestampOrNull,
    scope: Type.Union([ScopeItem, Type.Null()], { description: 'The limits of the token; null for none.' }),
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
    missingNodes: MissingNodes,
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
      response: responses(listOfNodes(TokenItem, 'BrokerTokenList')),
    },
    handle: async ({ viewer, key, organizationId, role }, request) => {
      const page = pageOf(request.query)
      const seesAll = role !== undefined && mayDo(role, 'brokerToken.manage')
      const own = key === undefined ? { userId: viewer.userId } : { apiKeyId: key.id }
      const whose = { ...given({ organizationId }), ...(seesAll && key === undefined ? {} : own) }
      const listed = await registry.tokens.listBrokerAccess({ ...page, ...whose })
      const [refusals, connections] = await Promise.all([
        views?.refusals(whose),
        views?.connectionsWith(listed.items.map(({ tokenId }) => tokenId)),
      ])
      const refusalOf = lastRefusals(refusals?.items ?? [])
      const list = written(listed, (token) =>
        itemOf(token, connections?.counts.get(token.tokenId) ?? 0, refusalOf.get(token.tokenId)),
      )
      return { ...list, ...missingNodes(missingIn(refusals, connections)) }
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
      const [live, refusals] = await Promise.all([
        views.connectionsWith([tokenId]),
        // Refusals to clients of a key are not its maker's.
        views.refusals({ organizationId, ...(found.apiKeyId === null ? { userId } : {}) }),
      ])
      const connectionCount = live.counts.get(tokenId) ?? 0
      // Most callers wait for a first client. Then the organization's connections need not be
      // searched.
      const asked = { organizationId, tokenId, offset: 0, limit: MAXIMUM_CONNECTIONS }
      const withToken = connectionCount === 0 ? undefined : await views.connections(asked)
      const refusal = lastRefusals(refusals.items).get(tokenId)
      return {
        connectionCount,
        connections: (withToken?.items ?? []).map(({ id: connectionId, facts }) => ({
          id: connectionId,
          clientID: facts.clientId,
          address: facts.peer.address,
          listener: facts.peer.listener,
          openedAt: timestamp(facts.openedAtMs),
        })),
        lastRefusal: refusal === undefined ? null : refusalOfClient(refusal),
        ...missingNodes(missingIn(live, refusals, withToken)),
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
    // A person owns what it made, but not what its keys made: they may have another maker by now.
    ownerOf: (token) => (token.apiKeyId === null ? token.userId : ''),
    ofKey: { rights: rightsFor('brokerToken.issue'), idOf: (token) => token.apiKeyId },
  }
}

/** The nodes without an answer to one of the questions, each once. */
function missingIn(...answers: readonly ({ readonly missing: readonly string[] } | undefined)[]): readonly string[] {
  return [...new Set(answers.flatMap((answer) => answer?.missing ?? []))]
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
    apiKeyID: token.apiKeyId ?? '',
    organizationID: token.organizationId,
    issuedAt: timestamp(token.issuedAtMs),
    expiresAt: timestamp(token.expiresAtMs),
    lastUsedAt: token.lastUsedAtMs === null ? null : timestamp(token.lastUsedAtMs),
    scope: scopeItemOf(token.scope),
    connections,
    lastRefusal: refusal === undefined ? null : refusalOfClient(refusal),
  }
}
