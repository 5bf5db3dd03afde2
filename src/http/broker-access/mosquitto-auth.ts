/**
 * Endpoints 4 to 7 of the specification: broker-access tokens and the sentences that carry the
 * topics.
 */
import { Type } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import { tokenScopeOf } from '../../identity/tokens/api-key-standing.ts'
import type { ApiKeyInForce } from '../../identity/tokens/api-key-standing.ts'
import type { GrantingKey } from '../../identity/tokens/broker-access-records.ts'
import { reachesApplication, reachesDevice, reachesEventKind } from '../../identity/tokens/scope.ts'
import type { EventKindName, Scope } from '../../identity/tokens/scope.ts'
import {
  applicationEventsTopic,
  commandTopic,
  deviceEventsTopic,
  EVENT_KINDS,
  eventTopic,
  organizationEventsTopic,
} from '../../lorawan/topics.ts'
import { accepted, invalidArgument, objectNotFound } from '../api/errors.ts'
import { applicationId as applicationIdField, DevEuiInput, flag, id, idInBody, responses } from '../api/fields.ts'
import { inOrganization } from '../api/access.ts'
import { commandsOfDevice, eventsOfApplication, eventsOfDevice, eventsOfOrganization } from '../api/event-access.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { demandScopeIn, scopeOf, ScopeInput } from '../api/scope-fields.ts'
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
 * The longest life of a console's token. Readers of the audit may leave these tokens out, so none
 * may be a lasting access.
 */
const CONSOLE_TTL_SECONDS = 3600

/** Endpoint 4: a session becomes a broker-access token. Endpoints 5 to 7: topics. */
export function brokerAccessRoutes(registry: BrokerAccessRegistry, settings: BrokerTokenSettings): readonly Route[] {
  return resource('Broker access', [
    login(registry, settings),
    applicationEvents(),
    deviceEvents(),
    organizationEvents(),
    sendCommand(),
  ])
}

function login(registry: BrokerAccessRegistry, settings: BrokerTokenSettings): Route {
  return route({
    method: 'POST',
    url: '/api/mosquitto-auth/login',
    may: inOrganization('brokerToken.issue', 'body.organizationId'),
    schema: {
      operationId: 'createBrokerToken',
      summary: 'Get a broker-access token',
      description:
        `The token is the MQTT user name; the MQTT password is the word default. It lives ${settings.brokerTokenDefaultTtlSeconds} ` +
        `seconds unless ttlInSeconds says otherwise, and at most ${settings.brokerTokenMaximumTtlSeconds}. Without further ` +
        'members it is for all events and commands of the organization; each of them takes a part away. A token that an API ' +
        'key asks for is never wider than the key and lives no longer; without commands.send it is read-only.',
      body: Type.Object({
        organizationId: idInBody('Organization id.'),
        ttlInSeconds: Ttl,
        isOfConsole: Type.Optional(
          flag(
            `For an open page of the console: lives ${CONSOLE_TTL_SECONDS} seconds at most, and GET /api/audit-log can leave it out.`,
          ),
        ),
        ...ScopeInput,
      }),
      response: responses(BrokerToken),
    },
    before({ body }) {
      ttlOf(body, settings)
      scopeOf(body)
    },
    handle: async ({ viewer, key, organizationId }, { body }) => {
      const asked = scopeOf(body)
      await demandScopeIn(registry, organizationId, asked)
      const base = { userId: viewer.userId, organizationId, ttlSeconds: ttlOf(body, settings) }
      if (key !== undefined) {
        const scope = await scopeOfKey(registry, key, asked)
        const token = accepted(
          await registry.tokens.issueBrokerAccess({ ...base, scope, apiKey: grantingKey(key) }, viewer),
        )
        return { jwtMqttAuth: token.jwt }
      }
      const grant = { ...base, isOfConsole: body.isOfConsole ?? false, scope: asked }
      const token = accepted(await registry.tokens.issueBrokerAccess(grant, viewer))
      return { jwtMqttAuth: token.jwt }
    },
  })
}

/**
 * The scope of a token that an API key makes: never wider than the key. A thing that the key does
 * not reach answers like one that does not exist.
 */
async function scopeOfKey(
  registry: BrokerAccessRegistry,
  key: ApiKeyInForce,
  asked: Scope | undefined,
): Promise<Scope | undefined> {
  for (const applicationId of asked?.applicationIds ?? []) {
    if (!reachesApplication(key.scope, applicationId)) throw objectNotFound()
  }
  for (const devEui of asked?.devEuis ?? []) {
    const device = await registry.devices.get(devEui)
    if (device === undefined || !reachesDevice(key.scope, device)) throw objectNotFound()
  }
  return accepted(tokenScopeOf(key, asked))
}

/** The token lives no longer than the key, and than the secret with which it was asked for. */
function grantingKey({ id: keyId, generation, expiresAtMs, secretUntilMs }: ApiKeyInForce): GrantingKey {
  const untilMs = Math.min(expiresAtMs ?? Infinity, secretUntilMs ?? Infinity)
  return { id: keyId, generation, untilMs: untilMs === Infinity ? null : untilMs }
}

