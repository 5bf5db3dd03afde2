/**
 * ChirpStack v4 for tests: a gRPC server made from its published definitions. Its answers are those
 * of version 4.19, as recorded: it makes its own ids, keeps a queue for each device, accepts nearly
 * everything into it, and answers many faults with INTERNAL.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import grpc from '@grpc/grpc-js'
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js'
import applicationService from '@chirpstack/chirpstack-api/api/application_grpc_pb.js'
import applicationPb from '@chirpstack/chirpstack-api/api/application_pb.js'
import deviceService from '@chirpstack/chirpstack-api/api/device_grpc_pb.js'
import devicePb from '@chirpstack/chirpstack-api/api/device_pb.js'
import profileService from '@chirpstack/chirpstack-api/api/device_profile_grpc_pb.js'
import profilePb from '@chirpstack/chirpstack-api/api/device_profile_pb.js'
import emptyPb from 'google-protobuf/google/protobuf/empty_pb.js'
import tenantService from '@chirpstack/chirpstack-api/api/tenant_grpc_pb.js'
import tenantPb from '@chirpstack/chirpstack-api/api/tenant_pb.js'
import { within } from './bounded-wait.ts'
import { freePort } from './free-port.ts'
import type { ReceivedDownlink } from '../../src/lorawan/network-servers/network-server-contract.testing.ts'
import { ChirpStackApi } from '../../src/lorawan/network-servers/chirpstack/chirpstack-api.ts'
import type { ChirpStackAddress } from '../../src/lorawan/network-servers/chirpstack/chirpstack-api.ts'

const API_KEY = 'an-API-key'
/** The initial content: one tenant with one application, without devices. */
export const TENANT = '52f14cd4-c6f1-4fbd-8f87-4025e1d49242'
export const APPLICATION = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'

export interface FakeDevice {
  name: string
  description?: string
  profile?: string
  tags?: Record<string, string>
}

interface Fault {
  readonly code: number
  readonly details: string
}

type Handler<Query, Answer> = (call: ServerUnaryCall<Query, Answer>, answer: sendUnaryData<Answer>) => void

/** ChirpStack, with the calls that Fieldgate makes. */
export class FakeChirpStack {
  readonly tenants = new Map([[TENANT, 'Valley & Sons']])
  /** By tenant and application: the application's name. */
  readonly applications = new Map([[TENANT, new Map([[APPLICATION, 'Water']])]])
  /** By application and DevEUI: the device. */
  readonly devices = new Map<string, Map<string, FakeDevice>>([[APPLICATION, new Map()]])
  readonly enqueued: ReceivedDownlink[] = []
  /** By DevEUI: the queue. An item that a test removes counts as sent. */
  readonly queues = new Map<string, devicePb.DeviceQueueItem[]>()
  readonly flushed: string[] = []
  readonly calls: string[] = []
  /** The answer to every call; undefined: no fault. */
  fault: Fault | undefined
  /** The answers to single calls: `enqueue`, `queue`, `device` ... */
  readonly faults = new Map<string, Fault>()
  /** Calls that are carried out, but never answered. */
  readonly unanswered = new Set<string>()
  /** False: its devices have a profile without a codec. */
  hasCodec = true
  port = 0
  #server: grpc.Server | undefined
  #wake: () => void = () => {}

  async start(): Promise<void> {
    const server = new grpc.Server()
    server.addService(tenantService.TenantServiceService, { list: this.#guarded('tenants', this.#tenants()) })
    server.addService(applicationService.ApplicationServiceService, {
      list: this.#guarded('applications', this.#applications()),
      get: this.#guarded('application', this.#application()),
    })
    server.addService(profileService.DeviceProfileServiceService, { get: this.#guarded('profile', this.#profile()) })
    server.addService(deviceService.DeviceServiceService, {
      list: this.#guarded('devices', this.#devices()),
      enqueue: this.#guarded('enqueue', this.#enqueue()),
      getQueue: this.#guarded('queue', this.#getQueue()),
      flushQueue: this.#guarded('flush', this.#flushQueue()),
      get: this.#guarded('device', this.#device()),
    })
    if (this.port === 0) this.port = await freePort()
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const credentials = grpc.ServerCredentials.createInsecure()
    server.bindAsync(`127.0.0.1:${this.port}`, credentials, (error, port) =>
      error === null ? resolve(port) : reject(error),
    )
    this.port = await promise
    this.#server = server
  }

  stop(): void {
    this.#server?.forceShutdown()
    this.#server = undefined
  }

  async nextDownlink(): Promise<ReceivedDownlink> {
    for (;;) {
      const next = this.enqueued.shift()
      if (next !== undefined) return next
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await within(promise, 'a downlink')
    }
  }

  #guarded<Query, Answer>(name: string, handler: Handler<Query, Answer>): Handler<Query, Answer> {
    return (call, answer) => {
      this.calls.push(name)
      if (call.metadata.get('authorization')[0] !== `Bearer ${API_KEY}`) {
        answer({ code: grpc.status.UNAUTHENTICATED, details: 'InvalidToken' })
        return
      }
      const fault = this.fault ?? this.faults.get(name)
      if (fault !== undefined) answer(fault)
      else if (this.unanswered.has(name)) handler(call, () => {})
      else handler(call, answer)
    }
  }

  #tenants(): Handler<tenantPb.ListTenantsRequest, tenantPb.ListTenantsResponse> {
    return ({ request }, answer) => {
      const response = new tenantPb.ListTenantsResponse()
      for (const [id, name] of pageOf([...this.tenants], request)) {
        const item = new tenantPb.TenantListItem()
        item.setId(id)
        item.setName(name)
        response.addResult(item)
      }
      answer(null, response)
    }
  }

  #applications(): Handler<applicationPb.ListApplicationsRequest, applicationPb.ListApplicationsResponse> {
    return ({ request }, answer) => {
      const response = new applicationPb.ListApplicationsResponse()
      const all = this.applications.get(request.getTenantId()) ?? new Map<string, string>()
      for (const [id, name] of pageOf([...all], request)) {
        const item = new applicationPb.ApplicationListItem()
        item.setId(id)
        item.setName(name)
        response.addResult(item)
      }
      answer(null, response)
    }
  }

  #devices(): Handler<devicePb.ListDevicesRequest, devicePb.ListDevicesResponse> {
    return ({ request }, answer) => {
      const response = new devicePb.ListDevicesResponse()
      const all = this.devices.get(request.getApplicationId()) ?? new Map<string, FakeDevice>()
      for (const [devEui, one] of pageOf([...all], request)) {
        const item = new devicePb.DeviceListItem()
        item.setDevEui(devEui)
        item.setName(one.name)
        item.setDescription(one.description ?? '')
        item.setDeviceProfileName(one.profile ?? '')
        for (const [key, value] of Object.entries(one.tags ?? {})) item.getTagsMap().set(key, value)
        response.addResult(item)
      }
      answer(null, response)
    }
  }

