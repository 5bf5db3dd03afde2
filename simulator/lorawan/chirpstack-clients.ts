/** The clients of ChirpStack v4's gRPC API, and the messages that a deployment is made of. */
import grpc from '@grpc/grpc-js'
import type { CallOptions, ChannelCredentials, ClientUnaryCall, Metadata, requestCallback } from '@grpc/grpc-js'
import applicationService from '@chirpstack/chirpstack-api/api/application_grpc_pb.js'
import deviceService from '@chirpstack/chirpstack-api/api/device_grpc_pb.js'
import device from '@chirpstack/chirpstack-api/api/device_pb.js'
import profileService from '@chirpstack/chirpstack-api/api/device_profile_grpc_pb.js'
import profile from '@chirpstack/chirpstack-api/api/device_profile_pb.js'
import gatewayService from '@chirpstack/chirpstack-api/api/gateway_grpc_pb.js'
import gateway from '@chirpstack/chirpstack-api/api/gateway_pb.js'
import tenantService from '@chirpstack/chirpstack-api/api/tenant_grpc_pb.js'
import common from '@chirpstack/chirpstack-api/common/common_pb.js'
import type { RegionId } from '../region.ts'

const CALL_MS = 15_000
/** The interval at which ChirpStack expects a gateway's sign of life. */
const STATS_SECONDS = 30
/** ChirpStack's own default, which its API does not apply. */
const DOWNLINK_PRIORITY = 10
const UPLINK_INTERVAL_SECONDS = 3600

/** A method of a client, bound to it. */
export type ChirpStackCall<Query, Answer> = (
  query: Query,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: requestCallback<Answer>,
) => ClientUnaryCall

export interface ChirpStackClientsSettings {
  /** `host:port`. */
  readonly target: string
  readonly credentials: ChannelCredentials
  readonly apiKey: string
  readonly channelOptions?: Readonly<Record<string, number>>
  /** True: a call that is made while ChirpStack starts waits for it. Default: it fails. */
  readonly waitForReady?: boolean
}

export class ChirpStackClients {
  readonly tenants: tenantService.TenantServiceClient
  readonly applications: applicationService.ApplicationServiceClient
  readonly profiles: profileService.DeviceProfileServiceClient
  readonly devices: deviceService.DeviceServiceClient
  readonly gateways: gatewayService.GatewayServiceClient
  readonly #metadata: Metadata

  constructor({ target, credentials, apiKey, channelOptions, waitForReady = false }: ChirpStackClientsSettings) {
    this.tenants = new tenantService.TenantServiceClient(target, credentials, channelOptions)
    this.applications = new applicationService.ApplicationServiceClient(target, credentials, channelOptions)
    this.profiles = new profileService.DeviceProfileServiceClient(target, credentials, channelOptions)
    this.devices = new deviceService.DeviceServiceClient(target, credentials, channelOptions)
    this.gateways = new gatewayService.GatewayServiceClient(target, credentials, channelOptions)
    this.#metadata = new grpc.Metadata({ waitForReady })
    this.#metadata.set('authorization', `Bearer ${apiKey}`)
  }

  /** Resolves with the answer; rejects with gRPC's error, or without an answer in time. */
  call<Query, Answer>(call: ChirpStackCall<Query, Answer>, query: Query): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    call(query, this.#metadata, { deadline: Date.now() + CALL_MS }, (error, answer) => {
      if (error !== null) reject(error)
      else if (answer === undefined) reject(new Error('an answer without content'))
      else resolve(answer)
    })
    return promise
  }

  close(): void {
    for (const client of [this.tenants, this.applications, this.profiles, this.devices, this.gateways]) client.close()
  }
}

/** A profile of a LoRaWAN 1.0.3 device that joins over the air. */
export function deviceProfileOf(tenantId: string, name: string, region: RegionId): profile.DeviceProfile {
  const one = new profile.DeviceProfile()
  one.setTenantId(tenantId)
  one.setName(name)
  one.setRegion(common.Region[region])
  one.setMacVersion(common.MacVersion.LORAWAN_1_0_3)
  one.setRegParamsRevision(common.RegParamsRevision.A)
  one.setAdrAlgorithmId('default')
  one.setSupportsOtaa(true)
  one.setUplinkInterval(UPLINK_INTERVAL_SECONDS)
  return one
}

/** The request for a gateway. */
export function gatewayRequest(tenantId: string, gatewayId: string, name: string): gateway.CreateGatewayRequest {
  const one = new gateway.Gateway()
  one.setTenantId(tenantId)
  one.setGatewayId(gatewayId)
  one.setName(name)
  one.setStatsInterval(STATS_SECONDS)
  one.setDownlinkPriority(DOWNLINK_PRIORITY)
  const query = new gateway.CreateGatewayRequest()
  query.setGateway(one)
  return query
}

/** The request for the keys of a LoRaWAN 1.0 device. */
export function keysRequest(devEui: string, appKey: string): device.CreateDeviceKeysRequest {
  const keys = new device.DeviceKeys()
  keys.setDevEui(devEui)
  // A device of LoRaWAN 1.0 has one key, which ChirpStack stores in this member.
  keys.setNwkKey(appKey)
  const query = new device.CreateDeviceKeysRequest()
  query.setDeviceKeys(keys)
  return query
}
