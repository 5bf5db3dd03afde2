/** Live connections of MQTT clients: listing and ending them. */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import { namesOf, searchNames } from './broker-views.ts'
import type { BrokerViews, HolderNames, LiveConnection, NamesRegistry, UnmatchedFilter } from './broker-views.ts'
import { objectNotFound } from '../api/errors.ts'
import {
  choice,
  digits,
  Empty,
  idOrNothing,
  Listener,
  listOfNodes,
  missingNodes,
  opaqueId,
  optionalId,
  pageOf,
  PagingQuery,
  responses,
  timestamp,
  Timestamp,
  written,
} from '../api/fields.ts'
import { inOrganizationOrDeployment, onHidden } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { NAME } from '../api/schema-keywords.ts'

/** The parts of the registry that connections need. */
export type ConnectionRegistry = OwnershipRegistry & NamesRegistry & Pick<Registry, 'audit'>

/**
 * Topic Filters that a list names of each connection; a Session may have a thousand of a kilobyte
 * each.
 */
const MAXIMUM_TOPIC_FILTERS = 50

/** Topic Filters that one answer looks at: each may cost a look-up of its device. */
const MAXIMUM_EXPLAINED = 2_000

const Count = digits('A number, as a string of digits.')
const Rate = Type.Number({ description: 'A second, on average over the last five to ten.' })

const UnmatchedItem = Type.Object(
  {
    topicFilter: Type.String(),
    code: Type.String({ description: 'Stable: see docs/errors.md.' }),
    reason: Type.String({ description: 'The same in a sentence.' }),
  },
  { description: 'A Topic Filter to which nothing can come at present.', [NAME]: 'UnmatchedTopicFilter' },
)

const ConnectionItem = Type.Object(
  {
    id: opaqueId('Connection id.'),
    clientID: Type.String({ description: 'Client Identifier.' }),
    organizationID: idOrNothing('"" for a network server of the whole deployment.'),
    organizationName: Type.String(),
    userID: idOrNothing('"" for a network server, and for a token that an API key made.'),
    userName: Type.String(),
    serviceCredentialID: Type.String({ description: '"" for a user.' }),
    serviceCredentialName: Type.String(),
    apiKeyID: Type.String({ description: 'The API key that made the token; "" where a person did.' }),
    apiKeyName: Type.String(),
    tokenID: Type.String({
      description: 'The broker-access token that the connection lives by; "" for a network server.',
    }),
    address: Type.String(),
    listener: Listener,
    protocolVersion: choice(['3.1.1', '5.0'], { description: 'Of MQTT.', [NAME]: 'ProtocolVersion' }),
    openedAt: Timestamp,
    keepAliveSeconds: Type.Integer({ description: '0: the client may be silent.' }),
    topicFilters: Type.Array(Type.String(), { description: `At most ${MAXIMUM_TOPIC_FILTERS} of them.` }),
    topicFilterCount: Type.Integer(),
    unmatchedTopicFilters: Type.Array(UnmatchedItem, {
      description: `Those of the first ${MAXIMUM_TOPIC_FILTERS} Topic Filters to which nothing can come at present.`,
    }),
    messagesIn: Count,
    messagesOut: Count,
    bytesIn: Count,
    bytesOut: Count,
    messagesInPerSecond: Rate,
    messagesOutPerSecond: Rate,
    bytesInPerSecond: Rate,
    bytesOutPerSecond: Rate,
  },
  { description: 'Connection; "in" is what the client sent.', [NAME]: 'Connection' },
)

/** The routes of live connections. */
export function connectionRoutes(registry: ConnectionRegistry, views: BrokerViews): readonly Route[] {
  return resource('Operation', [listConnections(registry, views), endConnection(registry, views)])
}

