/**
 * Every route, with a request that succeeds for whoever may send it, and the status that each
 * person hears. The access matrix, the hostile inputs and the OpenAPI check are generated from this
 * table; a route without an entry fails them.
 */
import assert from 'node:assert/strict'
import type { InjectOptions } from 'fastify'
import { given } from '../given.ts'
import { must, newApplication, newDevice, PASSWORD } from './broker-access/deployment.testing.ts'
import { LIBRARY_PROFILE } from '../identity/devices/library-profile.testing.ts'
import { zipOf } from '../lorawan/library/zip.testing.ts'
import { NO_PROFILE } from '../identity/devices/device-profile.testing.ts'
import type { TestDeployment } from './broker-access/deployment.testing.ts'

/** Ids that a request is about. */
export interface Targets {
  /** A broker-access token of a member. */
  readonly brokerToken: string
  readonly organizationId: string
  readonly applicationId: string
  readonly devEui: string
  readonly userId: string
  readonly tokenId: string
  readonly credentialId: string
  readonly metricsTokenId: string
  readonly apiKeyId: string
  readonly connectionId: string
  readonly webhookId: string
  readonly profileId: string
  readonly registrationRuleId: string
  readonly libraryProfileId: string
}

/**
 * The answers to six people: stranger, read-only member, member, device admin, organization admin,
 * global admin.
 */
type PeopleStatus = readonly [number, number, number, number, number, number]

/** One route of the server. */
export interface RouteCase {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  readonly credential:
    | 'none'
    | 'session'
    | 'sessionOrBrokerAccess'
    | 'secondFactorStep'
    | 'metrics'
    | 'serviceCredential'
    | 'brokerHook'
  readonly request: (targets: Targets, serial: number) => Omit<InjectOptions, 'method'>
  readonly people: PeopleStatus
  /** The answer to broker-access tokens, where it is another one than to their users. */
  readonly token?: number
  /** Makes what the request destroys. */
  readonly fresh?: (deployment: TestDeployment, serial: number) => Promise<Partial<Targets>>
  /** True where the stranger's refusal must read like that of an unknown id. */
  readonly hides?: true
}

const ACTOR = { userId: null }
const NETWORK_SERVER = { networkServer: { name: 'main', url: 'http://chirpstack:8080', apiKey: 'a-key' } }

const EVERYBODY: PeopleStatus = [200, 200, 200, 200, 200, 200]
const MEMBERS: PeopleStatus = [404, 200, 200, 200, 200, 200]
/** Members who are not read-only. */
const COMMANDERS: PeopleStatus = [404, 403, 200, 200, 200, 200]
const DEVICE_ADMINS: PeopleStatus = [404, 403, 403, 200, 200, 200]
const ORGANIZATION_ADMINS: PeopleStatus = [404, 403, 403, 403, 200, 200]
const GLOBAL_ADMINS: PeopleStatus = [403, 403, 403, 403, 403, 200]

const freshOrganization = async ({ registry }: TestDeployment, serial: number): Promise<Partial<Targets>> => {
  const name = `fresh-${serial}`
  const created = await registry.organizations.create({ name, displayName: name, canHaveGateways: false }, ACTOR)
  return { organizationId: must(created).id }
}

const freshApplication = async (deployment: TestDeployment, serial: number): Promise<Partial<Targets>> => ({
  applicationId: await newApplication(deployment.registry, deployment.organizationId, `fresh-${serial}`),
})

const freshDevice = async (deployment: TestDeployment, serial: number): Promise<Partial<Targets>> => ({
  devEui: await newDevice(deployment.registry, deployment.applicationId, devEuiOfSerial(serial)),
})

const QUEUE_ITEM = { confirmed: true, fPort: 10, data: 'AQID', id: 'valve-7' }

const freshCommand = async (deployment: TestDeployment, serial: number): Promise<Partial<Targets>> => {
  const made = await freshDevice(deployment, serial)
  const { statusCode } = await deployment.ask(await deployment.session('deviceAdmin'), {
    method: 'POST',
    url: `/api/devices/${made.devEui}/queue`,
    payload: { deviceQueueItem: QUEUE_ITEM },
  })
  assert.equal(statusCode, 200)
  return made
}

const freshUser = async ({ registry }: TestDeployment, serial: number): Promise<Partial<Targets>> => {
  const email = `fresh-${serial}@example.org`
  const fields = { email, isAdmin: false, isActive: true, note: '', password: PASSWORD }
  return { userId: must(await registry.users.create(fields, ACTOR)).id }
}

const freshMember = async (deployment: TestDeployment, serial: number): Promise<Partial<Targets>> => {
  const { userId = '' } = await freshUser(deployment, serial)
  const roles = { isAdmin: false, isDeviceAdmin: false, isGatewayAdmin: false }
  must(await deployment.registry.members.add(deployment.organizationId, userId, roles, ACTOR))
  return { userId }
}

const freshToken = async (deployment: TestDeployment): Promise<Partial<Targets>> => {
  const { registry, userIds, organizationId } = deployment
  const grant = { userId: userIds.deviceAdmin, organizationId, ttlSeconds: 3600 }
  return { tokenId: must(await registry.tokens.issueBrokerAccess(grant)).tokenId }
}

const freshCredential = async (deployment: TestDeployment, serial: number): Promise<Partial<Targets>> => {
  const { registry, organizationId } = deployment
  const created = await registry.serviceCredentials.create({ name: `fresh-${serial}`, organizationId }, ACTOR)
  return { credentialId: must(created).id }
}

