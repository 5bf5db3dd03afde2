/**
 * Two organizations in a real service, whose clients connect to a broker of another project. The
 * broker asks the service about them.
 */
import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { connect } from 'mqtt'
import type { IClientOptions, MqttClient } from 'mqtt'
import { Administration } from '../support/administration.ts'
import type { ServiceCredential } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

/** The secret of the hooks. */
export const HOOK_SECRET = 'the-secret-of-the-hooks-0123456789'

/** An organization with an application, a device, a member, and a network server of its own. */
export interface Tenant {
  readonly organizationId: string
  readonly applicationId: string
  readonly devEui: string
  /** A session of the member. */
  readonly session: string
  readonly networkServer: ServiceCredential
}

/** The service and its two organizations. */
export class HookWorld {
  readonly service: RunningService
  readonly administration: Administration
  readonly ann: Tenant
  readonly bob: Tenant

  static async start(): Promise<HookWorld> {
    const service = await startInProcess({ environment: { FIELDGATE_BROKER_HOOK_SECRETS: HOOK_SECRET } })
    const administration = new Administration(service)
    return new HookWorld(service, administration, await tenant(administration), await tenant(administration))
  }

  private constructor(service: RunningService, administration: Administration, ann: Tenant, bob: Tenant) {
    this.service = service
    this.administration = administration
    this.ann = ann
    this.bob = bob
  }

  /** The port of the HTTP interface. */
  get httpsPort(): string {
    return new URL(this.service.https).port
  }

  token(of: Tenant, ttlInSeconds?: string): Promise<string> {
    return this.administration.brokerToken(of.session, of.organizationId, ttlInSeconds)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service.stop()
  }
}

async function tenant(administration: Administration): Promise<Tenant> {
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  const devEui = await administration.device(applicationId)
  const { session } = await administration.person([{ organizationId }])
  return {
    organizationId,
    applicationId,
    devEui,
    session,
    networkServer: await administration.serviceCredential(organizationId),
  }
}

/** The topic of an event or of the commands of the tenant's device. */
export function topicOf({ applicationId, devEui }: Tenant, tail: string): string {
  return `application/${applicationId}/device/${devEui}/${tail}`
}

/** The topics of all messages of each client. */
const TOPICS = new WeakMap<MqttClient, string[]>()

/**
 * Connects a client to the foreign broker. Rejects where it refuses, and where it only closes the
 * connection.
 */
export async function connectTo(port: number, userName: string, options: IClientOptions = {}): Promise<MqttClient> {
  const client = connect(`mqtt://127.0.0.1:${port}`, {
    username: userName,
    password: 'default',
    reconnectPeriod: 0,
    ...options,
  })
  // Messages that were kept for a Session come right behind CONNACK.
  const topics: string[] = []
  client.on('message', (topicName) => void topics.push(topicName))
  TOPICS.set(client, topics)
  const answered = Promise.withResolvers<void>()
  client.once('connect', () => answered.resolve())
  client.on('error', (error) => answered.reject(error))
  client.once('close', () => answered.reject(new Error('the broker closed the connection')))
  await within(answered.promise, 'CONNACK')
  return client
}

/** The client of a member, with a Client Identifier of its organization. */
export function connectMember(
  port: number,
  { organizationId }: Tenant,
  token: string,
  options: IClientOptions = {},
): Promise<MqttClient> {
  return connectTo(port, token, { clientId: `${organizationId}-dashboard`, ...options })
}

/** The network server of a tenant. */
export function connectNetworkServer(
  port: number,
  { networkServer: { userName, password } }: Tenant,
  options: IClientOptions = {},
): Promise<MqttClient> {
  return connectTo(port, userName, { password, clientId: `${userName}-1`, ...options })
}

/**
 * The Reason Codes or Return Codes of a SUBSCRIBE; a refusal is no fault here. Some brokers refuse
 * by the end of the connection: then each code is 128.
 */
export async function subscribe(client: MqttClient, ...topicFilters: readonly string[]): Promise<readonly number[]> {
  const { promise, resolve } = Promise.withResolvers<readonly number[]>()
  const gone = (): void => resolve(topicFilters.map(() => 128))
  client.once('close', gone)
  const look = ({ cmd, granted }: { readonly cmd: string; readonly granted?: readonly unknown[] }): void => {
    if (cmd === 'suback') resolve((granted ?? []).map(Number))
  }
  client.on('packetreceive', look)
  client.subscribe([...topicFilters], { qos: 1 }, () => {})
  try {
    return await within(promise, 'SUBACK')
  } finally {
    client.off('packetreceive', look)
    client.off('close', gone)
  }
}

/** The messages of a client, in order. */
export class Inbox {
  readonly topics: readonly string[]
  readonly #client: MqttClient
  readonly #watchers = new Set<() => void>()

  constructor(client: MqttClient) {
    this.#client = client
    this.topics = TOPICS.get(client) ?? []
    client.on('message', () => {
      for (const look of this.#watchers) look()
    })
  }

  /** Resolves when the topic has come. */
  async has(topicName: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const look = (): void => {
      if (this.topics.includes(topicName)) resolve()
    }
    this.#watchers.add(look)
    look()
    await within(promise, `a message on ${topicName}`)
  }

  /** Proves by a PINGREQ that nothing further is on its way, and gives the topics so far. */
  async settled(): Promise<readonly string[]> {
    const answered = Promise.withResolvers<void>()
    const look = ({ cmd }: { readonly cmd: string }): void => {
      if (cmd === 'pingresp') answered.resolve()
    }
    this.#client.on('packetreceive', look)
    this.#client.sendPing()
    await within(answered.promise, 'PINGRESP')
    this.#client.off('packetreceive', look)
    return this.topics
  }
}

/** Why a program can't be run here; undefined where it can. */
export async function absence(path: string | undefined, hint: string): Promise<string | undefined> {
  if (path === undefined) return hint
  return access(path).then(
    () => undefined,
    () => `${path} is not there: ${hint}`,
  )
}

/** The Return Code with which a CONNECT was refused. */
export async function refusalOf(connecting: Promise<MqttClient>): Promise<number | undefined> {
  try {
    const client = await connecting
    await client.endAsync(true)
    return undefined
  } catch (error) {
    assert.ok(error instanceof Error)
    const code: unknown = Reflect.get(error, 'code')
    return typeof code === 'number' ? code : -1
  }
}