  #application(): Handler<applicationPb.GetApplicationRequest, applicationPb.GetApplicationResponse> {
    return ({ request }, answer) => {
      const isThere = [...this.applications.values()].some((all) => all.has(request.getId()))
      if (isThere) answer(null, new applicationPb.GetApplicationResponse())
      else answer(notFound(request.getId()))
    }
  }

  #profile(): Handler<profilePb.GetDeviceProfileRequest, profilePb.GetDeviceProfileResponse> {
    return (_, answer) => {
      const profile = new profilePb.DeviceProfile()
      profile.setPayloadCodecRuntime(this.hasCodec ? profilePb.CodecRuntime.JS : profilePb.CodecRuntime.NONE)
      const response = new profilePb.GetDeviceProfileResponse()
      response.setDeviceProfile(profile)
      answer(null, response)
    }
  }

  #device(): Handler<devicePb.GetDeviceRequest, devicePb.GetDeviceResponse> {
    return ({ request }, answer) => {
      const isThere = [...this.devices.values()].some((all) => all.has(request.getDevEui()))
      if (!isThere) {
        answer(notFound(request.getDevEui()))
        return
      }
      const one = new devicePb.Device()
      one.setDeviceProfileId(APPLICATION)
      const response = new devicePb.GetDeviceResponse()
      response.setDevice(one)
      answer(null, response)
    }
  }

  #enqueue(): Handler<devicePb.EnqueueDeviceQueueItemRequest, devicePb.EnqueueDeviceQueueItemResponse> {
    return ({ request }, answer) => {
      const item = request.getQueueItem()
      assert.ok(item !== undefined)
      const devEui = item.getDevEui()
      if (![...this.devices.values()].some((all) => all.has(devEui))) {
        answer({ code: grpc.status.INTERNAL, details: NO_DEVICE })
        return
      }
      if (item.getFPort() === 0 || item.getFPort() === 256) {
        answer({ code: grpc.status.INVALID_ARGUMENT, details: 'Validation error: FPort must be between 1 - 255' })
        return
      }
      const queue = this.queues.get(devEui) ?? []
      const kept = request.getFlushQueue() ? queue.filter((one) => one.getIsPending()) : queue
      item.setId(randomUUID())
      this.queues.set(devEui, [...kept, item])
      const expiry = item.getExpiresAt()?.toDate().getTime()
      const object = item.getObject()?.toJavaScript()
      this.enqueued.push({
        id: item.getId(),
        devEui,
        confirmed: item.getConfirmed(),
        fPort: item.getFPort(),
        data: item.getData_asB64(),
        ...(object === undefined ? {} : { object }),
        ...(expiry === undefined ? {} : { expiresAtMs: expiry }),
      })
      this.#wake()
      const response = new devicePb.EnqueueDeviceQueueItemResponse()
      response.setId(item.getId())
      answer(null, response)
    }
  }

  #getQueue(): Handler<devicePb.GetDeviceQueueItemsRequest, devicePb.GetDeviceQueueItemsResponse> {
    return ({ request }, answer) => {
      const response = new devicePb.GetDeviceQueueItemsResponse()
      const queue = this.queues.get(request.getDevEui()) ?? []
      response.setTotalCount(queue.length)
      response.setResultList(queue)
      answer(null, response)
    }
  }

  #flushQueue(): Handler<devicePb.FlushDeviceQueueRequest, emptyPb.Empty> {
    return ({ request }, answer) => {
      this.flushed.push(request.getDevEui())
      this.queues.delete(request.getDevEui())
      answer(null, new emptyPb.Empty())
    }
  }
}

const NO_DEVICE =
  'insert or update on table "device_queue_item" violates foreign key constraint "device_queue_item_dev_eui_fkey"'

function notFound(id: string): Fault {
  return { code: grpc.status.NOT_FOUND, details: `Object does not exist (id: ${id})` }
}

function pageOf<Item>(all: readonly Item[], page: { getLimit(): number; getOffset(): number }): readonly Item[] {
  return all.slice(page.getOffset(), page.getOffset() + page.getLimit())
}

/** Its address, with its API key. */
export function addressOf(chirpStack: FakeChirpStack): ChirpStackAddress {
  return { target: `127.0.0.1:${chirpStack.port}`, apiKey: API_KEY, tls: undefined }
}

/** A client of it. */
export function apiOf(chirpStack: FakeChirpStack, apiKey = API_KEY): ChirpStackApi {
  return new ChirpStackApi({ ...addressOf(chirpStack), apiKey })
}
