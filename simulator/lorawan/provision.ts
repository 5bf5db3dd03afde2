/**
 * Makes the gateways and devices that will be played in a ChirpStack v4, by its gRPC API. Existing
 * ones stay unchanged.
 */
import grpc from '@grpc/grpc-js'
import application from '@chirpstack/chirpstack-api/api/application_pb.js'
import device from '@chirpstack/chirpstack-api/api/device_pb.js'
import profile from '@chirpstack/chirpstack-api/api/device_profile_pb.js'
import tenant from '@chirpstack/chirpstack-api/api/tenant_pb.js'
import type { Region } from '../region.ts'
import { ChirpStackClients, deviceProfileOf, gatewayRequest, keysRequest } from './chirpstack-clients.ts'
import type { ChirpStackCall } from './chirpstack-clients.ts'
import type { LorawanRecord } from './device-list.ts'

export interface ProvisionSettings {
  /** `host:port`. */
  readonly target: string
  readonly isEncrypted: boolean
  readonly apiKey: string
  /** Undefined: the first tenant that the key gives access to. */
  readonly tenantId: string | undefined
  readonly gatewayIds: readonly string[]
  readonly records: readonly LorawanRecord[]
  readonly region: Region
  readonly say: (line: string) => void
}

/** The name of the profiles and of the application. */
const NAME = 'Fieldgate simulator'
/** The most items of a list. Lists are searched by name. */
const LISTED = 100
const STATUS_REQUESTS_PER_DAY = 24
/** How long ChirpStack waits for the acknowledgement of a class C device, in seconds. */
const CLASS_C_TIMEOUT_SECONDS = 5

/** Undefined: all exist now. Otherwise a sentence with ChirpStack's own words, without the key. */
export async function provision(settings: ProvisionSettings): Promise<string | undefined> {
  const made = new Provisioner(settings)
  try {
    await made.run()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    made.close()
  }
}

class Provisioner {
  readonly #settings: ProvisionSettings
  readonly #clients: ChirpStackClients

  constructor(settings: ProvisionSettings) {
    const { target, apiKey, isEncrypted } = settings
    const credentials = isEncrypted ? grpc.credentials.createSsl() : grpc.credentials.createInsecure()
    this.#settings = settings
    this.#clients = new ChirpStackClients({ target, apiKey, credentials })
  }

  async run(): Promise<void> {
    const { gatewayIds, records, say } = this.#settings
    const tenantId = this.#settings.tenantId ?? (await this.#firstTenant())
    const applicationId = await this.#application(tenantId)
    const profileIds = new Map<'A' | 'C', string>()
    for (const deviceClass of new Set(records.map((record) => record.deviceClass))) {
      profileIds.set(deviceClass, await this.#profile(tenantId, deviceClass))
    }
    let made = 0
    for (const gatewayId of gatewayIds) made += await this.#gateway(tenantId, gatewayId)
    for (const record of records) {
      made += await this.#device(applicationId, profileIds.get(record.deviceClass) ?? '', record)
    }
    say(
      `ChirpStack has the gateways and devices (new ${made}, there already ${gatewayIds.length + records.length - made}): ` +
        `tenant ${tenantId}, application ${applicationId} "${NAME}"`,
    )
  }

  close(): void {
    this.#clients.close()
  }

  async #firstTenant(): Promise<string> {
    const query = new tenant.ListTenantsRequest()
    query.setLimit(1)
    const [first] = (
      await this.#clients.call(this.#clients.tenants.list.bind(this.#clients.tenants), query)
    ).getResultList()
    if (first === undefined)
      throw new Error('there is no tenant; --tenant names the one of a key that one tenant has made')
    return first.getId()
  }

  async #application(tenantId: string): Promise<string> {
    const list = new application.ListApplicationsRequest()
    list.setTenantId(tenantId)
    list.setSearch(NAME)
    list.setLimit(LISTED)
    const listed = (
      await this.#clients.call(this.#clients.applications.list.bind(this.#clients.applications), list)
    ).getResultList()
    const found = listed.find((one) => one.getName() === NAME)
    if (found !== undefined) return found.getId()
    const one = new application.Application()
    one.setTenantId(tenantId)
    one.setName(NAME)
    const query = new application.CreateApplicationRequest()
    query.setApplication(one)
    return (await this.#clients.call(this.#clients.applications.create.bind(this.#clients.applications), query)).getId()
  }

  async #profile(tenantId: string, deviceClass: 'A' | 'C'): Promise<string> {
    const { region } = this.#settings
    const name = `${NAME}, ${region.id}, class ${deviceClass}`
    const list = new profile.ListDeviceProfilesRequest()
    list.setTenantId(tenantId)
    list.setSearch(name)
    list.setLimit(LISTED)
    const listed = (
      await this.#clients.call(this.#clients.profiles.list.bind(this.#clients.profiles), list)
    ).getResultList()
    const found = listed.find((one) => one.getName() === name)
    if (found !== undefined) return found.getId()
    const one = deviceProfileOf(tenantId, name, region.id)
    one.setDeviceStatusReqInterval(STATUS_REQUESTS_PER_DAY)
    one.setSupportsClassC(deviceClass === 'C')
    one.setClassCTimeout(CLASS_C_TIMEOUT_SECONDS)
    const query = new profile.CreateDeviceProfileRequest()
    query.setDeviceProfile(one)
    return (await this.#clients.call(this.#clients.profiles.create.bind(this.#clients.profiles), query)).getId()
  }

  /** The number of gateways made: 1, or 0 if the gateway existed. */
  async #gateway(tenantId: string, gatewayId: string): Promise<number> {
    const query = gatewayRequest(tenantId, gatewayId, `${NAME} ${gatewayId}`)
    return await this.#make(this.#clients.gateways.create.bind(this.#clients.gateways), query)
  }

  async #device(applicationId: string, profileId: string, record: LorawanRecord): Promise<number> {
    const one = new device.Device()
    one.setDevEui(record.devEui)
    one.setJoinEui(record.joinEui)
    one.setName(record.name)
    one.setApplicationId(applicationId)
    one.setDeviceProfileId(profileId)
    const query = new device.CreateDeviceRequest()
    query.setDevice(one)
    const made = await this.#make(this.#clients.devices.create.bind(this.#clients.devices), query)
    await this.#make(
      this.#clients.devices.createKeys.bind(this.#clients.devices),
      keysRequest(record.devEui, record.appKey),
    )
    return made
  }

  async #make<Query, Answer>(call: ChirpStackCall<Query, Answer>, query: Query): Promise<number> {
    try {
      await this.#clients.call(call, query)
      return 1
    } catch (error) {
      if ((error as { code?: unknown }).code === grpc.status.ALREADY_EXISTS) return 0
      throw error
    }
  }
}
