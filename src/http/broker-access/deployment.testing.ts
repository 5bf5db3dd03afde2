/**
 * A small deployment in memory, for the tests of this folder: two organizations, every role, and a
 * server to ask.
 */
import { EventEmitter } from 'node:events'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { pino } from 'pino'
import { Registry as MetricsRegistry } from 'prom-client'
import { ForeignBrokers } from '../../access/foreign-brokers.ts'
import { AccessPolicy } from '../../access/policy.ts'
import { systemClock } from '../../clock.ts'
import { TestClock } from '../../clock.testing.ts'
import { openRegistry } from '../../identity/registry.ts'
import type { Registry } from '../../identity/registry.ts'
import type { Result } from '../../identity/store/result.ts'
import { TestSessionViews } from '../operation/session-views.testing.ts'
import type { UnknownDevices } from '../../lorawan/unknown-devices/unknown-devices.ts'
import { createWaitingDevices } from '../../lorawan/unknown-devices/waiting-devices.ts'
import { testInventories } from '../tenants/inventories.testing.ts'
import { openTestUnknownDevices } from '../devices/unknown-devices.testing.ts'
import { TestBrokerViews, testStatus } from '../operation/broker-views.testing.ts'
import { openTestCommands } from '../devices/commands.testing.ts'
import { openTestCodecs } from '../../lorawan/codecs/codecs.testing.ts'
import type { NetworkServerSetups, NetworkServerTrial } from '../tenants/network-servers.ts'
import { createHttpServer } from '../server.ts'
import { testWebhookViews } from '../tenants/webhooks.testing.ts'
import { WorkTurns } from '../shares/work-turns.ts'
import type { HttpServerOptions } from '../server.ts'
import { DEFAULT_ORGANIZATION_BOUNDS } from '../../organization-bounds.ts'
import type { OrganizationUsage } from '../../organization-bounds.ts'
import { TestEvents } from '../devices/stored-events.testing.ts'

/** The secret of the broker hooks. */
export const HOOK_SECRET = 'a-secret-of-the-broker-hooks-0123'

/** The password of every user of the deployment. */
export const PASSWORD = 'correct horse battery staple'

/**
 * The people of the deployment; all but `stranger` and `globalAdmin` belong to the first
 * organization.
 */
export type Person = 'reader' | 'member' | 'deviceAdmin' | 'organizationAdmin' | 'stranger' | 'globalAdmin'

/** A deployment with a server in front. */
export interface TestDeployment {
  readonly app: FastifyInstance
  readonly registry: Registry
  readonly clock: TestClock
  /** The broker that the server is shown. */
  readonly brokerViews: TestBrokerViews
  /** The devices that are not registered; it does not follow the registry. */
  readonly unknownDevices: UnknownDevices
  /** Lines of the log, as they were written. */
  readonly logLines: string[]
  /** Emits the message of each line of the log. */
  readonly logged: EventEmitter
  readonly userIds: Readonly<Record<Person, string>>
  /** The first organization, and the one that the stranger administers. */
  readonly organizationId: string
  readonly foreignOrganizationId: string
  readonly applicationId: string
  readonly foreignApplicationId: string
  readonly devEui: string
  readonly foreignDevEui: string
  /** A fresh session of a person. */
  session(person: Person): Promise<string>
  /** Sends a request, with a bearer token where one is given, from an address outside. */
  ask(token: string | undefined, request: InjectOptions): Promise<LightMyRequestResponse>
  close(): Promise<void>
}

const ACTOR = { userId: null }
const START_MS = Date.UTC(2026, 0, 15, 12)

/** Each organization has used nearly all of its Sessions. */
function testUsage(): OrganizationUsage {
  return { sessions: 8_000, subscriptions: 7, connectsPerSecond: 10 / 3 }
}

/** Network servers that work, whatever is said of them. */
const testNetworkServers: NetworkServerSetups = {
  list: async () => [
    { name: 'main', kind: 'chirpstack-grpc', url: 'http://chirpstack:8080', isOfFile: false, createdAtMs: START_MS },
  ],
  tryOut: async () => ({ ok: true, value: WORKS }),
  add: async () => ({ ok: true, value: { trial: WORKS, isAdded: true } }),
  remove: async () => ({ ok: true, value: undefined }),
}
const WORKS: NetworkServerTrial = {
  outcome: 'works',
  answer: 'It works.',
  tenants: [{ id: '52f14cd4-c6f1-4fbd-8f87-4025e1d49242', name: 'Valley', applications: 2 }],
}

