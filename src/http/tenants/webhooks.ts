/** The webhooks of an organization: `/api/organizations/{id}/webhooks`. */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import type { DeliveryEntry } from '../../lorawan/webhooks/delivery-log.ts'
import type { WebhookView } from '../../lorawan/webhooks/webhooks.ts'
import { WEBHOOK_BOUNDS } from '../../webhook-settings.ts'
import type { Webhook } from '../../webhook-settings.ts'
import { inOrganization } from '../api/access.ts'
import { accepted, invalidArgument, objectNotFound, RequestRefused } from '../api/errors.ts'
import { Empty, id, listOf, opaqueId, pageOf, PagingQuery, responses, written } from '../api/fields.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { NAME } from '../api/schema-keywords.ts'
import {
  Delivery,
  deliveryOf,
  fieldsOf,
  GivenWebhook,
  IssuedWebhook,
  itemOf,
  refuseUnknownMembers,
  standingOf,
  WebhookDetails,
  WebhookItem,
} from './webhook-schemas.ts'

/** The parts of the registry that webhooks need. */
export type WebhookRegistry = OwnershipRegistry & Pick<Registry, 'webhooks'>

/** The webhooks as they run. */
export interface WebhookViews {
  /** Undefined: no node runs the webhook at present. */
  view(webhookId: string): Promise<WebhookView | undefined>
  /** Sends a sample event. Undefined: another test of the organization is under way. */
  test(webhook: Webhook): Promise<DeliveryEntry | undefined>
  /** When the log took the event; undefined for every other organization's, and for unknown ids. */
  eventTimeMs(organizationId: string, eventId: string): Promise<number | undefined>
}

const Parameters = Type.Object({ id: id('Organization id.') })
const OneParameters = Type.Object({ id: id('Organization id.'), webhookId: opaqueId('Webhook id.') })
const Body = Type.Object({ webhook: GivenWebhook })

/** The routes of webhooks. Without `views`, the routes that need running webhooks are left out. */
export function webhookRoutes(registry: WebhookRegistry, views: WebhookViews | undefined): readonly Route[] {
  return resource('Webhooks', [
    listWebhooks(registry),
    createWebhook(registry),
    getWebhook(registry, views),
    updateWebhook(registry),
    removeWebhook(registry),
    rotateSecret(registry),
    pauseWebhook(registry),
    resumeWebhook(registry, views),
    ...(views === undefined ? [] : [testWebhook(registry, views), listDeliveries(registry, views)]),
  ])
}

function listWebhooks(registry: WebhookRegistry): Route {
  return route({
    method: 'GET',
    url: '/api/organizations/:id/webhooks',
    may: inOrganization('webhook.manage', 'params.id'),
    schema: {
      operationId: 'listWebhooks',
      summary: 'List webhooks',
      description: 'Sorted by name. Secrets and the values of header fields are never told.',
      params: Parameters,
      querystring: Type.Object(PagingQuery),
      response: responses(listOf(WebhookItem, 'WebhookList')),
    },
    handle: async ({ organizationId }, request) =>
      written(await registry.webhooks.list(organizationId, pageOf(request.query)), itemOf),
  })
}

function createWebhook(registry: WebhookRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/organizations/:id/webhooks',
    may: inOrganization('webhook.manage', 'params.id'),
    schema: {
      operationId: 'createWebhook',
      summary: 'Create a webhook',
      description: 'It sends the events that come from now on. The secret is told here and never again.',
      params: Parameters,
      body: Body,
      response: responses(IssuedWebhook),
    },
    before: ({ body }) => refuseUnknownMembers(body),
    handle: async ({ viewer, organizationId }, request) =>
      accepted(await registry.webhooks.create(organizationId, fieldsOf(request.body.webhook), viewer)),
  })
}