const freshMetricsToken = async ({ registry }: TestDeployment, serial: number): Promise<Partial<Targets>> => ({
  metricsTokenId: must(await registry.metricsTokens.create(`fresh ${serial}`, ACTOR)).id,
})

const freshApiKey = async (
  { registry, organizationId, userIds }: TestDeployment,
  serial: number,
  isOfDeployment = false,
): Promise<Partial<Targets>> => {
  const owner = isOfDeployment
    ? { organizationId: null, makerUserId: userIds.globalAdmin }
    : { organizationId, makerUserId: userIds.organizationAdmin }
  const fields = { name: `fresh ${serial}`, rights: ['events.read'], scope: undefined, expiresAtMs: null } as const
  const made = must(await registry.apiKeys.create({ ...fields, ...owner }, ACTOR))
  // There is a bound on keys. One of the last rounds makes room.
  const { items } = await registry.apiKeys.list(owner.organizationId, { limit: 100, offset: 0 })
  const spent = items.filter(({ id, name }) => id !== made.id && name.startsWith('fresh '))
  for (const { id } of spent) await registry.apiKeys.revoke(id, ACTOR)
  return { apiKeyId: made.id }
}

const freshDeploymentApiKey = (deployment: TestDeployment, serial: number) => freshApiKey(deployment, serial, true)

const freshConnection = async ({
  brokerViews,
  userIds,
  organizationId,
}: TestDeployment): Promise<Partial<Targets>> => ({
  connectionId: brokerViews.connect({ userId: userIds.member, organizationId }).id,
})

const GIVEN_WEBHOOK = { name: 'Billing', url: 'https://billing.example.org/events', concurrency: 1 }

/** An organization has a bound of webhooks, which the many requests of the tests would reach. */
const withoutWebhooks = async ({ registry, organizationId }: TestDeployment): Promise<Partial<Targets>> => {
  const { items } = await registry.webhooks.list(organizationId, { limit: 100, offset: 0 })
  for (const { id } of items) must(await registry.webhooks.remove(organizationId, id, ACTOR))
  return {}
}

const freshWebhook = async (deployment: TestDeployment): Promise<Partial<Targets>> => {
  const { registry, organizationId } = deployment
  await withoutWebhooks(deployment)
  const others = { timeoutSeconds: 10, giveUpSeconds: 60, onRefused: 'pause', acceptsCommands: false } as const
  const created = await registry.webhooks.create(organizationId, { settings: { ...GIVEN_WEBHOOK, ...others } }, ACTOR)
  return { webhookId: must(created).id }
}

const freshUnknownDevice = async (
  { unknownDevices, organizationId }: TestDeployment,
  serial: number,
): Promise<Partial<Targets>> => {
  const devEui = `b${devEuiOfSerial(serial).slice(1)}`
  const source = { networkServer: 'http', organizationId }
  await unknownDevices.keep(source, { applicationId: '', devEui, kind: 'up', payload: Buffer.from('{}') })
  return { devEui }
}

const RULE_SETTINGS = {
  isOfDeployment: false,
  networkServer: 'http',
  networkServerApplicationId: '',
  networkServerApplicationName: '',
  networkServerProfileName: 'Water',
  devEuiPrefix: '',
  nameTemplate: '',
  deviceProfileId: '',
  deviceProfileName: '',
  tags: {},
}

/** An organization has a bound of rules, which the many requests of the tests would reach. */
const withoutRules = async ({ registry, organizationId }: TestDeployment): Promise<Partial<Targets>> => {
  const { items } = await registry.registrationRules.list(organizationId, { limit: 100, offset: 0 })
  for (const { id } of items) must(await registry.registrationRules.remove(organizationId, id, ACTOR))
  return {}
}

const freshRule = async (deployment: TestDeployment): Promise<Partial<Targets>> => {
  const { registry, applicationId } = deployment
  await withoutRules(deployment)
  return { registrationRuleId: must(await registry.registrationRules.create(applicationId, RULE_SETTINGS, ACTOR)).id }
}

/** A DevEUI that no other serial has. */
function devEuiOfSerial(serial: number): string {
  return `a${serial.toString(16).padStart(15, '0')}`
}

const PUBLIC: readonly RouteCase[] = [
  {
    method: 'POST',
    url: '/api/internal/login',
    credential: 'none',
    request: () => ({ url: '/api/internal/login', payload: { username: 'member@example.org', password: PASSWORD } }),
    people: EVERYBODY,
  },
  ...[
    '/api/internal/health',
    '/api/internal/health/live',
    '/api/internal/jwks',
    '/api/internal/ca.pem',
    '/.well-known/jwks.json',
    '/api/openapi.json',
    '/api/docs',
    '/api/docs/search.json',
    '/api/schemas/v1/index.json',
    '/api/asyncapi.json',
  ].map((url): RouteCase => ({ method: 'GET', url, credential: 'none', request: () => ({ url }), people: EVERYBODY })),
  {
    method: 'GET',
    url: '/api/schemas/v1/:group/:file',
    credential: 'none',
    request: () => ({ url: '/api/schemas/v1/commands/command.json' }),
    people: EVERYBODY,
  },
  {
    method: 'GET',
    url: '/api/schemas/v1/events/:family/:file',
    credential: 'none',
    request: () => ({ url: '/api/schemas/v1/events/a/up.json' }),
    people: EVERYBODY,
  },
  {
    method: 'GET',
    url: '/metrics',
    credential: 'metrics',
    request: () => ({ url: '/metrics' }),
    people: GLOBAL_ADMINS,
  },
]