/** Opens a deployment in memory. */
export async function openTestDeployment(overrides: Partial<HttpServerOptions> = {}): Promise<TestDeployment> {
  const clock = new TestClock(START_MS)
  const logLines: string[] = []
  const logged = new EventEmitter()
  const log = pino(
    { level: 'trace' },
    {
      write: (line: string) => {
        logLines.push(line)
        logged.emit((JSON.parse(line) as { msg: string }).msg)
      },
    },
  )
  const registry = await openRegistry({ file: ':memory:', clock })
  const places = await populate(registry)
  const codecs = openTestCodecs()
  const brokerViews = new TestBrokerViews()
  const unknownDevices = openTestUnknownDevices(registry, clock)
  const app = await createHttpServer({
    registry,
    clock,
    turns: new WorkTurns(systemClock),
    log,
    metrics: new MetricsRegistry(),
    commands: await openTestCommands(registry, clock),
    codecs,
    brokerViews,
    sessionViews: new TestSessionViews(),
    unknownDevices: createWaitingDevices(unknownDevices),
    status: testStatus(clock),
    organizationBounds: { deployment: DEFAULT_ORGANIZATION_BOUNDS, usageOf: testUsage },
    history: new TestEvents(),
    backups: {
      make: async function* () {
        yield Buffer.from('the backup')
      },
    },
    drain: { begin: () => true, connections: () => 0 },
    webhooks: testWebhookViews(clock),
    networkServers: testNetworkServers,
    inventories: testInventories(),
    networkServerEvents: { receive: async () => ({ outcome: 'owned' }) },
    brokerHooks: {
      judge: new ForeignBrokers({ policy: new AccessPolicy(registry), changes: registry.changes }),
      secrets: [HOOK_SECRET],
    },
    settings: {
      baseUrl: 'https://localhost:8443',
      brokerTokenDefaultTtlSeconds: 86_400,
      brokerTokenMaximumTtlSeconds: 31_557_600,
    },
    deployment: {
      mqtts: () => ({ host: 'localhost', port: 8883 }),
      certificateAuthority: '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n',
    },
    ...overrides,
  })
  return {
    app,
    registry,
    clock,
    brokerViews,
    unknownDevices,
    logLines,
    logged,
    ...places,
    session: async (person) => registry.tokens.issueSession({ id: places.userIds[person] }),
    ask: async (token, request) =>
      app.inject({
        remoteAddress: '203.0.113.7',
        ...request,
        headers: {
          ...(token === undefined ? {} : { 'grpc-metadata-authorization': `Bearer ${token}` }),
          ...request.headers,
        },
      }),
    close: async () => {
      await app.close()
      await codecs.close()
      await registry.close()
    },
  }
}

/** The value of something that a test needs to succeed. */
export function must<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(`${result.reason}: ${result.message}`)
  return result.value
}

async function populate(registry: Registry) {
  const organizationId = await organization(registry, 'acme', 'Acme Metering')
  const foreignOrganizationId = await organization(registry, 'zenith', 'Zenith Farms')
  const user = async (name: string, isAdmin = false): Promise<string> => {
    const email = `${name}@example.org`
    const fields = { email, isAdmin, isActive: true, note: '', password: PASSWORD }
    return must(await registry.users.create(fields, ACTOR)).id
  }
  const userIds = {
    reader: await user('reader'),
    member: await user('member'),
    deviceAdmin: await user('device-admin'),
    organizationAdmin: await user('organization-admin'),
    stranger: await user('stranger'),
    globalAdmin: await user('global-admin', true),
  }
  const join = async (organizationOf: string, userId: string, isAdmin: boolean, isDeviceAdmin: boolean) => {
    const roles = { isAdmin, isDeviceAdmin, isGatewayAdmin: false }
    must(await registry.members.add(organizationOf, userId, roles, ACTOR))
  }
  const readOnly = { isAdmin: false, isDeviceAdmin: false, isGatewayAdmin: false, isReadOnly: true }
  must(await registry.members.add(organizationId, userIds.reader, readOnly, ACTOR))
  await join(organizationId, userIds.member, false, false)
  await join(organizationId, userIds.deviceAdmin, false, true)
  await join(organizationId, userIds.organizationAdmin, true, false)
  await join(foreignOrganizationId, userIds.stranger, true, true)
  const applicationId = await newApplication(registry, organizationId, 'meters')
  const foreignApplicationId = await newApplication(registry, foreignOrganizationId, 'barns')
  return {
    userIds,
    organizationId,
    foreignOrganizationId,
    applicationId,
    foreignApplicationId,
    devEui: await newDevice(registry, applicationId, '0101010101010101'),
    foreignDevEui: await newDevice(registry, foreignApplicationId, '0202020202020202'),
  }
}

async function organization(registry: Registry, name: string, displayName: string): Promise<string> {
  return must(await registry.organizations.create({ name, displayName, canHaveGateways: true }, ACTOR)).id
}

/** Creates an application and gives its id. */
export async function newApplication(registry: Registry, organizationId: string, name: string): Promise<string> {
  const application = {
    organizationId,
    name,
    description: `${name} of the test`,
    serviceProfileId: 'profile-1',
    serviceProfileName: 'Profile 1',
    payloadCodec: '',
    payloadEncoderScript: '',
    payloadDecoderScript: '',
  } as const
  return must(await registry.applications.create(application, ACTOR)).id
}

/** Creates a device and gives its DevEUI. */
export async function newDevice(registry: Registry, applicationId: string, devEui: string): Promise<string> {
  return must(await registry.devices.create({ devEui, name: `device ${devEui}`, applicationId }, ACTOR)).devEui
}