function listConnections(registry: ConnectionRegistry, views: BrokerViews): Route {
  return route({
    method: 'GET',
    url: '/api/connections',
    may: inOrganizationOrDeployment('connection.manage', 'query.organizationID'),
    schema: {
      operationId: 'listConnections',
      summary: 'List live connections',
      description:
        'MQTT clients that are connected now, newest first: of the organization, or of the whole deployment. `search` looks into Client Identifiers, addresses, Topic Filters and the ' +
        'names of users and service credentials.',
      querystring: Type.Object({ ...PagingQuery, organizationID: optionalId('Organization id.') }),
      response: responses(listOfNodes(ConnectionItem, 'ConnectionList')),
    },
    handle: async ({ organizationId }, request) => {
      const { limit, offset, search } = pageOf(request.query)
      const searched = await searchNames(registry, search, organizationId)
      const asked = { organizationId, search: searched, offset, limit }
      const { totalCount, items: page, missing } = await views.connections(asked)
      const nameOf = await namesOf(
        registry,
        page.map(({ holder }) => holder),
      )
      const unmatched = await unmatchedOf(page)
      const list = written({ totalCount, items: page }, (connection) =>
        itemOf(connection, nameOf(connection.holder), unmatched.get(connection.id) ?? []),
      )
      return { ...list, ...missingNodes(missing) }
    },
  })
}

function endConnection(registry: ConnectionRegistry, views: BrokerViews): Route {
  return route({
    method: 'DELETE',
    url: '/api/connections/:id',
    may: onHidden('connection.manage', {
      named: 'params.id',
      find: (id) => views.connection(id),
      organizationIdOf: ({ holder }) => holder.organizationId,
    }),
    schema: {
      operationId: 'endConnection',
      summary: 'End a live connection',
      description:
        'MQTT 5 clients hear Reason Code 0x98. The client may connect again: to keep it away, revoke its token or credential.',
      params: Type.Object({ id: opaqueId('Connection id.') }),
      response: responses(Empty),
    },
    handle: async ({ viewer, found: { id, holder, facts } }) => {
      if (!(await views.endConnection(id))) throw objectNotFound()
      await registry.audit.record(viewer, {
        action: 'connection.ended',
        subject: facts.clientId,
        organizationId: holder.organizationId ?? null,
        detail: {
          userId: holder.userId,
          apiKeyId: holder.apiKeyId,
          serviceCredentialId: holder.serviceCredentialId,
          address: facts.peer.address,
        },
      })
      return {}
    },
  })
}

function itemOf(
  { id, holder, facts }: LiveConnection,
  names: HolderNames,
  unmatchedTopicFilters: readonly UnmatchedFilter[],
) {
  const { topicFilters, carried, rates } = facts
  return {
    id,
    clientID: facts.clientId,
    organizationID: holder.organizationId ?? '',
    userID: holder.userId ?? '',
    serviceCredentialID: holder.serviceCredentialId ?? '',
    apiKeyID: holder.apiKeyId ?? '',
    ...names,
    tokenID: holder.tokenId ?? '',
    address: facts.peer.address,
    listener: facts.peer.listener,
    protocolVersion: facts.protocolVersion === 4 ? ('3.1.1' as const) : ('5.0' as const),
    openedAt: timestamp(facts.openedAtMs),
    keepAliveSeconds: facts.keepAliveSeconds,
    topicFilters: topicFilters.slice(0, MAXIMUM_TOPIC_FILTERS),
    topicFilterCount: facts.topicFilterCount,
    unmatchedTopicFilters: [...unmatchedTopicFilters],
    messagesIn: String(carried.messagesIn),
    messagesOut: String(carried.messagesOut),
    bytesIn: String(carried.bytesIn),
    bytesOut: String(carried.bytesOut),
    ...rates,
  }
}

/** One after the other: an answer never asks the registry for more than one device at a time. */
async function unmatchedOf(page: readonly LiveConnection[]): Promise<ReadonlyMap<string, readonly UnmatchedFilter[]>> {
  const found = new Map<string, readonly UnmatchedFilter[]>()
  let left = MAXIMUM_EXPLAINED
  for (const { id, facts } of page) {
    if (left <= 0) break
    const maximum = Math.min(left, MAXIMUM_TOPIC_FILTERS)
    left -= Math.min(facts.topicFilters.length, maximum)
    const unmatched = await facts.unmatchedFilters(maximum)
    if (unmatched.length > 0) found.set(id, unmatched)
  }
  return found
}