/** The life of the token in seconds. Refuses a life beyond its bounds. */
function ttlOf(
  body: { readonly ttlInSeconds?: string | number; readonly isOfConsole?: boolean },
  { brokerTokenDefaultTtlSeconds, brokerTokenMaximumTtlSeconds }: BrokerTokenSettings,
): number {
  const { ttlInSeconds: value, isOfConsole = false } = body
  const defaultSeconds = isOfConsole
    ? Math.min(brokerTokenDefaultTtlSeconds, CONSOLE_TTL_SECONDS)
    : brokerTokenDefaultTtlSeconds
  const given = value === undefined || value === '' ? 0 : secondsOf(value)
  if (given === undefined || given > brokerTokenMaximumTtlSeconds) {
    throw invalidArgument(
      `ttlInSeconds: must be a whole number from 1 to ${brokerTokenMaximumTtlSeconds}, or 0 for the default of ` +
        `${defaultSeconds}`,
      'ttl_out_of_range',
    )
  }
  const seconds = given === 0 ? defaultSeconds : given
  if (isOfConsole && seconds > CONSOLE_TTL_SECONDS) {
    throw invalidArgument(`ttlInSeconds: must be at most ${CONSOLE_TTL_SECONDS} with isOfConsole`, 'ttl_out_of_range')
  }
  return seconds
}

function secondsOf(value: string | number): number | undefined {
  if (typeof value === 'string') return /^[0-9]{1,15}$/.test(value) ? Number(value) : undefined
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

const OrganizationQuery = id('Organization id.')
const DeviceQuery = Type.Object({ devEui: DevEuiInput, organizationId: OrganizationQuery })

const Sentence = Type.String({
  description: 'A sentence that ends with the topic in single quotes.',
  pattern: "'[^']+'$",
  examples: ["Topic for subscribing to application 1: 'application/1/device/+/event/+'"],
})
const OneTopic = Type.Object({ topic: Sentence }, { description: 'A topic', [NAME]: 'Topic' })
const EventTopics = Type.Object(
  { topic: Type.Array(Sentence, { minItems: 1, maxItems: 8 }) },
  { description: 'Topics of a device’s events', [NAME]: 'EventTopics' },
)

function applicationEvents(): Route {
  return route({
    method: 'GET',
    url: '/api/mosquitto-auth/subscribe-application-events',
    may: eventsOfApplication('query.applicationId', 'query.organizationId'),
    schema: {
      operationId: 'getApplicationEventTopic',
      summary: 'Topic of all events of an application',
      description: 'One topic that covers all events of all devices of the application.',
      querystring: Type.Object({
        applicationId: applicationIdField('Application id.'),
        organizationId: OrganizationQuery,
      }),
      response: responses(OneTopic),
    },
    handle: async ({ application, scope }) => {
      const topic = applicationEventsTopic(application.id, onlyKind(scope))
      return { topic: `Topic for subscribing to application ${application.id}: '${topic}'` }
    },
  })
}

function organizationEvents(): Route {
  return route({
    method: 'GET',
    url: '/api/mosquitto-auth/subscribe-organization-events',
    may: eventsOfOrganization('query.organizationId'),
    schema: {
      operationId: 'getOrganizationEventTopic',
      summary: 'Topic of all events of an organization',
      description:
        'One topic that covers all events of all applications, later ones included. Only a token that was made with ' +
        'reachesAllApplications may subscribe to it.',
      querystring: Type.Object({ organizationId: OrganizationQuery }),
      response: responses(OneTopic),
    },
    handle: async ({ organizationId, scope }) => {
      const topic = organizationEventsTopic(onlyKind(scope))
      return { topic: `Topic for subscribing to organization ${organizationId}: '${topic}'` }
    },
  })
}

function deviceEvents(): Route {
  return route({
    method: 'GET',
    url: '/api/mosquitto-auth/subscribe-device-events',
    may: eventsOfDevice('query.devEui', 'query.organizationId'),
    schema: {
      operationId: 'getDeviceEventTopics',
      summary: 'Topics of a device’s events',
      description:
        'Eight topics: one for each kind of event, in the order up, join, ack, error, status, location, txack, and one for ' +
        'all. A token for some kinds of event gets the topics of these kinds, and the one for all, which brings only them.',
      querystring: DeviceQuery,
      response: responses(EventTopics),
    },
    handle: async ({ device: { applicationId, devEui }, scope }) => {
      const ofKinds = EVENT_KINDS.filter((kind) => reachesEventKind(scope, kind)).map(
        (kind) =>
          `Topic for subscribing to device ${devEui} on event ${kind}: '${eventTopic(applicationId, devEui, kind)}'`,
      )
      const ofAll = `Topic for subscribing to device ${devEui} on all events: '${deviceEventsTopic(applicationId, devEui)}'`
      return { topic: [...ofKinds, ofAll] }
    },
  })
}

/** The one kind of event that the scope lets through; undefined where it lets several through. */
function onlyKind(scope: Scope | undefined): EventKindName | undefined {
  const kinds = scope?.eventKinds
  return kinds?.length === 1 ? kinds[0] : undefined
}

function sendCommand(): Route {
  return route({
    method: 'GET',
    url: '/api/mosquitto-auth/send-command',
    may: commandsOfDevice('query.devEui', 'query.organizationId'),
    schema: {
      operationId: 'getCommandTopic',
      summary: 'Topic of commands to a device',
      description: 'The topic to which downlink commands for the device are published.',
      querystring: DeviceQuery,
      response: responses(OneTopic),
    },
    handle: async ({ device: { applicationId, devEui } }) => {
      return { topic: `Topic for publishing to device ${devEui}: '${commandTopic(applicationId, devEui)}'` }
    },
  })
}