function getWebhook(registry: WebhookRegistry, views: WebhookViews | undefined): Route {
  return route({
    method: 'GET',
    url: '/api/organizations/:id/webhooks/:webhookId',
    may: inOrganization('webhook.manage', 'params.id'),
    schema: {
      operationId: 'getWebhook',
      summary: 'Get a webhook, and how it stands',
      params: OneParameters,
      response: responses(WebhookDetails),
    },
    handle: async ({ organizationId }, request) => {
      const webhook = await webhookIn(registry, organizationId, request.params.webhookId)
      const view = await views?.view(webhook.id)
      return { webhook: itemOf(webhook), standing: standingOf(view?.standing, webhook.pause !== undefined) }
    },
  })
}

function updateWebhook(registry: WebhookRegistry): Route {
  return route({
    method: 'PUT',
    url: '/api/organizations/:id/webhooks/:webhookId',
    may: inOrganization('webhook.manage', 'params.id'),
    schema: {
      operationId: 'updateWebhook',
      summary: 'Change a webhook',
      description:
        'Sets all settings: a member that is left out gets the value that it has on creation. Only `headers` stays as it is. The ' +
        'webhook goes on where it was.',
      params: OneParameters,
      body: Body,
      response: responses(Empty),
    },
    before: ({ body }) => refuseUnknownMembers(body),
    handle: async ({ viewer, organizationId }, request) => {
      const { id: webhookId } = await webhookIn(registry, organizationId, request.params.webhookId)
      accepted(await registry.webhooks.update(organizationId, webhookId, fieldsOf(request.body.webhook), viewer))
      return {}
    },
  })
}

function removeWebhook(registry: WebhookRegistry): Route {
  return route({
    method: 'DELETE',
    url: '/api/organizations/:id/webhooks/:webhookId',
    may: inOrganization('webhook.manage', 'params.id'),
    schema: {
      operationId: 'deleteWebhook',
      summary: 'Remove a webhook',
      description: 'No further request begins.',
      params: OneParameters,
      response: responses(Empty),
    },
    handle: async ({ viewer, organizationId }, request) => {
      const { id: webhookId } = await webhookIn(registry, organizationId, request.params.webhookId)
      accepted(await registry.webhooks.remove(organizationId, webhookId, viewer))
      return {}
    },
  })
}

function rotateSecret(registry: WebhookRegistry): Route {
  const { maximum, default: usual } = WEBHOOK_BOUNDS.overlapSeconds
  return route({
    method: 'POST',
    url: '/api/organizations/:id/webhooks/:webhookId/rotate-secret',
    may: inOrganization('webhook.manage', 'params.id'),
    schema: {
      operationId: 'rotateWebhookSecret',
      summary: 'Make a new secret',
      description: 'The secret that was current goes on signing beside the new one for the overlap.',
      params: OneParameters,
      body: Type.Object(
        {
          overlapSeconds: Type.Optional(
            Type.Integer({ minimum: 0, maximum, description: `${usual} when absent; 0: the old secret ends at once.` }),
          ),
        },
        { [NAME]: 'WebhookSecretRotation' },
      ),
      response: responses(IssuedWebhook),
    },
    handle: async ({ viewer, organizationId }, request) => {
      const { id: webhookId } = await webhookIn(registry, organizationId, request.params.webhookId)
      const { overlapSeconds = usual } = request.body
      const { secret } = accepted(
        await registry.webhooks.rotateSecret(organizationId, webhookId, overlapSeconds, viewer),
      )
      return { id: webhookId, secret }
    },
  })
}

function testWebhook(registry: WebhookRegistry, views: WebhookViews): Route {
  return route({
    method: 'POST',
    url: '/api/organizations/:id/webhooks/:webhookId/test',
    may: inOrganization('webhook.manage', 'params.id'),
    schema: {
      operationId: 'testWebhook',
      summary: 'Send a sample event now',
      description:
        'The answer has the receiver’s status, the time and the beginning of its answer. A paused webhook can be tested as well.',
      params: OneParameters,
      response: responses(Delivery),
    },
    handle: async ({ organizationId }, request) => {
      const webhook = await webhookIn(registry, organizationId, request.params.webhookId)
      const entry = await views.test(webhook)
      if (entry === undefined) {
        throw new RequestRefused('resource_exhausted', 'another test is under way', 'webhook_test_busy')
      }
      return deliveryOf(entry)
    },
  })
}

