/** The tokens with which programs collect metrics, for global admins. */
import { Type } from 'typebox'
import type { MetricsToken } from '../../identity/tokens/metrics-tokens.ts'
import type { Registry } from '../../identity/registry.ts'
import { accepted, invalidArgument } from '../api/errors.ts'
import {
  A_NAME,
  Empty,
  listOf,
  opaqueId,
  pageOf,
  PagingQuery,
  responses,
  ruledText,
  timestamp,
  Timestamp,
  TimestampOrNull,
  written,
} from '../api/fields.ts'
import { GLOBAL_ADMIN } from '../api/access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'

/** The part of the registry that metrics tokens need. */
export type MetricsTokenRegistry = Pick<Registry, 'metricsTokens'>

const Item = Type.Object(
  {
    id: opaqueId('Metrics token id.'),
    name: Type.String(),
    createdAt: Timestamp,
    lastUsedAt: TimestampOrNull,
  },
  { description: 'Metrics token', [NAME]: 'MetricsToken' },
)

const Issued = Type.Object(
  {
    id: opaqueId('Metrics token id.'),
    token: Type.String({ description: 'Told only here.' }),
  },
  { description: 'A metrics token with what it is', [NAME]: 'IssuedMetricsToken' },
)

/** The routes of metrics tokens. */
export function metricsTokenRoutes(registry: MetricsTokenRegistry): readonly Route[] {
  return resource('Operation', [listTokens(registry), createToken(registry), revokeToken(registry)])
}

function listTokens(registry: MetricsTokenRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/metrics-tokens',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'listMetricsTokens',
      summary: 'List metrics tokens',
      description: 'Sorted by name. The tokens themselves are never told again.',
      querystring: Type.Object(PagingQuery),
      response: responses(listOf(Item, 'MetricsTokenList')),
    },
    handle: async (_person, request) => {
      return written(await registry.metricsTokens.list(pageOf(request.query)), itemOf)
    },
  })
}

function createToken(registry: MetricsTokenRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/metrics-tokens',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'createMetricsToken',
      summary: 'Issue a metrics token',
      description: 'The token reads `/metrics` and nothing else, until it is revoked. It is told here and never again.',
      body: Type.Object({
        metricsToken: Type.Object(
          { name: ruledText(100, 'Name for people, unique in any case.', A_NAME) },
          { [NAME]: 'NewMetricsToken' },
        ),
      }),
      response: responses(Issued),
    },
    handle: async ({ viewer }, request) => {
      const { name } = request.body.metricsToken
      if (name.trim() === '') throw invalidArgument('metricsToken.name: must not be empty')
      return accepted(await registry.metricsTokens.create(name, viewer))
    },
  })
}

function revokeToken(registry: MetricsTokenRegistry): Route {
  return route({
    method: 'DELETE',
    url: '/api/metrics-tokens/:id',
    may: GLOBAL_ADMIN,
    schema: {
      operationId: 'revokeMetricsToken',
      summary: 'Revoke a metrics token',
      description: 'The next request with it is refused.',
      params: Type.Object({ id: opaqueId('Metrics token id.') }),
      response: responses(Empty),
    },
    handle: async ({ viewer }, request) => {
      accepted(await registry.metricsTokens.revoke(request.params.id, viewer))
      return {}
    },
  })
}

function itemOf(token: MetricsToken) {
  return {
    id: token.id,
    name: token.name,
    createdAt: timestamp(token.createdAtMs),
    lastUsedAt: token.lastUsedAtMs === null ? null : timestamp(token.lastUsedAtMs),
  }
}