const own = (
  method: RouteCase['method'],
  url: string,
  payload: InjectOptions['payload'] | undefined,
  status: number,
  headers: Record<string, string> = {},
): RouteCase => ({
  method,
  url,
  credential: 'session',
  request: () => ({ url, headers, ...(payload === undefined ? {} : { payload }) }),
  people: [status, status, status, status, status, status],
})

const OTP = { 'grpc-metadata-x-otp': '123456' }

const ACCOUNT: readonly RouteCase[] = [
  own('GET', '/api/internal/deployment', undefined, 200),
  own('POST', '/api/internal/console-session', undefined, 200),
  ...(['GET', 'DELETE'] as const).map((method): RouteCase => {
    const url = '/api/internal/console-session'
    const request = () => ({ url, headers: { 'fieldgate-console': '1' } })
    return { method, url, credential: 'none', request, people: EVERYBODY }
  }),
  {
    method: 'POST',
    url: '/api/internal/login-2fa',
    credential: 'secondFactorStep',
    request: () => ({ url: '/api/internal/login-2fa', payload: {}, headers: OTP }),
    people: [401, 401, 401, 401, 401, 401],
  },
  own('GET', '/api/internal/profile', undefined, 200),
  own('PUT', '/api/internal/password', { oldPassword: PASSWORD, password: PASSWORD }, 200),
  own('POST', '/api/internal/sign-out-everywhere', undefined, 200),
  own('GET', '/api/internal/totp-status', undefined, 200),
  own('POST', '/api/internal/totp-enable', {}, 400, OTP),
  own('POST', '/api/internal/totp-disable', {}, 400, OTP),
  own('POST', '/api/internal/totp-recovery-codes', { regenerate: true }, 400, OTP),
  own('POST', '/api/internal/totp-configuration', { qrCodeSize: 64 }, 200),
]