function pauseWebhook(registry: WebhookRegistry): Route {
  return route({
    method: 'POST',
    url: '/api/organizations/:id/webhooks/:webhookId/pause',
    may: inOrganization('webhook.manage', 'params.id'),
    schema: {
      operationId: 'pauseWebhook',
      summary: 'Pause a webhook',
      description: 'It keeps its place in the log.',
      params: OneParameters,
      response: responses(Empty),
    },
    handle: async ({ viewer, organizationId }, request) => {
      const { id: webhookId } = await webhookIn(registry, organizationId, request.params.webhookId)
      const pause = { code: 'webhook_paused_by_person', reason: 'a person has paused it' } as const
      accepted(await registry.webhooks.pause(organizationId, webhookId, pause, viewer))
      return {}
    },
  })
}

function resumeWebhook(registry: WebhookRegistry, views: WebhookViews | undefined): Route {
  return route({
    method: 'POST',
    url: '/api/organizations/:id/webhooks/:webhookId/resume',
    may: inOrganization('webhook.manage', 'params.id'),
    schema: {
      operationId: 'resumeWebhook',
      summary: 'Resume a webhook, or replay events',
      description:
        'Without members it goes on where it was. With one of them it sends again what the log has from there on; a webhook that ' +
        'runs does so too.',
      params: OneParameters,
      body: Type.Object(
        {
          from: Type.Optional(
            Type.String({
              format: 'date-time',
              maxLength: 64,
              description: 'RFC 3339: the events that the log took from this time on.',
              examples: ['2026-01-15T12:00:00Z'],
            }),
          ),
          fromEventId: Type.Optional(
            Type.String({
              maxLength: 32,
              description: 'The id of an event: the events from its time on.',
              examples: ['17-4711'],
            }),
          ),
        },
        { [NAME]: 'WebhookResumption' },
      ),
      response: responses(Empty),
    },
    handle: async ({ viewer, organizationId }, request) => {
      const { id: webhookId } = await webhookIn(registry, organizationId, request.params.webhookId)
      const { from, fromEventId } = request.body
      if (from !== undefined && fromEventId !== undefined) {
        throw invalidArgument('from: must not stand beside fromEventId')
      }
      let fromMs = from === undefined ? undefined : Date.parse(from)
      if (fromEventId !== undefined) {
        fromMs = await views?.eventTimeMs(organizationId, fromEventId)
        if (fromMs === undefined) throw objectNotFound()
      }
      accepted(await registry.webhooks.resume(organizationId, webhookId, fromMs, viewer))
      return {}
    },
  })
}

function listDeliveries(registry: WebhookRegistry, views: WebhookViews): Route {
  return route({
    method: 'GET',
    url: '/api/organizations/:id/webhooks/:webhookId/deliveries',
    may: inOrganization('webhook.manage', 'params.id'),
    schema: {
      operationId: 'listWebhookDeliveries',
      summary: 'List the newest requests of a webhook',
      description: 'The newest first, 100 at most. They are kept in memory, since the webhook’s node started.',
      params: OneParameters,
      querystring: Type.Object({ limit: PagingQuery.limit, offset: PagingQuery.offset }),
      response: responses(listOf(Delivery, 'WebhookDeliveryList')),
    },
    handle: async ({ organizationId }, request) => {
      const { id: webhookId } = await webhookIn(registry, organizationId, request.params.webhookId)
      const deliveries = (await views.view(webhookId))?.deliveries ?? []
      const { limit, offset } = pageOf(request.query)
      const page = { totalCount: deliveries.length, items: deliveries.slice(offset, offset + limit) }
      return written(page, deliveryOf)
    },
  })
}

async function webhookIn(registry: WebhookRegistry, organizationId: string, webhookId: string): Promise<Webhook> {
  const webhook = await registry.webhooks.get(organizationId, webhookId)
  if (webhook === undefined) throw objectNotFound()
  return webhook
}
