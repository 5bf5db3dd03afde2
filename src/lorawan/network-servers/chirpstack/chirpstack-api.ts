/**
 * The parts of ChirpStack v4's gRPC API that this service uses: the lists of tenants, applications
 * and devices, page by page, and the downlink queue of a device.
 */
import grpc from '@grpc/grpc-js'
import type { CallOptions, ChannelCredentials, ClientUnaryCall, Metadata, requestCallback } from '@grpc/grpc-js'
import applicationService from '@chirpstack/chirpstack-api/api/application_grpc_pb.js'
import application from '@chirpstack/chirpstack-api/api/application_pb.js'
import deviceService from '@chirpstack/chirpstack-api/api/device_grpc_pb.js'
import device from '@chirpstack/chirpstack-api/api/device_pb.js'
import profileService from '@chirpstack/chirpstack-api/api/device_profile_grpc_pb.js'
import profile from '@chirpstack/chirpstack-api/api/device_profile_pb.js'
import tenantService from '@chirpstack/chirpstack-api/api/tenant_grpc_pb.js'
import tenant from '@chirpstack/chirpstack-api/api/tenant_pb.js'
import common from '@chirpstack/chirpstack-api/common/common_pb.js'
import protobufStruct from 'google-protobuf/google/protobuf/struct_pb.js'
import type { JavaScriptValue } from 'google-protobuf/google/protobuf/struct_pb.js'
import protobufTimestamp from 'google-protobuf/google/protobuf/timestamp_pb.js'
import type { Downlink } from '../../commands/network-server.ts'

export interface ChirpStackAddress {
  /** `host:port`. */
  readonly target: string
  readonly apiKey: string
  /** Undefined for clear text. */
  readonly tls: { readonly ca: string | undefined } | undefined
}

export interface ChirpStackTenant {
  readonly id: string
  readonly name: string
}

export interface ChirpStackApplication {
  readonly id: string
  readonly name: string
  readonly description: string
}

export interface ChirpStackDevice {
  /** 16 lower-case hexadecimal digits. */
  readonly devEui: string
  readonly name: string
  readonly description: string
  readonly deviceProfileId: string
  readonly deviceProfileName: string
  readonly tags: Readonly<Record<string, string>>
}

/** The members of a device that a list does not have. */
export interface ChirpStackDeviceDetails {
  /** 16 lower-case hexadecimal digits. */
  readonly joinEui: string
  readonly isDisabled: boolean
  readonly variables: Readonly<Record<string, string>>
}

export interface ChirpStackProfile {
  readonly id: string
  readonly name: string
  readonly description: string
  /** `EU868`. */
  readonly region: string
  readonly supportsClassB: boolean
  readonly supportsClassC: boolean
  readonly codec: 'none' | 'cayenneLpp' | 'js'
  readonly script: string
  readonly uplinkIntervalSeconds: number
  readonly firmwareVersion: string
  readonly tags: Readonly<Record<string, string>>
}

/** An item of a device's queue: it has not been sent, or its acknowledgement has not come yet. */
export interface ChirpStackQueueItem {
  /** The id that ChirpStack gave it, in lower case. */
  readonly id: string
  readonly confirmed: boolean
  readonly fPort: number
  readonly data: Buffer
  /** ms since 1970; undefined when it does not expire. */
  readonly expiresAtMs: number | undefined
  /** True when it was sent, and waits for its acknowledgement. */
  readonly isPending: boolean
}

/** How long one call may take. */
const CALL_MS = 15_000
/** Items of one page. A page of devices has some 200 KB. */
const PAGE_SIZE = 500
/** The largest answer that is taken, in bytes; a page is far smaller. */
const MAXIMUM_ANSWER_BYTES = 8 * 1024 * 1024

type Call<Query, Answer> = (
  query: Query,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: requestCallback<Answer>,
) => ClientUnaryCall

/** Its calls reject with gRPC's ServiceError, whose `code` is a `grpc.status`. */
export class ChirpStackApi {
  readonly #tenants: tenantService.TenantServiceClient
  readonly #applications: applicationService.ApplicationServiceClient
  readonly #devices: deviceService.DeviceServiceClient
  readonly #profiles: profileService.DeviceProfileServiceClient
  readonly #metadata = new grpc.Metadata()
  readonly #running = new Set<ClientUnaryCall>()