const BROKER_ACCESS: readonly RouteCase[] = [
  {
    method: 'POST',
    url: '/api/mosquitto-auth/login',
    credential: 'session',
    request: ({ organizationId }) => ({
      url: '/api/mosquitto-auth/login',
      payload: { organizationId, ttlInSeconds: '60' },
    }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/mosquitto-auth/subscribe-application-events',
    credential: 'sessionOrBrokerAccess',
    request: ({ applicationId, organizationId }) => ({
      url: '/api/mosquitto-auth/subscribe-application-events',
      query: { applicationId, organizationId },
    }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/mosquitto-auth/subscribe-organization-events',
    credential: 'sessionOrBrokerAccess',
    request: ({ organizationId }) => ({
      url: '/api/mosquitto-auth/subscribe-organization-events',
      query: { organizationId },
    }),
    people: MEMBERS,
    token: 403,
    hides: true,
  },
  ...['subscribe-device-events', 'send-command'].map((name): RouteCase => {
    const url = `/api/mosquitto-auth/${name}`
    return {
      method: 'GET',
      url,
      credential: 'sessionOrBrokerAccess',
      request: ({ devEui, organizationId }) => ({ url, query: { devEui, organizationId } }),
      people: name === 'send-command' ? COMMANDERS : MEMBERS,
      hides: true,
    }
  }),
  {
    method: 'GET',
    url: '/api/broker-tokens',
    credential: 'session',
    request: ({ organizationId }) => ({ url: '/api/broker-tokens', query: { organizationID: organizationId } }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'DELETE',
    url: '/api/broker-tokens/:id',
    credential: 'session',
    request: ({ tokenId }) => ({ url: `/api/broker-tokens/${tokenId}` }),
    fresh: freshToken,
    // The device admin owns the token; another plain member must not learn that it exists.
    people: [404, 404, 404, 200, 200, 200],
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/broker-tokens/:id/status',
    credential: 'session',
    request: ({ tokenId }) => ({ url: `/api/broker-tokens/${tokenId}/status` }),
    fresh: freshToken,
    people: [404, 404, 404, 200, 200, 200],
    hides: true,
  },
]

const ORGANIZATIONS: readonly RouteCase[] = [
  own('GET', '/api/organizations', undefined, 200),
  {
    method: 'POST',
    url: '/api/organizations',
    credential: 'session',
    request: (_targets, serial) => ({
      url: '/api/organizations',
      payload: { organization: { name: `new-${serial}` } },
    }),
    people: GLOBAL_ADMINS,
  },
  {
    method: 'GET',
    url: '/api/organizations/:id',
    credential: 'session',
    request: ({ organizationId }) => ({ url: `/api/organizations/${organizationId}` }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'PUT',
    url: '/api/organizations/:id',
    credential: 'session',
    request: ({ organizationId }, serial) => ({
      url: `/api/organizations/${organizationId}`,
      payload: { organization: { displayName: `Acme ${serial}` } },
    }),
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'DELETE',
    url: '/api/organizations/:id',
    credential: 'session',
    request: ({ organizationId }) => ({ url: `/api/organizations/${organizationId}` }),
    fresh: freshOrganization,
    // Nobody but the global admin has a role in a fresh organization.
    people: [404, 404, 404, 404, 404, 200],
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/organizations/:id/bounds',
    credential: 'session',
    request: ({ organizationId }) => ({ url: `/api/organizations/${organizationId}/bounds` }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'PUT',
    url: '/api/organizations/:id/bounds',
    credential: 'session',
    request: ({ organizationId }) => ({
      url: `/api/organizations/${organizationId}/bounds`,
      payload: { bounds: { sessions: 20_000, retainedBytes: null } },
    }),
    people: [404, 403, 403, 403, 403, 200],
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/organizations/:id/users',
    credential: 'session',
    request: ({ organizationId }) => ({ url: `/api/organizations/${organizationId}/users` }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/organizations/:id/users',
    credential: 'session',
    request: ({ organizationId }, serial) => ({
      url: `/api/organizations/${organizationId}/users`,
      payload: { organizationUser: { email: `fresh-${serial}@example.org`, isDeviceAdmin: true } },
    }),
    fresh: freshUser,
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  ...(['GET', 'PUT', 'DELETE'] as const).map((method): RouteCase => ({
    method,
    url: '/api/organizations/:id/users/:userId',
    credential: 'session',
    request: ({ organizationId, userId }) => ({
      url: `/api/organizations/${organizationId}/users/${userId}`,
      ...(method === 'PUT' ? { payload: { organizationUser: { isDeviceAdmin: true } } } : {}),
    }),
    fresh: freshMember,
    people: method === 'GET' ? MEMBERS : ORGANIZATION_ADMINS,
    hides: true,
  })),
]

const USERS: readonly RouteCase[] = [
  {
    method: 'GET',
    url: '/api/users',
    credential: 'session',
    request: () => ({ url: '/api/users' }),
    people: GLOBAL_ADMINS,
  },
  {
    method: 'POST',
    url: '/api/users',
    credential: 'session',
    request: (_targets, serial) => ({
      url: '/api/users',
      payload: { user: { email: `new-${serial}@example.org` }, password: PASSWORD },
    }),
    people: GLOBAL_ADMINS,
  },
  {
    method: 'GET',
    url: '/api/users/:id',
    credential: 'session',
    request: ({ userId }) => ({ url: `/api/users/${userId}` }),
    fresh: freshUser,
    people: [404, 404, 404, 404, 404, 200],
    hides: true,
  },
  ...(['PUT', 'DELETE'] as const).map((method): RouteCase => ({
    method,
    url: '/api/users/:id',
    credential: 'session',
    request: ({ userId }) => ({
      url: `/api/users/${userId}`,
      ...(method === 'PUT' ? { payload: { user: { note: 'changed' } } } : {}),
    }),
    fresh: freshUser,
    people: GLOBAL_ADMINS,
    hides: true,
  })),
  {
    method: 'PUT',
    url: '/api/users/:id/password',
    credential: 'session',
    request: ({ userId }) => ({ url: `/api/users/${userId}/password`, payload: { password: `${PASSWORD} 2` } }),
    fresh: freshUser,
    people: [404, 404, 404, 404, 404, 200],
    hides: true,
  },
  {
    method: 'DELETE',
    url: '/api/users/:id/second-factor',
    credential: 'session',
    request: ({ userId }) => ({ url: `/api/users/${userId}/second-factor` }),
    fresh: async (deployment, serial) => {
      const { userId = '' } = await freshUser(deployment, serial)
      must(await deployment.registry.secondFactor.configure(userId, 64, ACTOR))
      return { userId }
    },
    people: GLOBAL_ADMINS,
    hides: true,
  },
]

const APPLICATIONS: readonly RouteCase[] = [
  {
    method: 'GET',
    url: '/api/applications',
    credential: 'session',
    request: ({ organizationId }) => ({ url: '/api/applications', query: { organizationID: organizationId } }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/applications',
    credential: 'session',
    request: ({ organizationId }, serial) => ({
      url: '/api/applications',
      payload: { application: { name: `new-${serial}`, organizationID: organizationId } },
    }),
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  ...(['GET', 'PUT', 'DELETE'] as const).map((method): RouteCase => ({
    method,
    url: '/api/applications/:id',
    credential: 'session',
    request: ({ applicationId }) => ({
      url: `/api/applications/${applicationId}`,
      ...(method === 'PUT' ? { payload: { application: { description: 'changed' } } } : {}),
    }),
    fresh: freshApplication,
    people: method === 'GET' ? MEMBERS : ORGANIZATION_ADMINS,
    hides: true,
  })),
  {
    method: 'POST',
    url: '/api/applications/:id/codec/test',
    credential: 'session',
    request: ({ applicationId }) => ({
      url: `/api/applications/${applicationId}/codec/test`,
      payload: {
        payloadCodec: 'CUSTOM_JS',
        payloadDecoderScript: 'function Decode(fPort, bytes) { return bytes }',
        payloadEncoderScript: 'function Encode(fPort, object) { return [object.a] }',
        fPort: 2,
        hex: '0102',
        object: { a: 7 },
        variables: { offset: '1' },
      },
    }),
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
]

const EVENTS: readonly RouteCase[] = [
  {
    method: 'GET',
    url: '/api/applications/:id/events',
    credential: 'sessionOrBrokerAccess',
    request: ({ applicationId }) => ({ url: `/api/applications/${applicationId}/events` }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/devices/:devEui/events',
    credential: 'sessionOrBrokerAccess',
    request: ({ devEui }) => ({ url: `/api/devices/${devEui}/events`, headers: { accept: 'application/x-ndjson' } }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/devices/:devEui/events/buckets',
    credential: 'sessionOrBrokerAccess',
    request: ({ devEui }) => ({ url: `/api/devices/${devEui}/events/buckets` }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/devices/:devEui/last',
    credential: 'sessionOrBrokerAccess',
    request: ({ devEui }) => ({ url: `/api/devices/${devEui}/last` }),
    people: MEMBERS,
    hides: true,
  },
]

const DEVICES: readonly RouteCase[] = [
  {
    method: 'GET',
    url: '/api/devices',
    credential: 'session',
    request: ({ applicationId }) => ({ url: '/api/devices', query: { applicationID: applicationId } }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/devices',
    credential: 'session',
    request: ({ applicationId }, serial) => ({
      url: '/api/devices',
      payload: { device: { devEUI: devEuiOfSerial(serial), name: `new ${serial}`, applicationID: applicationId } },
    }),
    people: DEVICE_ADMINS,
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/devices/export',
    credential: 'session',
    request: ({ applicationId }) => ({ url: '/api/devices/export', query: { applicationID: applicationId } }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/devices/import',
    credential: 'session',
    request: ({ applicationId }, serial) => ({
      url: '/api/devices/import',
      query: { applicationID: applicationId },
      headers: { 'content-type': 'text/csv' },
      payload: `devEUI,name\n${devEuiOfSerial(serial)},imported ${serial}\n`,
    }),
    people: DEVICE_ADMINS,
    hides: true,
  },
  ...(['GET', 'PUT', 'DELETE'] as const).map((method): RouteCase => ({
    method,
    url: '/api/devices/:devEui',
    credential: 'session',
    request: ({ devEui }) => ({
      url: `/api/devices/${devEui}`,
      ...(method === 'PUT' ? { payload: { device: { description: 'changed' } } } : {}),
    }),
    fresh: freshDevice,
    people: method === 'GET' ? MEMBERS : DEVICE_ADMINS,
    hides: true,
  })),
  ...(['GET', 'POST', 'DELETE'] as const).map((method): RouteCase => ({
    method,
    url: '/api/devices/:devEui/queue',
    credential: 'session',
    request: ({ devEui }) => ({
      url: `/api/devices/${devEui}/queue`,
      ...(method === 'POST' ? { payload: { deviceQueueItem: QUEUE_ITEM } } : {}),
    }),
    fresh: freshDevice,
    people: method === 'GET' ? MEMBERS : COMMANDERS,
    hides: true,
  })),
  {
    method: 'DELETE',
    url: '/api/devices/:devEui/queue/:id',
    credential: 'session',
    request: ({ devEui }) => ({ url: `/api/devices/${devEui}/queue/valve-7` }),
    fresh: freshCommand,
    people: COMMANDERS,
    hides: true,
  },
]

/** Sessions are no service credentials, whosever they are. */
const NO_PERSON: PeopleStatus = [401, 401, 401, 401, 401, 401]

const OPERATION: readonly RouteCase[] = [
  {
    method: 'POST',
    url: '/api/network-servers/chirpstack/events',
    credential: 'serviceCredential',
    request: ({ devEui }) => ({ url: '/api/network-servers/chirpstack/events?event=up', payload: { devEUI: devEui } }),
    people: NO_PERSON,
  },
  {
    method: 'POST',
    url: '/api/network-servers/the-things-stack/events',
    credential: 'serviceCredential',
    request: ({ devEui }) => ({
      url: '/api/network-servers/the-things-stack/events',
      payload: { end_device_ids: { device_id: 'meter', dev_eui: devEui }, uplink_message: {} },
    }),
    people: NO_PERSON,
  },
  {
    method: 'GET',
    url: '/api/network-servers',
    credential: 'session',
    request: () => ({ url: '/api/network-servers' }),
    people: GLOBAL_ADMINS,
  },
  {
    method: 'POST',
    url: '/api/network-servers',
    credential: 'session',
    request: () => ({ url: '/api/network-servers', payload: NETWORK_SERVER }),
    people: GLOBAL_ADMINS,
  },
  {
    method: 'POST',
    url: '/api/network-servers/try',
    credential: 'session',
    request: () => ({ url: '/api/network-servers/try', payload: NETWORK_SERVER }),
    people: GLOBAL_ADMINS,
  },
  {
    method: 'DELETE',
    url: '/api/network-servers/:name',
    credential: 'session',
    request: () => ({ url: '/api/network-servers/main' }),
    people: GLOBAL_ADMINS,
  },
  {
    method: 'GET',
    url: '/api/inventories',
    credential: 'session',
    request: ({ organizationId }) => ({ url: '/api/inventories', query: { organizationID: organizationId } }),
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/inventories/:networkServer/import',
    credential: 'session',
    request: ({ organizationId }) => ({
      url: '/api/inventories/main/import',
      payload: { organizationID: organizationId, dryRun: true, inventoryImport: { createApplications: true } },
    }),
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'PUT',
    url: '/api/inventories/:networkServer/step',
    credential: 'session',
    request: ({ organizationId }) => ({
      url: '/api/inventories/main/step',
      payload: { organizationID: organizationId, inventoryStep: { createApplications: true, intervalSeconds: 3600 } },
    }),
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'DELETE',
    url: '/api/inventories/:networkServer/step',
    credential: 'session',
    request: ({ organizationId }) => ({
      url: '/api/inventories/main/step',
      query: { organizationID: organizationId },
    }),
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/service-credentials',
    credential: 'session',
    request: ({ organizationId }) => ({ url: '/api/service-credentials', query: { organizationID: organizationId } }),
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/service-credentials',
    credential: 'session',
    request: ({ organizationId }, serial) => ({
      url: '/api/service-credentials',
      payload: { serviceCredential: { name: `new-${serial}`, organizationID: organizationId } },
    }),
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'DELETE',
    url: '/api/service-credentials/:id',
    credential: 'session',
    request: ({ credentialId }) => ({ url: `/api/service-credentials/${credentialId}` }),
    fresh: freshCredential,
    people: [404, 404, 404, 404, 200, 200],
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/metrics-tokens',
    credential: 'session',
    request: () => ({ url: '/api/metrics-tokens' }),
    people: GLOBAL_ADMINS,
  },
  {
    method: 'POST',
    url: '/api/metrics-tokens',
    credential: 'session',
    request: (_, serial) => ({ url: '/api/metrics-tokens', payload: { metricsToken: { name: `scraper ${serial}` } } }),
    people: GLOBAL_ADMINS,
  },
  {
    method: 'DELETE',
    url: '/api/metrics-tokens/:id',
    credential: 'session',
    request: ({ metricsTokenId }) => ({ url: `/api/metrics-tokens/${metricsTokenId}` }),
    fresh: freshMetricsToken,
    people: GLOBAL_ADMINS,
  },
  {
    method: 'POST',
    url: '/api/internal/keys/rotate',
    credential: 'session',
    request: () => ({ url: '/api/internal/keys/rotate' }),
    people: GLOBAL_ADMINS,
  },
  {
    method: 'POST',
    url: '/api/internal/backup',
    credential: 'session',
    request: () => ({ url: '/api/internal/backup', remoteAddress: '127.0.0.1' }),
    people: GLOBAL_ADMINS,
  },
  {
    method: 'POST',
    url: '/api/internal/drain',
    credential: 'session',
    request: () => ({ url: '/api/internal/drain', remoteAddress: '127.0.0.1', payload: { seconds: 10 } }),
    people: GLOBAL_ADMINS,
  },
  {
    method: 'GET',
    url: '/api/registration-rules',
    credential: 'session',
    request: ({ organizationId }) => ({ url: '/api/registration-rules', query: { organizationID: organizationId } }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/registration-rules',
    credential: 'session',
    request: ({ applicationId }) => ({
      url: '/api/registration-rules',
      payload: { registrationRule: { applicationID: applicationId, devEUIPrefix: 'ff' } },
    }),
    fresh: withoutRules,
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'DELETE',
    url: '/api/registration-rules/:id',
    credential: 'session',
    request: ({ organizationId, registrationRuleId }) => ({
      url: `/api/registration-rules/${registrationRuleId}`,
      query: { organizationID: organizationId },
    }),
    fresh: freshRule,
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/unknown-devices',
    credential: 'session',
    request: ({ organizationId }) => ({ url: '/api/unknown-devices', query: { organizationID: organizationId } }),
    people: DEVICE_ADMINS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/unknown-devices/register',
    credential: 'session',
    request: ({ applicationId }) => ({
      url: '/api/unknown-devices/register',
      payload: { applicationID: applicationId, filter: { devEUIPrefix: 'ff' } },
    }),
    people: DEVICE_ADMINS,
    hides: true,
  },
  {
    method: 'DELETE',
    url: '/api/unknown-devices/:devEui',
    credential: 'session',
    request: ({ organizationId, devEui }) => ({
      url: `/api/unknown-devices/${devEui}`,
      query: { organizationID: organizationId },
    }),
    fresh: freshUnknownDevice,
    people: DEVICE_ADMINS,
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/audit-log',
    credential: 'session',
    request: ({ organizationId }) => ({ url: '/api/audit-log', query: { organizationID: organizationId } }),
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/connections',
    credential: 'session',
    request: ({ organizationId }) => ({ url: '/api/connections', query: { organizationID: organizationId } }),
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'DELETE',
    url: '/api/connections/:id',
    credential: 'session',
    request: ({ connectionId }) => ({ url: `/api/connections/${connectionId}` }),
    fresh: freshConnection,
    people: [404, 404, 404, 404, 200, 200],
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/refusals',
    credential: 'session',
    request: ({ organizationId, tokenId }) => ({
      url: '/api/refusals',
      query: { organizationID: organizationId, tokenID: tokenId },
    }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/diagnosis',
    credential: 'session',
    request: ({ organizationId }) => ({
      url: '/api/diagnosis',
      query: { organizationID: organizationId, clientId: 'dashboard' },
    }),
    people: MEMBERS,
    hides: true,
  },
  own('GET', '/api/status', undefined, 200),
]

const NEW_API_KEY = (serial: number) => ({ apiKey: { name: `new ${serial}`, rights: ['events.read'] } })

/** The routes of the keys of an organization, or with an empty base those of the deployment. */
function apiKeyCases(isOfDeployment: boolean): readonly RouteCase[] {
  const url = isOfDeployment ? '/api/api-keys' : '/api/organizations/:id/api-keys'
  const baseOf = ({ organizationId }: Targets) => url.replace(':id', organizationId)
  const shared = {
    credential: 'session',
    people: isOfDeployment ? GLOBAL_ADMINS : ORGANIZATION_ADMINS,
    ...given({ hides: isOfDeployment ? undefined : (true as const) }),
  } as const
  const fresh = isOfDeployment ? freshDeploymentApiKey : freshApiKey
  const ofKey = (method: RouteCase['method'], tail = '', payload?: object): RouteCase => ({
    ...shared,
    method,
    url: `${url}/:keyId${tail}`,
    request: (targets) => ({ url: `${baseOf(targets)}/${targets.apiKeyId}${tail}`, ...given({ payload }) }),
    fresh,
  })
  return [
    { ...shared, method: 'GET', url, request: (targets) => ({ url: baseOf(targets) }) },
    {
      ...shared,
      method: 'POST',
      url,
      request: (targets, serial) => ({ url: baseOf(targets), payload: NEW_API_KEY(serial) }),
      fresh,
    },
    ofKey('GET'),
    ofKey('PUT', '', { apiKey: { rights: ['devices.read'] } }),
    ofKey('DELETE'),
    ofKey('POST', '/rotate', {}),
    ofKey('POST', '/hand-over', {}),
  ]
}

const API_KEYS: readonly RouteCase[] = [...apiKeyCases(false), ...apiKeyCases(true)]

/** Each organization has a bound of profiles, which the many requests of the tests would reach. */
const freshProfile = async (
  { registry, organizationId }: TestDeployment,
  serial: number,
): Promise<Partial<Targets>> => {
  const { items } = await registry.deviceProfiles.list(organizationId, { limit: 1000, offset: 0 })
  for (const { id } of items) must(await registry.deviceProfiles.remove(id, { detach: true }, ACTOR))
  const profile = { ...NO_PROFILE, name: `fresh-${serial}` }
  return { profileId: must(await registry.deviceProfiles.create(organizationId, profile, ACTOR)).id }
}

const profileCase = (
  method: RouteCase['method'],
  path: string,
  people: PeopleStatus,
  payload?: (serial: number) => object,
): RouteCase => ({
  method,
  url: `/api/device-profiles/:id${path}`,
  credential: 'session',
  request: ({ profileId }, serial) => ({
    url: `/api/device-profiles/${profileId}${path}`,
    ...given({ payload: payload?.(serial) }),
  }),
  fresh: freshProfile,
  people,
  hides: true,
})

const DEVICE_PROFILES: readonly RouteCase[] = [
  {
    method: 'GET',
    url: '/api/device-profiles',
    credential: 'session',
    request: ({ organizationId }) => ({ url: `/api/device-profiles?organizationID=${organizationId}` }),
    people: MEMBERS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/device-profiles',
    credential: 'session',
    request: ({ organizationId }, serial) => ({
      url: '/api/device-profiles',
      payload: { deviceProfile: { name: `made-${serial}`, organizationID: organizationId } },
    }),
    fresh: freshProfile,
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  profileCase('GET', '', MEMBERS),
  profileCase('PUT', '', ORGANIZATION_ADMINS, (serial) => ({ deviceProfile: { name: `renamed-${serial}` } })),
  profileCase('DELETE', '', ORGANIZATION_ADMINS),
  profileCase('GET', '/versions', MEMBERS),
  profileCase('POST', '/restore', ORGANIZATION_ADMINS, () => ({ version: 1 })),
  profileCase('POST', '/test', ORGANIZATION_ADMINS, () => ({})),
]

const freshLibraryProfile = async ({ registry }: TestDeployment): Promise<Partial<Targets>> => ({
  libraryProfileId: must(await registry.deviceLibrary.save(LIBRARY_PROFILE, 0, ACTOR)).id,
})

const freshProfileOfLibrary = async (deployment: TestDeployment, serial: number): Promise<Partial<Targets>> => {
  const { registry } = deployment
  const made = await freshProfile(deployment, serial)
  const { libraryProfileId = '' } = await freshLibraryProfile(deployment)
  const library = { profileId: libraryProfileId, revision: 0 }
  must(await registry.deviceProfiles.update(made.profileId ?? '', { library }, ACTOR))
  return made
}

const libraryCase = (
  method: RouteCase['method'],
  path: string,
  people: PeopleStatus,
  request: Omit<InjectOptions, 'method' | 'url'> = {},
): RouteCase => ({
  method,
  url: `/api/device-library${path}`,
  credential: 'session',
  request: ({ libraryProfileId }) => ({
    url: `/api/device-library${path.replace(':id', libraryProfileId)}`,
    ...request,
  }),
  fresh: freshLibraryProfile,
  people,
})

const COLLECTION = zipOf([
  { path: 'vendors/maker/vendor.toml', content: '[vendor]\nname = "Maker"\ndevices = ["meter.toml"]\n' },
  {
    path: 'vendors/maker/devices/meter.toml',
    content: '[device]\nname = "Meter"\n\n[[device.firmware]]\nversion = "1.0"\nprofiles = []\n',
  },
])

const DEVICE_LIBRARY: readonly RouteCase[] = [
  libraryCase('GET', '', EVERYBODY),
  libraryCase('GET', '/vendors', EVERYBODY),
  libraryCase('GET', '/profiles', EVERYBODY),
  libraryCase('GET', '/profiles/:id', EVERYBODY),
  libraryCase('POST', '/profiles', GLOBAL_ADMINS, { payload: { profiles: [LIBRARY_PROFILE] } }),
  libraryCase('POST', '/import', GLOBAL_ADMINS, {
    headers: { 'content-type': 'application/zip' },
    query: { dryRun: 'true' },
    payload: COLLECTION,
  }),
  libraryCase('DELETE', '/sources', GLOBAL_ADMINS, { query: { name: LIBRARY_PROFILE.source.name } }),
  {
    ...profileCase('GET', '/library-update', ORGANIZATION_ADMINS),
    fresh: freshProfileOfLibrary,
  },
  {
    ...profileCase('POST', '/library-update', ORGANIZATION_ADMINS, () => ({})),
    fresh: freshProfileOfLibrary,
  },
]

const WEBHOOKS: readonly RouteCase[] = [
  {
    method: 'GET',
    url: '/api/organizations/:id/webhooks',
    credential: 'session',
    request: ({ organizationId }) => ({ url: `/api/organizations/${organizationId}/webhooks` }),
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/organizations/:id/webhooks',
    credential: 'session',
    request: ({ organizationId }) => ({
      url: `/api/organizations/${organizationId}/webhooks`,
      payload: { webhook: GIVEN_WEBHOOK },
    }),
    fresh: withoutWebhooks,
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/organizations/:id/webhooks/:webhookId',
    credential: 'session',
    request: ({ organizationId, webhookId }) => ({ url: `/api/organizations/${organizationId}/webhooks/${webhookId}` }),
    fresh: freshWebhook,
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'PUT',
    url: '/api/organizations/:id/webhooks/:webhookId',
    credential: 'session',
    request: ({ organizationId, webhookId }) => ({
      url: `/api/organizations/${organizationId}/webhooks/${webhookId}`,
      payload: { webhook: GIVEN_WEBHOOK },
    }),
    fresh: freshWebhook,
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'DELETE',
    url: '/api/organizations/:id/webhooks/:webhookId',
    credential: 'session',
    request: ({ organizationId, webhookId }) => ({ url: `/api/organizations/${organizationId}/webhooks/${webhookId}` }),
    fresh: freshWebhook,
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/organizations/:id/webhooks/:webhookId/rotate-secret',
    credential: 'session',
    request: ({ organizationId, webhookId }) => ({
      url: `/api/organizations/${organizationId}/webhooks/${webhookId}/rotate-secret`,
      payload: {},
    }),
    fresh: freshWebhook,
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/organizations/:id/webhooks/:webhookId/test',
    credential: 'session',
    request: ({ organizationId, webhookId }) => ({
      url: `/api/organizations/${organizationId}/webhooks/${webhookId}/test`,
    }),
    fresh: freshWebhook,
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/organizations/:id/webhooks/:webhookId/pause',
    credential: 'session',
    request: ({ organizationId, webhookId }) => ({
      url: `/api/organizations/${organizationId}/webhooks/${webhookId}/pause`,
    }),
    fresh: freshWebhook,
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'POST',
    url: '/api/organizations/:id/webhooks/:webhookId/resume',
    credential: 'session',
    request: ({ organizationId, webhookId }) => ({
      url: `/api/organizations/${organizationId}/webhooks/${webhookId}/resume`,
      payload: {},
    }),
    fresh: freshWebhook,
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
  {
    method: 'GET',
    url: '/api/organizations/:id/webhooks/:webhookId/deliveries',
    credential: 'session',
    request: ({ organizationId, webhookId }) => ({
      url: `/api/organizations/${organizationId}/webhooks/${webhookId}/deliveries`,
    }),
    fresh: freshWebhook,
    people: ORGANIZATION_ADMINS,
    hides: true,
  },
]

const COMMANDS = ({ applicationId, devEui }: Targets): string =>
  `application/${applicationId}/device/${devEui}/command/down`

const hook = (
  path: string,
  payload: (targets: Targets) => Readonly<Record<string, unknown>>,
  isForm = false,
): RouteCase => ({
  method: 'POST',
  url: `/api/broker-hooks/${path}`,
  credential: 'brokerHook',
  request: (targets) => {
    const url = `/api/broker-hooks/${path}`
    const form = new URLSearchParams(payload(targets) as Record<string, string>).toString()
    if (!isForm) return { url, payload: payload(targets) }
    return { url, payload: form, headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  },
  people: NO_PERSON,
})

const rabbit = (path: string, fields: (targets: Targets) => Readonly<Record<string, string>>): RouteCase =>
  hook(`rabbitmq/${path}`, (targets) => ({ username: targets.brokerToken, vhost: '/', ...fields(targets) }), true)

const BROKER_HOOKS: readonly RouteCase[] = [
  hook('mosquitto/user', ({ brokerToken, organizationId }) => ({
    username: brokerToken,
    password: 'default',
    clientid: `${organizationId}-a`,
  })),
  hook('mosquitto/acl', (targets) => ({
    username: targets.brokerToken,
    clientid: 'a',
    topic: COMMANDS(targets),
    acc: 2,
  })),
  hook('mosquitto/superuser', ({ brokerToken }) => ({ username: brokerToken })),
  hook('emqx/authn', ({ brokerToken, organizationId }) => ({
    username: brokerToken,
    password: 'default',
    clientid: `${organizationId}-a`,
  })),
  hook('emqx/authz', (targets) => ({ username: targets.brokerToken, action: 'publish', topic: COMMANDS(targets) })),
  hook('rabbitmq/user', ({ brokerToken }) => ({ username: brokerToken, password: 'default' }), true),
  rabbit('vhost', () => ({})),
  rabbit('resource', () => ({ resource: 'exchange', name: 'amq.topic', permission: 'write' })),
  rabbit('topic', (targets) => ({
    name: 'amq.topic',
    permission: 'write',
    routing_key: COMMANDS(targets).replaceAll('/', '.'),
  })),
]

/** The table. */
export const ROUTE_CASES: readonly RouteCase[] = [
  ...PUBLIC,
  ...ACCOUNT,
  ...BROKER_ACCESS,
  ...ORGANIZATIONS,
  ...USERS,
  ...APPLICATIONS,
  ...EVENTS,
  ...DEVICES,
  ...WEBHOOKS,
  ...DEVICE_PROFILES,
  ...DEVICE_LIBRARY,
  ...OPERATION,
  ...API_KEYS,
  ...BROKER_HOOKS,
]
