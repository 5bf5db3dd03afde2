/**
 * Where network servers post events: ChirpStack's HTTP integration and the webhooks of The Things
 * Stack.
 */
import type { FastifySchemaCompiler } from 'fastify'
import { Type } from 'typebox'
import type { TSchema } from 'typebox'
import type { WebhookOutcome, WebhookReceiver } from '../../lorawan/network-servers/http/webhook-receiver.ts'
import { networkServerOf } from '../api/authenticate.ts'
import { invalidArgument, objectNotFound, RequestRefused } from '../api/errors.ts'
import { Empty, responses, text } from '../api/fields.ts'
import type { HttpApp } from '../api/http-app.ts'
import { SERVICE_CREDENTIAL_SECURITY } from '../api/openapi.ts'
import { compileValidator } from '../api/validate.ts'

/** Who takes the events. */
export type NetworkServerEvents = Pick<WebhookReceiver, 'receive'>

/** Of a webhook in bytes: an event of a device has some KB. */
const WEBHOOK_LIMIT_BYTES = 256 * 1024

/** Registers the routes, in a scope whose bodies stay bytes: an event is passed on as it came. */
export async function addNetworkServerEventRoutes(app: HttpApp, events: NetworkServerEvents): Promise<void> {
  await app.register(async (scope: HttpApp) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer' },
      async (_request: unknown, body: Buffer) => body,
    )
    chirpStackEvents(scope, events)
    theThingsStackEvents(scope, events)
  })
}

const common = {
  tags: ['Network servers'],
  security: SERVICE_CREDENTIAL_SECURITY,
  body: Type.Unsafe<Buffer | undefined>({
    type: 'object',
    additionalProperties: true,
    description: 'The event, as the network server has it.',
  }),
  response: responses(Empty),
}
const route = {
  method: 'POST',
  config: { credential: 'serviceCredential' },
  bodyLimit: WEBHOOK_LIMIT_BYTES,
} as const

/** The body is bytes, which the receiver reads; everything else is checked as everywhere. */
const skipBody: FastifySchemaCompiler<TSchema> = (part) =>
  part.httpPart === 'body' ? (value: unknown) => ({ value }) : compileValidator(part)

function chirpStackEvents(scope: HttpApp, events: NetworkServerEvents): void {
  scope.route({
    ...route,
    url: '/api/network-servers/chirpstack/events',
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
    handler: async (request) => {
      const { organizationId } = networkServerOf(request)
      const { event } = request.query
      const body = request.body ?? Buffer.alloc(0)
      return answered(await events.receive({ source: 'chirpstack', organizationId, event, body }))
    },
  })
}

function theThingsStackEvents(scope: HttpApp, events: NetworkServerEvents): void {
  scope.route({
    ...route,
    url: '/api/network-servers/the-things-stack/events',
    validatorCompiler: skipBody,
    schema: {
      ...common,
      operationId: 'postTheThingsStackEvent',
      summary: 'Take an event of The Things Stack',
      description:
        'For its webhooks, JSON, of all kinds of message. They become events of the shape that ChirpStack v4 has. 200 when ' +
        'the event is owned, and for messages that have no event here.',
    },
    handler: async (request) => {
      const { organizationId } = networkServerOf(request)
      const body = request.body ?? Buffer.alloc(0)
      return answered(await events.receive({ source: 'the-things-stack', organizationId, event: undefined, body }))
    },
  })
}

/** Nothing to say where it is done; otherwise what lets the network server try again, or not. */
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
