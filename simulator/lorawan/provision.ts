/**
 * Makes the gateways and devices that will be played in a ChirpStack v4, by its gRPC API. Existing
 * ones stay unchanged.
 */
import grpc from '@grpc/grpc-js'
import type { CallOptions, ClientUnaryCall, Metadata, requestCallback } from '@grpc/grpc-js'
import applicationService from '@chirpstack/chirpstack-api/api/application_grpc_pb.js'
import application from '@chirpstack/chirpstack-api/api/application_pb.js'
import deviceService from '@chirpstack/chirpstack-api/api/device_grpc_pb.js'
import device from '@chirpstack/chirpstack-api/api/device_pb.js'
import profileService from '@chirpstack/chirpstack-api/api/device_profile_grpc_pb.js'
import profile from '@chirpstack/chirpstack-api/api/device_profile_pb.js'
import gatewayService from '@chirpstack/chirpstack-api/api/gateway_grpc_pb.js'
import gateway from '@chirpstack/chirpstack-api/api/gateway_pb.js'
import tenantService from '@chirpstack/chirpstack-api/api/tenant_grpc_pb.js'
import tenant from '@chirpstack/chirpstack-api/api/tenant_pb.js'
import common from '@chirpstack/chirpstack-api/common/common_pb.js'
import type { Region } from '../region.ts'
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
const CALL_MS = 15_000
/** The most items of a list. Lists are searched by name. */
const LISTED = 100
/** The interval at which ChirpStack expects a gateway's sign of life. */
const STATS_SECONDS = 30
/** ChirpStack's own default, which its API does not apply. */
const DOWNLINK_PRIORITY = 10
const STATUS_REQUESTS_PER_DAY = 24
/** How long ChirpStack waits for the acknowledgement of a class C device, in seconds. */
const CLASS_C_TIMEOUT_SECONDS = 5

type Call<Query, Answer> = (
  query: Query,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: requestCallback<Answer>,
) => ClientUnaryCall

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
  readonly #metadata = new grpc.Metadata()
  readonly #tenants: tenantService.TenantServiceClient
  readonly #applications: applicationService.ApplicationServiceClient
  readonly #profiles: profileService.DeviceProfileServiceClient
  readonly #devices: deviceService.DeviceServiceClient
  readonly #gateways: gatewayService.GatewayServiceClient

  constructor(settings: ProvisionSettings) {
    const { target, apiKey, isEncrypted } = settings
    const credentials = isEncrypted ? grpc.credentials.createSsl() : grpc.credentials.createInsecure()
    this.#settings = settings
    this.#metadata.set('authorization', `Bearer ${apiKey}`)
    this.#tenants = new tenantService.TenantServiceClient(target, credentials)
    this.#applications = new applicationService.ApplicationServiceClient(target, credentials)
    this.#profiles = new profileService.DeviceProfileServiceClient(target, credentials)
    this.#devices = new deviceService.DeviceServiceClient(target, credentials)
    this.#gateways = new gatewayService.GatewayServiceClient(target, credentials)
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
    const clients = [this.#tenants, this.#applications, this.#profiles, this.#devices, this.#gateways]
    for (const client of clients) client.close()
  }

  async #firstTenant(): Promise<string> {
    const query = new tenant.ListTenantsRequest()
    query.setLimit(1)
    const [first] = (await this.#call(this.#tenants.list.bind(this.#tenants), query)).getResultList()
    if (first === undefined)
      throw new Error('there is no tenant; --tenant names the one of a key that one tenant has made')
    return first.getId()
  }

  async #application(tenantId: string): Promise<string> {
    const list = new application.ListApplicationsRequest()
    list.setTenantId(tenantId)
    list.setSearch(NAME)
    list.setLimit(LISTED)
    const listed = (await this.#call(this.#applications.list.bind(this.#applications), list)).getResultList()
    const found = listed.find((one) => one.getName() === NAME)
    if (found !== undefined) return found.getId()
    const one = new application.Application()
    one.setTenantId(tenantId)
    one.setName(NAME)
    const query = new application.CreateApplicationRequest()
    query.setApplication(one)
    return (await this.#call(this.#applications.create.bind(this.#applications), query)).getId()
  }

  async #profile(tenantId: string, deviceClass: 'A' | 'C'): Promise<string> {
    const { region } = this.#settings
    const name = `${NAME}, ${region.id}, class ${deviceClass}`
    const list = new profile.ListDeviceProfilesRequest()
    list.setTenantId(tenantId)
    list.setSearch(name)
    list.setLimit(LISTED)
    const listed = (await this.#call(this.#profiles.list.bind(this.#profiles), list)).getResultList()
    const found = listed.find((one) => one.getName() === name)
    if (found !== undefined) return found.getId()
    const one = new profile.DeviceProfile()
    one.setTenantId(tenantId)
    one.setName(name)
    one.setRegion(common.Region[region.id])
    one.setMacVersion(common.MacVersion.LORAWAN_1_0_3)
    one.setRegParamsRevision(common.RegParamsRevision.A)
    one.setAdrAlgorithmId('default')
    one.setSupportsOtaa(true)
    one.setUplinkInterval(3600)
    one.setDeviceStatusReqInterval(STATUS_REQUESTS_PER_DAY)
    one.setSupportsClassC(deviceClass === 'C')
    one.setClassCTimeout(CLASS_C_TIMEOUT_SECONDS)
    const query = new profile.CreateDeviceProfileRequest()
    query.setDeviceProfile(one)
    return (await this.#call(this.#profiles.create.bind(this.#profiles), query)).getId()
  }

  /** The number of gateways made: 1, or 0 if the gateway existed. */
  async #gateway(tenantId: string, gatewayId: string): Promise<number> {
    const one = new gateway.Gateway()
    one.setTenantId(tenantId)
    one.setGatewayId(gatewayId)
    one.setName(`${NAME} ${gatewayId}`)
    one.setStatsInterval(STATS_SECONDS)
    one.setDownlinkPriority(DOWNLINK_PRIORITY)
    const query = new gateway.CreateGatewayRequest()
    query.setGateway(one)
    return await this.#make(this.#gateways.create.bind(this.#gateways), query)
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
    const made = await this.#make(this.#devices.create.bind(this.#devices), query)
    const keys = new device.DeviceKeys()
    keys.setDevEui(record.devEui)
    // A device of LoRaWAN 1.0 has one key, which ChirpStack stores in this member.
    keys.setNwkKey(record.appKey)
    const keysQuery = new device.CreateDeviceKeysRequest()
    keysQuery.setDeviceKeys(keys)
    await this.#make(this.#devices.createKeys.bind(this.#devices), keysQuery)
    return made
  }

  async #make<Query, Answer>(call: Call<Query, Answer>, query: Query): Promise<number> {
    try {
      await this.#call(call, query)
      return 1
    } catch (error) {
      if ((error as { code?: unknown }).code === grpc.status.ALREADY_EXISTS) return 0
      throw error
    }
  }

  #call<Query, Answer>(call: Call<Query, Answer>, query: Query): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    call(query, this.#metadata, { deadline: Date.now() + CALL_MS }, (error, answer) => {
      if (error !== null) reject(error)
      else if (answer === undefined) reject(new Error('an answer without content'))
      else resolve(answer)
    })
    return promise
  }
}
