/** Sets a ChirpStack v4 up by its gRPC API, and reads its queues, as its own console would. */
import grpc from '@grpc/grpc-js'
import application from '@chirpstack/chirpstack-api/api/application_pb.js'
import device from '@chirpstack/chirpstack-api/api/device_pb.js'
import profile from '@chirpstack/chirpstack-api/api/device_profile_pb.js'
import tenant from '@chirpstack/chirpstack-api/api/tenant_pb.js'
import {
  ChirpStackClients,
  deviceProfileOf,
  gatewayRequest,
  keysRequest,
} from '../../simulator/lorawan/chirpstack-clients.ts'
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
  /** How long ChirpStack waits for a device of class C to acknowledge a downlink; 3 by default. */
  readonly acknowledgementSeconds?: number
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

export class V4Administration {
  readonly #clients: ChirpStackClients

  constructor({ apiPort, apiKey }: { readonly apiPort: number; readonly apiKey: string }) {
    this.#clients = new ChirpStackClients({
      target: `127.0.0.1:${apiPort}`,
      credentials: grpc.credentials.createInsecure(),
      apiKey,
      // With this, a ChirpStack that comes back is found at once.
      channelOptions: { 'grpc.max_reconnect_backoff_ms': 500, 'grpc.initial_reconnect_backoff_ms': 100 },
      waitForReady: true,
    })
  }

  async tenant(name: string): Promise<string> {
    const one = new tenant.Tenant()
    one.setName(name)
    one.setCanHaveGateways(true)
    const query = new tenant.CreateTenantRequest()
    query.setTenant(one)
    return (await this.#clients.call(this.#clients.tenants.create.bind(this.#clients.tenants), query)).getId()
  }

  async application(tenantId: string, name: string): Promise<string> {
    const one = new application.Application()
    one.setTenantId(tenantId)
    one.setName(name)
    const query = new application.CreateApplicationRequest()
    query.setApplication(one)
    return (await this.#clients.call(this.#clients.applications.create.bind(this.#clients.applications), query)).getId()
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
    await this.#clients.call(this.#clients.applications.createHttpIntegration.bind(this.#clients.applications), query)
  }

  async deviceProfile(tenantId: string, name: string, settings: ProfileSettings = {}): Promise<string> {
    const one = deviceProfileOf(tenantId, name, 'EU868')
    one.setDeviceStatusReqInterval(settings.statusRequestsPerDay ?? 0)
    if (settings.deviceClass === 'C') {
      one.setSupportsClassC(true)
      one.setClassCTimeout(settings.acknowledgementSeconds ?? 3)
    }
    if (settings.codecScript !== undefined) {
      one.setPayloadCodecRuntime(profile.CodecRuntime.JS)
      one.setPayloadCodecScript(settings.codecScript)
    }
    const query = new profile.CreateDeviceProfileRequest()
    query.setDeviceProfile(one)
    return (await this.#clients.call(this.#clients.profiles.create.bind(this.#clients.profiles), query)).getId()
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
    await this.#clients.call(this.#clients.devices.create.bind(this.#clients.devices), query)
    await this.#clients.call(
      this.#clients.devices.createKeys.bind(this.#clients.devices),
      keysRequest(keys.devEui, keys.appKey),
    )
  }

  /** Gives a device another name, a variable, and whether it is disabled. */
  async changeDevice(
    devEui: string,
    { name, variable, isDisabled = false }: { name: string; variable: readonly [string, string]; isDisabled?: boolean },
  ): Promise<void> {
    const asked = new device.GetDeviceRequest()
    asked.setDevEui(devEui)
    const { devices } = this.#clients
    const one = (await this.#clients.call(devices.get.bind(devices), asked)).getDevice()
    if (one === undefined) throw new Error(`ChirpStack has no device ${devEui}`)
    one.setName(name)
    one.setIsDisabled(isDisabled)
    one.getVariablesMap().set(...variable)
    const query = new device.UpdateDeviceRequest()
    query.setDevice(one)
    await this.#clients.call(devices.update.bind(devices), query)
  }

  async removeDevice(devEui: string): Promise<void> {
    const query = new device.DeleteDeviceRequest()
    query.setDevEui(devEui)
    await this.#clients.call(this.#clients.devices.delete.bind(this.#clients.devices), query)
  }

  async gateway(tenantId: string, gatewayId: string): Promise<void> {
    const query = gatewayRequest(tenantId, gatewayId, `gateway ${gatewayId}`)
    await this.#clients.call(this.#clients.gateways.create.bind(this.#clients.gateways), query)
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
    const answer = await this.#clients.call(this.#clients.devices.getQueue.bind(this.#clients.devices), query)
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
    await this.#clients.call(this.#clients.devices.flushQueue.bind(this.#clients.devices), query)
  }

  close(): void {
    this.#clients.close()
  }
}
