/** The tokens with which programs collect metrics, for global admins. */
import { Type } from 'typebox'
import type { MetricsToken } from '../../identity/tokens/metrics-tokens.ts'
import type { Registry } from '../../identity/registry.ts'
import { viewerOf } from '../api/authenticate.ts'
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
import type { HttpApp } from '../api/http-app.ts'
import { SESSION_SECURITY } from '../api/openapi.ts'
import { demandGlobalAdmin } from '../api/ownership.ts'
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

/** Registers the routes of metrics tokens. */
export function addMetricsTokenRoutes(app: HttpApp, registry: MetricsTokenRegistry): void {
  listTokens(app, registry)
  createToken(app, registry)
  revokeToken(app, registry)
}

const config = { credential: 'session' } as const
const common = { tags: ['Operation'], security: SESSION_SECURITY }

function listTokens(app: HttpApp, registry: MetricsTokenRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/metrics-tokens',
    config,
    schema: {
      ...common,
      operationId: 'listMetricsTokens',
      summary: 'List metrics tokens',
      description: 'For global admins. Sorted by name. The tokens themselves are never told again.',
      querystring: Type.Object(PagingQuery),
      response: responses(listOf(Item, 'MetricsTokenList')),
    },
    handler: async (request) => {
      demandGlobalAdmin(viewerOf(request))
      return written(await registry.metricsTokens.list(pageOf(request.query)), itemOf)
    },
  })
}

function createToken(app: HttpApp, registry: MetricsTokenRegistry): void {
  app.route({
    method: 'POST',
    url: '/api/metrics-tokens',
    config,
    schema: {
      ...common,
      operationId: 'createMetricsToken',
      summary: 'Issue a metrics token',
      description:
        'For global admins. The token reads `/metrics` and nothing else, until it is revoked. It is told here and never again.',
      body: Type.Object({
        metricsToken: Type.Object(
          { name: ruledText(100, 'Name for people, unique in any case.', A_NAME) },
          { [NAME]: 'NewMetricsToken' },
        ),
      }),
      response: responses(Issued),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      demandGlobalAdmin(viewer)
      const { name } = request.body.metricsToken
      if (name.trim() === '') throw invalidArgument('metricsToken.name: must not be empty')
      return accepted(await registry.metricsTokens.create(name, viewer))
    },
  })
}

function revokeToken(app: HttpApp, registry: MetricsTokenRegistry): void {
  app.route({
    method: 'DELETE',
    url: '/api/metrics-tokens/:id',
    config,
    schema: {
      ...common,
      operationId: 'revokeMetricsToken',
      summary: 'Revoke a metrics token',
      description: 'For global admins. The next request with it is refused.',
      params: Type.Object({ id: opaqueId('Metrics token id.') }),
      response: responses(Empty),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      demandGlobalAdmin(viewer)
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
