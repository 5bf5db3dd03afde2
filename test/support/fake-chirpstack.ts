/** ChirpStack v4 for tests: a gRPC server made of its published definitions. */
import assert from 'node:assert/strict'
import grpc from '@grpc/grpc-js'
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js'
import applicationService from '@chirpstack/chirpstack-api/api/application_grpc_pb.js'
import applicationPb from '@chirpstack/chirpstack-api/api/application_pb.js'
import deviceService from '@chirpstack/chirpstack-api/api/device_grpc_pb.js'
import devicePb from '@chirpstack/chirpstack-api/api/device_pb.js'
import tenantService from '@chirpstack/chirpstack-api/api/tenant_grpc_pb.js'
import tenantPb from '@chirpstack/chirpstack-api/api/tenant_pb.js'
import { within } from './bounded-wait.ts'
import { freePort } from './free-port.ts'
import type { ReceivedDownlink } from '../../src/lorawan/network-server-contract.testing.ts'
import { ChirpStackApi } from '../../src/lorawan/network-servers/chirpstack-api.ts'

const API_KEY = 'an API key'
/** What there is at first: one tenant with one application, without devices. */
export const TENANT = '52f14cd4-c6f1-4fbd-8f87-4025e1d49242'
export const APPLICATION = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'

export interface FakeDevice {
  name: string
  description?: string
  profile?: string
  tags?: Record<string, string>
}

type Handler<Query, Answer> = (call: ServerUnaryCall<Query, Answer>, answer: sendUnaryData<Answer>) => void

/** ChirpStack, as far as it is asked for here. */
export class FakeChirpStack {
  readonly tenants = new Map([[TENANT, 'Valley & Sons']])
  /** Tenant to application to name. */
  readonly applications = new Map([[TENANT, new Map([[APPLICATION, 'Water']])]])
  /** Application to DevEUI to device. */
  readonly devices = new Map<string, Map<string, FakeDevice>>([[APPLICATION, new Map()]])
  readonly enqueued: ReceivedDownlink[] = []
  readonly flushed: string[] = []
  readonly calls: string[] = []
  fault: { code: number; details: string } | undefined
  port = 0
  #server: grpc.Server | undefined
  #wake: () => void = () => {}

  async start(): Promise<void> {
    const server = new grpc.Server()
    server.addService(tenantService.TenantServiceService, { list: this.#guarded('tenants', this.#tenants()) })
    server.addService(applicationService.ApplicationServiceService, {
      list: this.#guarded('applications', this.#applications()),
    })
    server.addService(deviceService.DeviceServiceService, {
      list: this.#guarded('devices', this.#devices()),
      enqueue: this.#guarded('enqueue', this.#enqueue()),
      flushQueue: this.#guarded('flush', (call: ServerUnaryCall<devicePb.FlushDeviceQueueRequest, unknown>, answer) => {
        this.flushed.push(call.request.getDevEui())
        answer({ code: grpc.status.NOT_FOUND, details: 'no answer is needed here' })
      }),
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
        answer({ code: grpc.status.UNAUTHENTICATED, details: 'authentication failed' })
      } else if (this.fault !== undefined) answer(this.fault)
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

  #enqueue(): Handler<devicePb.EnqueueDeviceQueueItemRequest, devicePb.EnqueueDeviceQueueItemResponse> {
    return ({ request }, answer) => {
      const item = request.getQueueItem()
      assert.ok(item !== undefined)
      const expiry = item.getExpiresAt()?.toDate().getTime()
      this.enqueued.push({
        id: item.getId(),
        devEui: item.getDevEui(),
        confirmed: item.getConfirmed(),
        fPort: item.getFPort(),
        data: item.getData_asB64(),
        ...(expiry === undefined ? {} : { expiresAtMs: expiry }),
      })
      this.#wake()
      const response = new devicePb.EnqueueDeviceQueueItemResponse()
      response.setId(item.getId())
      answer(null, response)
    }
  }
}

function pageOf<Item>(all: readonly Item[], page: { getLimit(): number; getOffset(): number }): readonly Item[] {
  return all.slice(page.getOffset(), page.getOffset() + page.getLimit())
}

/** A client of it. */
export function apiOf(chirpStack: FakeChirpStack, apiKey = API_KEY): ChirpStackApi {
  return new ChirpStackApi({ target: `127.0.0.1:${chirpStack.port}`, apiKey, tls: undefined })
}
