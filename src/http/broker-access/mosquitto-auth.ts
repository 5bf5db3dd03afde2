/**
 * Endpoints 4 to 7 of the specification: broker-access tokens and the sentences that carry the
 * topics.
 */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import {
  applicationEventsTopic,
  commandTopic,
  deviceEventsTopic,
  EVENT_KINDS,
  eventTopic,
} from '../../lorawan/topics.ts'
import { viewerOf } from '../api/authenticate.ts'
import type { Caller } from '../api/caller.ts'
import { accepted, invalidArgument, objectNotFound } from '../api/errors.ts'
import {
  applicationId as applicationIdField,
  devEuiOf,
  DevEuiInput,
  flag,
  id,
  idInBody,
  idText,
  responses,
} from '../api/fields.ts'
import type { HttpApp } from '../api/http-app.ts'
import { SESSION_OR_BROKER_SECURITY, SESSION_SECURITY } from '../api/openapi.ts'
import { demandEventsIn, demandIn } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { ALSO_ACCEPTS, DOCUMENTED, NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'

/** The parts of the registry that these endpoints need. */
export type BrokerAccessRegistry = OwnershipRegistry & Pick<Registry, 'tokens'>

/** The bounds that a deployment sets for the life of broker-access tokens. */
export interface BrokerTokenSettings {
  readonly brokerTokenDefaultTtlSeconds: number
  readonly brokerTokenMaximumTtlSeconds: number
}

const Ttl = Type.Optional(
  Type.Union([Type.String({ maxLength: 64 }), Type.Number()], {
    description: 'Life of the token in seconds: a string of digits or a number. Nothing, "" and "0" mean the default.',
    examples: ['86400'],
    [RULE]: 'must be a string of digits',
    [DOCUMENTED]: { type: 'string', pattern: '^[0-9]{0,15}$', [ALSO_ACCEPTS]: ['integer'] },
  }),
)

const BrokerToken = Type.Object(
  {
    jwtMqttAuth: Type.String({
      description: 'JWT, used as MQTT user name.',
      examples: ['eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'],
    }),
  },
  { description: 'Broker-access token', [NAME]: 'BrokerToken' },
)

/**
 * Nobody is to hide a lasting access from those who read the audit without the console's tokens.
 */
const CONSOLE_TTL_SECONDS = 3600

/** Endpoint 4: a session becomes a broker-access token. */
export function addBrokerAccessRoute(
  app: HttpApp,
  registry: BrokerAccessRegistry,
  settings: BrokerTokenSettings,
): void {
  app.route({
    method: 'POST',
    url: '/api/mosquitto-auth/login',
    config: { credential: 'session' },
    schema: {
      tags: ['Broker access'],
      operationId: 'createBrokerToken',
      summary: 'Get a broker-access token',
      description:
        `The token is the MQTT user name; the MQTT password is the word default. It lives ${settings.brokerTokenDefaultTtlSeconds} ` +
        `seconds unless ttlInSeconds says otherwise, and at most ${settings.brokerTokenMaximumTtlSeconds}.`,
      security: SESSION_SECURITY,
      body: Type.Object({
        organizationId: idInBody('Organization id.'),
        ttlInSeconds: Ttl,
        isOfConsole: Type.Optional(
          flag(
            `For an open page of the console: lives ${CONSOLE_TTL_SECONDS} seconds at most, and GET /api/audit-log can leave it out.`,
          ),
        ),
      }),
      response: responses(BrokerToken),
    },
    handler: async (request) => {
      const viewer = viewerOf(request)
      const organizationId = idText(request.body.organizationId)
      const isOfConsole = request.body.isOfConsole ?? false
      const { brokerTokenDefaultTtlSeconds } = settings
      const defaultSeconds = isOfConsole
        ? Math.min(brokerTokenDefaultTtlSeconds, CONSOLE_TTL_SECONDS)
        : brokerTokenDefaultTtlSeconds
      const ttlSeconds = ttlOf(request.body.ttlInSeconds, defaultSeconds, settings)
      if (isOfConsole && ttlSeconds > CONSOLE_TTL_SECONDS) {
        throw invalidArgument(
          `ttlInSeconds: must be at most ${CONSOLE_TTL_SECONDS} with isOfConsole`,
          'ttl_out_of_range',
        )
      }
      await demandIn(registry, viewer, organizationId, 'brokerToken.issue')
      const token = accepted(
        await registry.tokens.issueBrokerAccess(
          { userId: viewer.userId, organizationId, ttlSeconds, isOfConsole },
          viewer,
        ),
      )
      return { jwtMqttAuth: token.jwt }
    },
  })
}

function ttlOf(
  value: string | number | undefined,
  defaultSeconds: number,
  { brokerTokenMaximumTtlSeconds }: BrokerTokenSettings,
): number {
  const seconds = value === undefined || value === '' ? 0 : secondsOf(value)
  if (seconds === undefined || seconds > brokerTokenMaximumTtlSeconds) {
    throw invalidArgument(
      `ttlInSeconds: must be a whole number from 1 to ${brokerTokenMaximumTtlSeconds}, or 0 for the default of ` +
        `${defaultSeconds}`,
      'ttl_out_of_range',
    )
  }
  return seconds === 0 ? defaultSeconds : seconds
}

function secondsOf(value: string | number): number | undefined {
  if (typeof value === 'string') return /^[0-9]{1,15}$/.test(value) ? Number(value) : undefined
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

const OrganizationQuery = id('Organization id.')
const DeviceQuery = Type.Object({ devEui: DevEuiInput, organizationId: OrganizationQuery })

/**
 * Endpoints 5, 6 and 7: the topics of an application's events, of a device's events and of a
 * device's commands.
 */
export function addTopicRoutes(app: HttpApp, registry: BrokerAccessRegistry): void {
  applicationEvents(app, registry)
  deviceEvents(app, registry)
  sendCommand(app, registry)
}

const config = { credential: 'sessionOrBrokerAccess' } as const
const common = { tags: ['Broker access'], security: SESSION_OR_BROKER_SECURITY }
const Sentence = Type.String({
  description: 'A sentence that ends with the topic in single quotes.',
  pattern: "'[^']+'$",
  examples: ["Topic for subscribing to application 1: 'application/1/device/+/event/+'"],
})
const OneTopic = Type.Object({ topic: Sentence }, { description: 'A topic', [NAME]: 'Topic' })
const EventTopics = Type.Object(
  { topic: Type.Array(Sentence, { minItems: 8, maxItems: 8 }) },
  { description: 'Topics of a device’s events', [NAME]: 'EventTopics' },
)

function applicationEvents(app: HttpApp, registry: BrokerAccessRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/mosquitto-auth/subscribe-application-events',
    config,
    schema: {
      ...common,
      operationId: 'getApplicationEventTopic',
      summary: 'Topic of all events of an application',
      description: 'One topic that covers all events of all devices of the application.',
      querystring: Type.Object({
        applicationId: applicationIdField('Application id.'),
        organizationId: OrganizationQuery,
      }),
      response: responses(OneTopic),
    },
    handler: async (request) => {
      const { applicationId, organizationId } = request.query
      await demandEventsIn(registry, request.caller, organizationId)
      const application = await registry.applications.get(applicationId)
      if (application === undefined || application.organizationId !== organizationId) throw objectNotFound()
      const topic = applicationEventsTopic(application.id)
      return { topic: `Topic for subscribing to application ${application.id}: '${topic}'` }
    },
  })
}

