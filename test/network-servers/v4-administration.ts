/** Sets a ChirpStack v4 up by its gRPC API, and reads its queues, as its own console would. */
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
import type { NetworkServerSide } from './place.ts'

/** The keys of a device that may join. */
export interface DeviceKeys {
  /** 16 lower-case hexadecimal digits. */
  readonly devEui: string
  readonly joinEui: string
  /** 32 hexadecimal digits. */
  readonly appKey: string
}

export interface ProfileSettings {
  readonly deviceClass?: 'A' | 'C'
  /** A codec script for ChirpStack (`decodeUplink`, `encodeDownlink`). */
  readonly codecScript?: string
  /** How often a day ChirpStack asks the device for battery and margin. */
  readonly statusRequestsPerDay?: number
}

export interface QueueItem {
  readonly id: string
  readonly fPort: number
  readonly confirmed: boolean
  readonly isPending: boolean
  readonly fCntDown: number
  /** Base64. */
  readonly data: string
}

type Call<Query, Answer> = (
  query: Query,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: requestCallback<Answer>,
) => ClientUnaryCall

const CALL_MS = 15_000
export class V4Administration {
  /** A call that is made while ChirpStack starts waits for it. */
  readonly #metadata = new grpc.Metadata({ waitForReady: true })
  readonly #tenants: tenantService.TenantServiceClient
  readonly #applications: applicationService.ApplicationServiceClient
  readonly #profiles: profileService.DeviceProfileServiceClient
  readonly #devices: deviceService.DeviceServiceClient
  readonly #gateways: gatewayService.GatewayServiceClient

  constructor({ apiPort, apiKey }: { readonly apiPort: number; readonly apiKey: string }) {
    const target = `127.0.0.1:${apiPort}`
    const credentials = grpc.credentials.createInsecure()
    // With this, a ChirpStack that comes back is found at once.
    const options = { 'grpc.max_reconnect_backoff_ms': 500, 'grpc.initial_reconnect_backoff_ms': 100 }
    this.#tenants = new tenantService.TenantServiceClient(target, credentials, options)
    this.#applications = new applicationService.ApplicationServiceClient(target, credentials, options)
    this.#profiles = new profileService.DeviceProfileServiceClient(target, credentials, options)
    this.#devices = new deviceService.DeviceServiceClient(target, credentials, options)
    this.#gateways = new gatewayService.GatewayServiceClient(target, credentials, options)
    this.#metadata.set('authorization', `Bearer ${apiKey}`)
  }

