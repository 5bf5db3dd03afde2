/**
 * Where network servers post events: ChirpStack's HTTP integration and the webhooks of The Things
 * Stack.
 */
import { Type } from 'typebox'
import type { WebhookOutcome, WebhookReceiver } from '../../lorawan/network-servers/http/webhook-receiver.ts'
import { NETWORK_SERVER } from '../api/access.ts'
import { invalidArgument, objectNotFound, RequestRefused } from '../api/errors.ts'
import { Empty, responses, text } from '../api/fields.ts'
import type { HttpApp } from '../api/http-app.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import { skipBody } from '../api/validate.ts'

/** The receiver of the events. */
export type NetworkServerEvents = Pick<WebhookReceiver, 'receive'>

/** The longest body of a webhook, in bytes: an event of a device has some KB. */
const WEBHOOK_LIMIT_BYTES = 256 * 1024

/** The routes of network servers’ events, for a scope that `keepBodies` has prepared. */
export function networkServerEventRoutes(events: NetworkServerEvents): readonly Route[] {
  return resource('Network servers', [chirpStackEvents(events), theThingsStackEvents(events)])
}

/** Keeps the bodies of a scope as bytes: an event is passed on as it came. */
export function keepBodies(scope: HttpApp): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) => body)
}

const common = {
  body: Type.Unsafe<Buffer | undefined>({
    type: 'object',
    additionalProperties: true,
    description: 'The event, as the network server has it.',
  }),
  response: responses(Empty),
}

function chirpStackEvents(events: NetworkServerEvents): Route {
  return route({
    method: 'POST',
    url: '/api/network-servers/chirpstack/events',
    may: NETWORK_SERVER,
    bodyLimit: WEBHOOK_LIMIT_BYTES,
    validatorCompiler: skipBody,
    schema: {
      ...common,
      operationId: 'postChirpStackEvent',
      summary: 'Take an event of ChirpStack',
      description:
        'For the HTTP integration of ChirpStack v3 and v4, JSON. 200 when the event is owned: then it reaches its ' +
        'subscribers. The device must be one of the credential’s organization; its application is the one that it has here.',
      querystring: Type.Object({ event: text(20, 'The kind of event; ChirpStack adds it.') }),
    },
    handle: async ({ organizationId }, request) => {
      const { event } = request.query
      const body = request.body ?? Buffer.alloc(0)
      return answered(await events.receive({ source: 'chirpstack', organizationId, event, body }))
    },
  })
}

function theThingsStackEvents(events: NetworkServerEvents): Route {
  return route({
    method: 'POST',
    url: '/api/network-servers/the-things-stack/events',
    may: NETWORK_SERVER,
    bodyLimit: WEBHOOK_LIMIT_BYTES,
    validatorCompiler: skipBody,
    schema: {
      ...common,
      operationId: 'postTheThingsStackEvent',
      summary: 'Take an event of The Things Stack',
      description:
        'For its webhooks, JSON, of all kinds of message. They become events of the shape that ChirpStack v4 has. 200 when ' +
        'the event is owned, and for messages that have no event here.',
    },
    handle: async ({ organizationId }, request) => {
      const body = request.body ?? Buffer.alloc(0)
      return answered(await events.receive({ source: 'the-things-stack', organizationId, event: undefined, body }))
    },
  })
}

/**
 * An empty answer for an event that is owned. Each refusal lets the network server know whether to
 * try again.
 */
function answered(outcome: WebhookOutcome): Record<string, never> {
  if (outcome.outcome === 'failed') {
    const headers = { 'retry-after': '5' }
    throw new RequestRefused('unavailable', 'the event can’t be owned now', 'event_not_owned', { headers })
  }
  if (outcome.outcome === 'refused') {
    if (outcome.code === 'event_device_unknown') throw objectNotFound()
    if (outcome.code === 'device_disabled') {
      throw new RequestRefused('failed_precondition', outcome.reason, 'event_device_disabled')
    }
    throw invalidArgument(outcome.reason, 'event_invalid')
  }
  return {}
}