  constructor({ target, apiKey, tls }: ChirpStackAddress) {
    const credentials: ChannelCredentials =
      tls === undefined
        ? grpc.credentials.createInsecure()
        : grpc.credentials.createSsl(tls.ca === undefined ? null : Buffer.from(tls.ca))
    const options = {
      'grpc.max_receive_message_length': MAXIMUM_ANSWER_BYTES,
      'grpc.keepalive_time_ms': 30_000,
      'grpc.keepalive_timeout_ms': 10_000,
      // Commands wait for an address that is away, so that it is tried again soon.
      'grpc.max_reconnect_backoff_ms': 10_000,
    }
    this.#tenants = new tenantService.TenantServiceClient(target, credentials, options)
    this.#applications = new applicationService.ApplicationServiceClient(target, credentials, options)
    this.#devices = new deviceService.DeviceServiceClient(target, credentials, options)
    this.#profiles = new profileService.DeviceProfileServiceClient(target, credentials, options)
    this.#metadata.set('authorization', `Bearer ${apiKey}`)
  }

  /** All tenants that the API key may see. */
  async *tenants(): AsyncGenerator<ChirpStackTenant> {
    for (let offset = 0; ; offset += PAGE_SIZE) {
      const query = new tenant.ListTenantsRequest()
      query.setLimit(PAGE_SIZE)
      query.setOffset(offset)
      const page = (await this.#call(this.#tenants.list.bind(this.#tenants), query)).getResultList()
      for (const one of page) yield { id: one.getId(), name: one.getName() }
      if (page.length < PAGE_SIZE) return
    }
  }

  async *applications(tenantId: string): AsyncGenerator<ChirpStackApplication> {
    for (let offset = 0; ; offset += PAGE_SIZE) {
      const query = new application.ListApplicationsRequest()
      query.setLimit(PAGE_SIZE)
      query.setOffset(offset)
      query.setTenantId(tenantId)
      const page = (await this.#call(this.#applications.list.bind(this.#applications), query)).getResultList()
      for (const one of page) yield { id: one.getId(), name: one.getName(), description: one.getDescription() }
      if (page.length < PAGE_SIZE) return
    }
  }

  async *devices(applicationId: string): AsyncGenerator<ChirpStackDevice> {
    for (let offset = 0; ; offset += PAGE_SIZE) {
      const query = new device.ListDevicesRequest()
      query.setLimit(PAGE_SIZE)
      query.setOffset(offset)
      query.setApplicationId(applicationId)
      // The order by DevEUI does not change while the pages are read; names may change.
      query.setOrderBy(device.ListDevicesRequest.OrderBy.DEV_EUI)
      const page = (await this.#call(this.#devices.list.bind(this.#devices), query)).getResultList()
      for (const one of page) {
        yield {
          devEui: one.getDevEui().toLowerCase(),
          name: one.getName(),
          description: one.getDescription(),
          deviceProfileId: one.getDeviceProfileId(),
          deviceProfileName: one.getDeviceProfileName(),
          tags: Object.fromEntries(one.getTagsMap().toArray()),
        }
      }
      if (page.length < PAGE_SIZE) return
    }
  }

  /**
   * Puts a downlink into its device's queue; resolves with the id that ChirpStack made for it. For
   * a downlink that `replaces`, ChirpStack first removes everything from the queue that has not
   * been sent.
   */
  async enqueue(downlink: Downlink): Promise<string> {
    const { devEui, confirmed, fPort, data, object, expiresAtMs, replaces } = downlink
    const item = new device.DeviceQueueItem()
    item.setDevEui(devEui)
    item.setConfirmed(confirmed)
    item.setFPort(fPort)
    if (data !== undefined) item.setData(data)
    if (object !== undefined) {
      item.setObject(protobufStruct.Struct.fromJavaScript(object as Record<string, JavaScriptValue>))
    }
    if (expiresAtMs !== undefined) {
      const expiry = new protobufTimestamp.Timestamp()
      expiry.setSeconds(Math.floor(expiresAtMs / 1000))
      expiry.setNanos((expiresAtMs % 1000) * 1_000_000)
      item.setExpiresAt(expiry)
    }
    const query = new device.EnqueueDeviceQueueItemRequest()
    query.setQueueItem(item)
    query.setFlushQueue(replaces === true)
    return (await this.#call(this.#devices.enqueue.bind(this.#devices), query)).getId().toLowerCase()
  }

  /** The queue of a device, the earliest item first; empty for a device that does not exist. */
  async queue(devEui: string): Promise<readonly ChirpStackQueueItem[]> {
    const query = new device.GetDeviceQueueItemsRequest()
    query.setDevEui(devEui)
    const answer = await this.#call(this.#devices.getQueue.bind(this.#devices), query)
    return answer.getResultList().map((item) => ({
      id: item.getId().toLowerCase(),
      confirmed: item.getConfirmed(),
      fPort: item.getFPort(),
      data: Buffer.from(item.getData_asU8()),
      expiresAtMs: millisecondsOf(item.getExpiresAt()),
      isPending: item.getIsPending(),
    }))
  }

  /** The members that the list of devices leaves out; undefined for a device that has gone. */
  async details(devEui: string): Promise<ChirpStackDeviceDetails | undefined> {
    const query = new device.GetDeviceRequest()
    query.setDevEui(devEui)
    const one = (await this.#call(this.#devices.get.bind(this.#devices), query)).getDevice()
    if (one === undefined) return undefined
    return {
      joinEui: one.getJoinEui().toLowerCase(),
      isDisabled: one.getIsDisabled(),
      variables: Object.fromEntries(one.getVariablesMap().toArray()),
    }
  }

  /** The device profile, with its codec; undefined where there is none. */
  async profile(id: string): Promise<ChirpStackProfile | undefined> {
    const query = new profile.GetDeviceProfileRequest()
    query.setId(id)
    const one = (await this.#call(this.#profiles.get.bind(this.#profiles), query)).getDeviceProfile()
    if (one === undefined) return undefined
    const runtime = one.getPayloadCodecRuntime()
    const { JS, CAYENNE_LPP } = profile.CodecRuntime
    const region = Object.entries(common.Region).find(([, number]) => number === one.getRegion())
    return {
      id,
      name: one.getName(),
      description: one.getDescription(),
      region: region?.[0] ?? '',
      supportsClassB: one.getSupportsClassB(),
      supportsClassC: one.getSupportsClassC(),
      codec: runtime === JS ? 'js' : runtime === CAYENNE_LPP ? 'cayenneLpp' : 'none',
      script: one.getPayloadCodecScript(),
      uplinkIntervalSeconds: one.getUplinkInterval(),
      firmwareVersion: one.getFirmwareVersion(),
      tags: Object.fromEntries(one.getTagsMap().toArray()),
    }
  }

  /** The id of the device's profile. Rejects with NOT_FOUND for a device that does not exist. */
  async profileOf(devEui: string): Promise<string> {
    const query = new device.GetDeviceRequest()
    query.setDevEui(devEui)
    const answer = await this.#call(this.#devices.get.bind(this.#devices), query)
    return answer.getDevice()?.getDeviceProfileId() ?? ''
  }

  /** True when devices of the profile have a codec. */
  async hasCodec(profileId: string): Promise<boolean> {
    const query = new profile.GetDeviceProfileRequest()
    query.setId(profileId)
    const answer = await this.#call(this.#profiles.get.bind(this.#profiles), query)
    const runtime = answer.getDeviceProfile()?.getPayloadCodecRuntime() ?? profile.CodecRuntime.NONE
    return runtime !== profile.CodecRuntime.NONE
  }

  /** Rejects when the API key may not see the application. */
  async seeApplication(applicationId: string): Promise<void> {
    const query = new application.GetApplicationRequest()
    query.setId(applicationId)
    await this.#call(this.#applications.get.bind(this.#applications), query)
  }

  /**
   * Empties the queue of a device; items that wait for their acknowledgement are removed as well.
   */
  async flushQueue(devEui: string): Promise<void> {
    const query = new device.FlushDeviceQueueRequest()
    query.setDevEui(devEui)
    await this.#call(this.#devices.flushQueue.bind(this.#devices), query)
  }

  /**
   * Resolves when ChirpStack can be reached. Rejects when it can't within this time, or after
   * `close`.
   */
  whenReachable(withinMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#devices.waitForReady(Date.now() + withinMs, (error) => (error === undefined ? resolve() : reject(error)))
    return promise
  }

  /** Calls without an answer reject. */
  close(): void {
    for (const call of this.#running) call.cancel()
    for (const client of [this.#tenants, this.#applications, this.#devices, this.#profiles]) client.close()
  }

  #call<Query, Answer>(call: Call<Query, Answer>, query: Query): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const running = call(query, this.#metadata, { deadline: Date.now() + CALL_MS }, (error, answer) => {
      this.#running.delete(running)
      if (error !== null) reject(error)
      else if (answer === undefined) reject(new Error('an answer without content'))
      else resolve(answer)
    })
    this.#running.add(running)
    return promise
  }
}

/**
 * Undefined when there is no time. ChirpStack keeps microseconds; our times are whole milliseconds.
 */
function millisecondsOf(time: protobufTimestamp.Timestamp | undefined): number | undefined {
  return time === undefined ? undefined : time.getSeconds() * 1000 + Math.round(time.getNanos() / 1_000_000)
}