  async tenant(name: string): Promise<string> {
    const one = new tenant.Tenant()
    one.setName(name)
    one.setCanHaveGateways(true)
    const query = new tenant.CreateTenantRequest()
    query.setTenant(one)
    return (await this.#call(this.#tenants.create.bind(this.#tenants), query)).getId()
  }

  async application(tenantId: string, name: string): Promise<string> {
    const one = new application.Application()
    one.setTenantId(tenantId)
    one.setName(name)
    const query = new application.CreateApplicationRequest()
    query.setApplication(one)
    return (await this.#call(this.#applications.create.bind(this.#applications), query)).getId()
  }

  /**
   * Sets up ChirpStack's own HTTP integration: it posts every event of the application to the URL,
   * as JSON.
   */
  async httpIntegration(applicationId: string, url: string): Promise<void> {
    const one = new application.HttpIntegration()
    one.setApplicationId(applicationId)
    one.setEncoding(application.Encoding.JSON)
    one.setEventEndpointUrl(url)
    const query = new application.CreateHttpIntegrationRequest()
    query.setIntegration(one)
    await this.#call(this.#applications.createHttpIntegration.bind(this.#applications), query)
  }

  async deviceProfile(tenantId: string, name: string, settings: ProfileSettings = {}): Promise<string> {
    const one = new profile.DeviceProfile()
    one.setTenantId(tenantId)
    one.setName(name)
    one.setRegion(common.Region.EU868)
    one.setMacVersion(common.MacVersion.LORAWAN_1_0_3)
    one.setRegParamsRevision(common.RegParamsRevision.A)
    one.setAdrAlgorithmId('default')
    one.setSupportsOtaa(true)
    one.setUplinkInterval(3600)
    one.setDeviceStatusReqInterval(settings.statusRequestsPerDay ?? 0)
    if (settings.deviceClass === 'C') {
      one.setSupportsClassC(true)
      // How long ChirpStack waits for the acknowledgement of a confirmed downlink.
      one.setClassCTimeout(3)
    }
    if (settings.codecScript !== undefined) {
      one.setPayloadCodecRuntime(profile.CodecRuntime.JS)
      one.setPayloadCodecScript(settings.codecScript)
    }
    const query = new profile.CreateDeviceProfileRequest()
    query.setDeviceProfile(one)
    return (await this.#call(this.#profiles.create.bind(this.#profiles), query)).getId()
  }

  /** Makes a device of LoRaWAN 1.0 that may join with these keys. */
  async device(applicationId: string, deviceProfileId: string, keys: DeviceKeys): Promise<void> {
    const one = new device.Device()
    one.setDevEui(keys.devEui)
    one.setJoinEui(keys.joinEui)
    one.setName(`device ${keys.devEui}`)
    one.setApplicationId(applicationId)
    one.setDeviceProfileId(deviceProfileId)
    one.setSkipFcntCheck(false)
    one.getTagsMap().set('valley', 'north')
    const query = new device.CreateDeviceRequest()
    query.setDevice(one)
    await this.#call(this.#devices.create.bind(this.#devices), query)
    const secrets = new device.DeviceKeys()
    secrets.setDevEui(keys.devEui)
    // ChirpStack stores the one key of a device of LoRaWAN 1.0 in this member.
    secrets.setNwkKey(keys.appKey)
    const keysQuery = new device.CreateDeviceKeysRequest()
    keysQuery.setDeviceKeys(secrets)
    await this.#call(this.#devices.createKeys.bind(this.#devices), keysQuery)
  }

  async removeDevice(devEui: string): Promise<void> {
    const query = new device.DeleteDeviceRequest()
    query.setDevEui(devEui)
    await this.#call(this.#devices.delete.bind(this.#devices), query)
  }

  async gateway(tenantId: string, gatewayId: string): Promise<void> {
    const one = new gateway.Gateway()
    one.setTenantId(tenantId)
    one.setGatewayId(gatewayId)
    one.setName(`gateway ${gatewayId}`)
    one.setStatsInterval(30)
    one.setDownlinkPriority(10)
    const query = new gateway.CreateGatewayRequest()
    query.setGateway(one)
    await this.#call(this.#gateways.create.bind(this.#gateways), query)
  }

  /** The calls that both versions have, for one tenant. */
  ofTenant(tenantId: string): NetworkServerSide {
    return {
      deviceProfile: (settings) => this.deviceProfile(tenantId, JSON.stringify(settings), settings),
      device: (applicationId, deviceProfileId, keys) => this.device(applicationId, deviceProfileId, keys),
      removeDevice: (devEui) => this.removeDevice(devEui),
      queue: (devEui) => this.queue(devEui),
      flushQueue: (devEui) => this.flushQueue(devEui),
    }
  }

  /** The downlinks that wait for a device in ChirpStack. */
  async queue(devEui: string): Promise<readonly QueueItem[]> {
    const query = new device.GetDeviceQueueItemsRequest()
    query.setDevEui(devEui)
    const answer = await this.#call(this.#devices.getQueue.bind(this.#devices), query)
    return answer.getResultList().map((item) => ({
      id: item.getId(),
      fPort: item.getFPort(),
      confirmed: item.getConfirmed(),
      isPending: item.getIsPending(),
      fCntDown: item.getFCntDown(),
      data: item.getData_asB64(),
    }))
  }

  async flushQueue(devEui: string): Promise<void> {
    const query = new device.FlushDeviceQueueRequest()
    query.setDevEui(devEui)
    await this.#call(this.#devices.flushQueue.bind(this.#devices), query)
  }

  close(): void {
    for (const client of [this.#tenants, this.#applications, this.#profiles, this.#devices, this.#gateways])
      client.close()
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