function deviceEvents(app: HttpApp, registry: BrokerAccessRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/mosquitto-auth/subscribe-device-events',
    config,
    schema: {
      ...common,
      operationId: 'getDeviceEventTopics',
      summary: 'Topics of a device’s events',
      description:
        'Eight topics: one for each kind of event, in the order up, join, ack, error, status, location, txack, and one for all.',
      querystring: DeviceQuery,
      response: responses(EventTopics),
    },
    handler: async (request) => {
      const { applicationId, devEui } = await deviceOf(registry, request.caller, request.query)
      const ofKinds = EVENT_KINDS.map(
        (kind) =>
          `Topic for subscribing to device ${devEui} on event ${kind}: '${eventTopic(applicationId, devEui, kind)}'`,
      )
      const ofAll = `Topic for subscribing to device ${devEui} on all events: '${deviceEventsTopic(applicationId, devEui)}'`
      return { topic: [...ofKinds, ofAll] }
    },
  })
}

function sendCommand(app: HttpApp, registry: BrokerAccessRegistry): void {
  app.route({
    method: 'GET',
    url: '/api/mosquitto-auth/send-command',
    config,
    schema: {
      ...common,
      operationId: 'getCommandTopic',
      summary: 'Topic of commands to a device',
      description: 'The topic to which downlink commands for the device are published.',
      querystring: DeviceQuery,
      response: responses(OneTopic),
    },
    handler: async (request) => {
      const { applicationId, devEui } = await deviceOf(registry, request.caller, request.query)
      return { topic: `Topic for publishing to device ${devEui}: '${commandTopic(applicationId, devEui)}'` }
    },
  })
}

async function deviceOf(
  registry: BrokerAccessRegistry,
  caller: Caller | null,
  query: { readonly devEui: string; readonly organizationId: string },
): Promise<{ readonly applicationId: string; readonly devEui: string }> {
  const devEui = devEuiOf('devEui', query.devEui)
  await demandEventsIn(registry, caller, query.organizationId)
  const device = await registry.devices.get(devEui)
  if (device === undefined || device.organizationId !== query.organizationId) throw objectNotFound()
  return device
}
