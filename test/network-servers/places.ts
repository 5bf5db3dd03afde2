/**
 * Fieldgate with real ChirpStacks on the documented ways; each way has its own organization and
 * application.
 */
import assert from 'node:assert/strict'
import { connectGateway } from '../../simulator/lorawan/gateway.ts'
import { startBridgedBroker } from './bridged-broker.ts'
import type { BridgedBroker } from './bridged-broker.ts'
import { startChirpStackV3 } from './chirpstack-v3.ts'
import type { ChirpStackV3 } from './chirpstack-v3.ts'
import { startChirpStackV4 } from './chirpstack-v4.ts'
import type { ChirpStackV4 } from './chirpstack-v4.ts'
import { CutProxy } from './cut-proxy.ts'
import { EventPosts } from './event-posts.ts'
import { FieldgateSide } from './fieldgate-side.ts'
import type { FieldgateOptions } from './fieldgate-side.ts'
import { Place } from './place.ts'
import type { NetworkServerSide, Way } from './place.ts'
import type { Servers } from './servers.ts'
import { V3Administration } from './v3-administration.ts'
import { V4Administration } from './v4-administration.ts'

/** The ways that were started. A ChirpStack runs only if one of them needs it. */
export interface Places {
  readonly fieldgate: FieldgateSide
  /** Throws for a way that was not started. */
  of(way: Way): Place
  /** The ChirpStack of `v4-mqtt` and `v4-grpc`. */
  readonly v4: ChirpStackV4 | undefined
  /** The ChirpStack of `v4-bridge`. */
  readonly v4Bridged: ChirpStackV4 | undefined
  readonly bridgedBroker: BridgedBroker | undefined
  readonly v3: ChirpStackV3 | undefined
  /** The path from Fieldgate to the gRPC API of `v4`. */
  readonly grpcPath: CutProxy | undefined
}

/** The parts of a way that exist before Fieldgate knows it. */
interface Prepared {
  readonly way: Way
  readonly organizationId: string
  readonly applicationId: string
  readonly networkServer: NetworkServerSide
  readonly gateway: { readonly protocol: 'v3' | 'v4'; readonly topicPrefix: string; readonly gatewayId: string }
}

/** Starts everything that the ways need. It is closed with the servers. */
export async function openPlaces(
  servers: Servers,
  ways: readonly Way[],
  options: FieldgateOptions = {},
): Promise<Places> {
  const fieldgate = await FieldgateSide.start(servers.folder, options)
  servers.closing(() => fieldgate.close())
  const posts = await EventPosts.open()
  servers.closing(() => posts.close())
  const opening = new Opening(servers, fieldgate, posts)
  // v3 goes first, since applications get numbers as ids from the deployment: v3 must claim its
  // number before others do.
  if (ways.includes('v3')) await opening.openV3()
  await Promise.all([
    ways.includes('v4-mqtt') || ways.includes('v4-grpc') ? opening.openV4(ways) : undefined,
    ways.includes('v4-bridge') ? opening.openBridged() : undefined,
  ])
  return opening.finish()
}

class Opening {
  readonly #servers: Servers
  readonly #fieldgate: FieldgateSide
  readonly #posts: EventPosts
  readonly #prepared: Prepared[] = []
  readonly #entries: object[] = []
  #v4: ChirpStackV4 | undefined
  #v4Bridged: ChirpStackV4 | undefined
  #bridgedBroker: BridgedBroker | undefined
  #v3: ChirpStackV3 | undefined
  #grpcPath: CutProxy | undefined

  constructor(servers: Servers, fieldgate: FieldgateSide, posts: EventPosts) {
    this.#servers = servers
    this.#fieldgate = fieldgate
    this.#posts = posts
  }

  async openV3(): Promise<void> {
    const { administration } = this.#fieldgate
    const organizationId = await administration.organization()
    const credential = await administration.serviceCredential(organizationId)
    const integration = this.#fieldgate.mqttIntegration(credential, 'chirpstack-v3')
    const v3 = await startChirpStackV3({ ...this.#servers, name: 'v3', redisDatabase: 0, integration })
    this.#v3 = v3
    this.#servers.closing(() => v3.close())
    const networkServer = await V3Administration.open(v3.apiPort, v3.networkServerPort)
    const applicationId = await networkServer.application('meters')
    await networkServer.httpIntegration(applicationId, this.#posts.url)
    const gatewayId = '0102030405060703'
    await networkServer.gateway(gatewayId)
    await this.#fieldgate.application(organizationId, applicationId)
    const gateway = { protocol: 'v3', topicPrefix: '', gatewayId } as const
    this.#prepared.push({ way: 'v3', organizationId, applicationId, networkServer, gateway })
  }

  async openV4(ways: readonly Way[]): Promise<void> {
    // One credential for the whole deployment, because one ChirpStack serves several organizations.
    const credential = await this.#fieldgate.administration.serviceCredential('')
    const integration = this.#fieldgate.mqttIntegration(credential, 'chirpstack-1')
    const v4 = await startChirpStackV4({ ...this.#servers, name: 'v4', redisDatabase: 2, integration })
    this.#v4 = v4
    this.#servers.closing(() => v4.close())
    if (ways.includes('v4-mqtt')) await this.#addTenant('v4-mqtt', v4, '0102030405060741')
    if (!ways.includes('v4-grpc')) return
    const tenants = await this.#addTenant('v4-grpc', v4, '0102030405060742')
    const grpcPath = await CutProxy.open(v4.apiPort)
    this.#grpcPath = grpcPath
    this.#servers.closing(() => grpcPath.close())
    const url = `http://127.0.0.1:${grpcPath.port}`
    const entry = { name: 'main', kind: 'chirpstack-grpc', url, apiKey: v4.apiKey, syncSeconds: 30, tenants }
    this.#entries.push(entry)
  }

  async openBridged(): Promise<void> {
    const { programs, folder } = this.#servers
    const broker = await startBridgedBroker(programs, folder)
    this.#bridgedBroker = broker
    this.#servers.closing(() => broker.close())
    const integration = broker.integration('chirpstack-2')
    const v4 = await startChirpStackV4({ ...this.#servers, name: 'v4bridged', redisDatabase: 3, integration })
    this.#v4Bridged = v4
    this.#servers.closing(() => v4.close())
    const tenants = await this.#addTenant('v4-bridge', v4, '0102030405060743')
    this.#entries.push(broker.networkServer('valley', Object.values(tenants)[0] ?? ''))
  }

  /** Starts Fieldgate again if there are network servers to name, and waits until it knows them. */
  async finish(): Promise<Places> {
    const fieldgate = this.#fieldgate
    if (this.#entries.length > 0) {
      await fieldgate.setNetworkServers(this.#entries)
      await fieldgate.stop()
      await fieldgate.comeBack()
    }
    const places = new Map<Way, Place>()
    for (const prepared of this.#prepared) {
      const { way, organizationId, applicationId, networkServer } = prepared
      const gateway = await connectGateway({
        url: `mqtt://127.0.0.1:${this.#servers.gatewayBroker.port}`,
        ...prepared.gateway,
      })
      const integrator = await fieldgate.integrator(organizationId, applicationId)
      const parts = { way, organizationId, applicationId, fieldgate, integrator, gateway, networkServer }
      const place = new Place({ ...parts, posts: this.#posts })
      this.#servers.closing(() => place.close())
      places.set(way, place)
    }
    return {
      fieldgate,
      of: (way) => {
        const place = places.get(way)
        assert.ok(place !== undefined, `${way} was not asked for`)
        return place
      },
      v4: this.#v4,
      v4Bridged: this.#v4Bridged,
      bridgedBroker: this.#bridgedBroker,
      v3: this.#v3,
      grpcPath: this.#grpcPath,
    }
  }

  /**
   * Makes a tenant and an application in ChirpStack, and an organization and the application in
   * Fieldgate. Returns the ids of tenant and organization.
   */
  async #addTenant(way: Way, v4: ChirpStackV4, gatewayId: string): Promise<Readonly<Record<string, string>>> {
    const administration = new V4Administration(v4)
    this.#servers.closing(async () => administration.close())
    const tenantId = await administration.tenant(way)
    const applicationId = await administration.application(tenantId, 'meters')
    await administration.httpIntegration(applicationId, this.#posts.url)
    await administration.gateway(tenantId, gatewayId)
    const organizationId = await this.#fieldgate.administration.organization()
    await this.#fieldgate.application(organizationId, applicationId)
    const gateway = { protocol: 'v4', topicPrefix: v4.topicPrefix, gatewayId } as const
    const networkServer = administration.ofTenant(tenantId)
    this.#prepared.push({ way, organizationId, applicationId, networkServer, gateway })
    return { [tenantId]: organizationId }
  }
}
