import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import grpc from '@grpc/grpc-js'
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js'
import applicationService from '@chirpstack/chirpstack-api/api/application_grpc_pb.js'
import applicationPb from '@chirpstack/chirpstack-api/api/application_pb.js'
import deviceService from '@chirpstack/chirpstack-api/api/device_grpc_pb.js'
import devicePb from '@chirpstack/chirpstack-api/api/device_pb.js'
import tenantService from '@chirpstack/chirpstack-api/api/tenant_grpc_pb.js'
import tenantPb from '@chirpstack/chirpstack-api/api/tenant_pb.js'
import { within } from '../../../test/support/bounded-wait.ts'
import { nobody, openTestRegistry, valueOf } from '../../identity/registry.testing.ts'
import type { Registry } from '../../identity/registry.ts'
import { syncedRegistry } from '../../synced-registry.ts'
import { describeNetworkServer, TestSink } from '../network-server-contract.testing.ts'
import type { FarSide, ReceivedDownlink } from '../network-server-contract.testing.ts'
import type { Downlink } from '../network-server.ts'
import { ChirpStackApi } from './chirpstack-api.ts'
import { ChirpStackGrpc } from './chirpstack-grpc.ts'
import { ChirpStackSync } from './chirpstack-sync.ts'
import type { ChirpStackSyncParts } from './chirpstack-sync.ts'
import { createCounters } from './counters.ts'
import { GONE_SINCE } from './synced-fields.ts'
import { systemTimers } from './timers.ts'

const API_KEY = 'an API key'
const TENANT = '52f14cd4-c6f1-4fbd-8f87-4025e1d49242'
const APPLICATION = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'
const OTHER_APPLICATION = '9a3de2f0-2e63-4b0e-8b5f-2d8ff8c1a0b7'
const ONE = '0101010101010101'
const BACKOFF = { minimumMs: 20, maximumMs: 100, random: () => 0 }
const silent = { info: () => {}, warn: () => {}, error: () => {} }

interface FakeDevice {
  name: string
  description?: string
  profile?: string
  tags?: Record<string, string>
}

type Handler<Query, Answer> = (call: ServerUnaryCall<Query, Answer>, answer: sendUnaryData<Answer>) => void

/** ChirpStack, as far as its published definitions are asked for here. */
class FakeChirpStack {
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

function apiOf(chirpStack: FakeChirpStack, apiKey = API_KEY): ChirpStackApi {
  return new ChirpStackApi({ target: `127.0.0.1:${chirpStack.port}`, apiKey, tls: undefined })
}

function adapterOf(chirpStack: FakeChirpStack, sink: TestSink, registry: Registry): ChirpStackGrpc {
  const api = apiOf(chirpStack)
  const parts = {
    name: 'main',
    api,
    registry: syncedRegistry(registry),
    tenants: undefined,
    nowMs: () => 0,
    log: silent,
  }
  return new ChirpStackGrpc('main', {
    api,
    sync: new ChirpStackSync(parts, [APPLICATION]),
    syncIntervalMs: 3_600_000,
    sink,
    timers: systemTimers,
    backoff: BACKOFF,
    counters: createCounters(),
    log: silent,
  })
}

function noEvents(): Promise<void> {
  return Promise.reject(new Error('no events come by gRPC'))
}

async function openFar(sink: TestSink): Promise<FarSide> {
  const chirpStack = new FakeChirpStack()
  await chirpStack.start()
  const opened = await openTestRegistry()
  const adapter = adapterOf(chirpStack, sink, opened.registry)
  return {
    adapter,
    applicationId: APPLICATION,
    sendEvent: noEvents,
    allDealtWith: noEvents,
    sendAgain: noEvents,
    nextDownlink: () => chirpStack.nextDownlink(),
    refuseDownlinks: async () => {
      chirpStack.fault = { code: grpc.status.INVALID_ARGUMENT, details: 'the payload is too long' }
    },
    goAway: async () => chirpStack.stop(),
    comeBack: () => chirpStack.start(),
    close: async () => {
      await adapter.close()
      chirpStack.stop()
      await opened[Symbol.asyncDispose]()
    },
  }
}

describeNetworkServer({
  name: 'ChirpStack v4 by gRPC',
  open: openFar,
  skip: { events: 'its events come over MQTT or as webhooks' },
})

describe('a downlink to ChirpStack by gRPC', () => {
  let chirpStack: FakeChirpStack
  let adapter: ChirpStackGrpc
  let opened: Awaited<ReturnType<typeof openTestRegistry>>

  beforeEach(async () => {
    chirpStack = new FakeChirpStack()
    await chirpStack.start()
    opened = await openTestRegistry()
    const sink = new TestSink()
    adapter = adapterOf(chirpStack, sink, opened.registry)
    await sink.until('ready', () => sink.readyCount > 0)
  })

  afterEach(async () => {
    await adapter.close()
    chirpStack.stop()
    await opened[Symbol.asyncDispose]()
  })

  const { status } = grpc
  const answers: readonly (readonly [number, string, 'taken' | 'away' | 'refused'])[] = [
    [status.NOT_FOUND, 'Object does not exist', 'refused'],
    [status.INVALID_ARGUMENT, 'FPort must be between 1 - 255', 'refused'],
    [status.FAILED_PRECONDITION, 'no', 'refused'],
    [status.OUT_OF_RANGE, 'no', 'refused'],
    [status.UNIMPLEMENTED, 'no', 'refused'],
    [status.UNAVAILABLE, 'connection refused', 'away'],
    [status.DEADLINE_EXCEEDED, 'too late', 'away'],
    [status.RESOURCE_EXHAUSTED, 'too many', 'away'],
    [status.UNAUTHENTICATED, 'invalid token', 'away'],
    [status.PERMISSION_DENIED, 'no', 'away'],
    [status.INTERNAL, 'the database is gone', 'away'],
    [status.ALREADY_EXISTS, 'Object already exists', 'taken'],
    [status.INTERNAL, 'duplicate key value violates unique constraint', 'taken'],
  ]
  for (const [code, details, outcome] of answers) {
    it(`that is answered ${status[code]} "${details}" is ${outcome}`, async () => {
      chirpStack.fault = { code, details }
      const answer = await adapter.handOver(downlink())
      assert.equal(answer.outcome, outcome)
      if (answer.outcome !== 'taken') assert.equal(answer.reason, details)
    })
  }

  it('that brings about an internal error five times is refused, for those behind it wait', async () => {
    chirpStack.fault = { code: status.INTERNAL, details: 'index out of bounds' }
    const outcomes: string[] = []
    for (let times = 0; times < 5; times += 1) outcomes.push((await adapter.handOver(downlink())).outcome)
    assert.deepEqual(outcomes, ['away', 'away', 'away', 'away', 'refused'])
  })

  it('is forgotten by ChirpStack when the queue is flushed', async () => {
    await assert.rejects(adapter.flush(ONE), /no answer is needed/)
    assert.deepEqual(chirpStack.flushed, [ONE])
  })
})

function downlink(): Downlink {
  const data = Buffer.from([1])
  return {
    id: APPLICATION,
    applicationId: APPLICATION,
    devEui: ONE,
    confirmed: false,
    fPort: 1,
    data,
    expiresAtMs: undefined,
  }
}

describe('a synchronisation with ChirpStack', () => {
  let chirpStack: FakeChirpStack
  let api: ChirpStackApi
  let opened: Awaited<ReturnType<typeof openTestRegistry>>
  let registry: Registry
  let logged: object[]

  beforeEach(async () => {
    chirpStack = new FakeChirpStack()
    await chirpStack.start()
    api = apiOf(chirpStack)
    opened = await openTestRegistry()
    registry = opened.registry
    logged = []
  })

  afterEach(async () => {
    api.close()
    chirpStack.stop()
    await opened[Symbol.asyncDispose]()
  })

  const everything = { userId: '0', isAdmin: true }
  const page = { limit: 100, offset: 0 }
  const sync = (fields: Partial<ChirpStackSyncParts> = {}): ChirpStackSync => {
    const log = { ...silent, warn: (entry: object, message: string) => void logged.push({ ...entry, message }) }
    const parts = { name: 'main', api, registry: syncedRegistry(registry), tenants: undefined, nowMs: () => 0, log }
    return new ChirpStackSync({ ...parts, ...fields }, [])
  }
  const devicesIn = (id: string): Map<string, FakeDevice> => {
    const devices = chirpStack.devices.get(id) ?? new Map<string, FakeDevice>()
    chirpStack.devices.set(id, devices)
    return devices
  }

  it('makes organizations, applications and devices, page by page, and changes nothing when nothing has changed', async () => {
    for (let index = 0; index < 1203; index += 1) {
      devicesIn(APPLICATION).set(index.toString(16).padStart(16, '0'), { name: `meter ${index}`, tags: { floor: '3' } })
    }
    const one = sync()
    const report = await one.run()
    assert.deepEqual(report, { applications: 1, devices: 1203, created: 1204, updated: 0, disabled: 0, conflicts: 0 })
    assert.equal(chirpStack.calls.filter((call) => call === 'devices').length, 3)
    const [organization] = (await registry.organizations.list(everything, page)).items
    assert.deepEqual([organization?.name, organization?.displayName], ['valley-sons-52f14cd4', 'Valley & Sons'])
    assert.equal((await registry.applications.get(APPLICATION))?.organizationId, organization?.id)
    const device = await registry.devices.get('00000000000004b2')
    assert.deepEqual([device?.name, device?.applicationId, device?.tags], ['meter 1202', APPLICATION, { floor: '3' }])
    assert.deepEqual(one.applications, new Set([APPLICATION]))
    const again = await one.run()
    assert.deepEqual([again.created, again.updated, again.disabled], [0, 0, 0])
  })

  it('follows names, descriptions, profiles and tags', async () => {
    devicesIn(APPLICATION).set(ONE, { name: 'meter' })
    const one = sync()
    await one.run()
    chirpStack.tenants.set(TENANT, 'Valley Ltd')
    chirpStack.applications.get(TENANT)?.set(APPLICATION, 'Water, new')
    devicesIn(APPLICATION).set(ONE, { name: 'meter 2', description: 'cellar', profile: 'A1', tags: { a: 'b' } })
    assert.equal((await one.run()).updated, 2)
    const device = await registry.devices.get(ONE)
    assert.deepEqual(
      [device?.name, device?.description, device?.deviceProfileName, device?.tags],
      ['meter 2', 'cellar', 'A1', { a: 'b' }],
    )
    assert.equal((await registry.applications.get(APPLICATION))?.name, 'Water, new')
    assert.equal((await registry.organizations.list(everything, page)).items[0]?.displayName, 'Valley Ltd')
  })

  it('disables a device that two rounds did not find, and enables it when it is back', async () => {
    devicesIn(APPLICATION).set(ONE, { name: 'meter' })
    const one = sync()
    await one.run()
    devicesIn(APPLICATION).clear()
    assert.equal((await one.run()).disabled, 0)
    assert.equal((await one.run()).disabled, 1)
    const gone = await registry.devices.get(ONE)
    assert.deepEqual([gone?.isDisabled, gone?.variables], [true, { [GONE_SINCE]: '1970-01-01T00:00:00.000Z' }])
    devicesIn(APPLICATION).set(ONE, { name: 'meter' })
    assert.equal((await one.run()).updated, 1)
    const back = await registry.devices.get(ONE)
    assert.deepEqual([back?.isDisabled, back?.variables], [false, {}])
  })

  it('leaves a device disabled that somebody here has disabled', async () => {
    devicesIn(APPLICATION).set(ONE, { name: 'meter' })
    const one = sync()
    await one.run()
    valueOf(await registry.devices.update(ONE, { isDisabled: true }, nobody))
    devicesIn(APPLICATION).set(ONE, { name: 'renamed' })
    await one.run()
    const device = await registry.devices.get(ONE)
    assert.deepEqual([device?.isDisabled, device?.name], [true, 'renamed'])
  })

  it('moves a device that was moved to another application of its tenant', async () => {
    chirpStack.applications.get(TENANT)?.set(OTHER_APPLICATION, 'Gas')
    devicesIn(APPLICATION).set(ONE, { name: 'meter' })
    const one = sync()
    await one.run()
    devicesIn(APPLICATION).clear()
    devicesIn(OTHER_APPLICATION).set(ONE, { name: 'meter' })
    await one.run()
    await one.run()
    const device = await registry.devices.get(ONE)
    assert.deepEqual([device?.applicationId, device?.isDisabled], [OTHER_APPLICATION, false])
  })

  it('takes no device and no application of another organization', async () => {
    const stranger = { name: 'stranger', displayName: 'Stranger', canHaveGateways: false }
    const { id: organizationId } = valueOf(await registry.organizations.create(stranger, nobody))
    const synced = syncedRegistry(registry)
    assert.ok(await synced.createApplication({ id: OTHER_APPLICATION, organizationId, name: 'own', description: '' }))
    const own = { devEui: ONE, name: 'own', applicationId: OTHER_APPLICATION }
    valueOf(await registry.devices.create(own, nobody))
    chirpStack.applications.get(TENANT)?.set(OTHER_APPLICATION, 'taken')
    devicesIn(APPLICATION).set(ONE, { name: 'taken' })
    devicesIn(OTHER_APPLICATION).set(ONE, { name: 'taken' })
    const one = sync()
    assert.equal((await one.run()).conflicts, 2)
    assert.equal((await registry.devices.get(ONE))?.name, 'own')
    assert.equal((await registry.applications.get(OTHER_APPLICATION))?.name, 'own')
    assert.deepEqual(one.applications, new Set([APPLICATION]))
    assert.equal(logged.length, 2)
  })

  it('tells applications of one name apart, and does not rename them each time', async () => {
    chirpStack.applications.get(TENANT)?.set(OTHER_APPLICATION, 'Water')
    const one = sync()
    await one.run()
    assert.equal((await registry.applications.get(OTHER_APPLICATION))?.name, 'Water (9a3de2f0)')
    assert.equal((await one.run()).updated, 0)
  })

  it('takes names that the registry would not: they are cut, and never refused', async () => {
    chirpStack.tenants.set(TENANT, '\n')
    chirpStack.applications.get(TENANT)?.set(APPLICATION, ' ')
    const tags = { '': 'x', ok: 'y'.repeat(2000), 'a\nb': 'z' }
    devicesIn(APPLICATION).set(ONE, { name: `${'n'.repeat(99)}😀😀`, description: 'a\0b', tags })
    const report = await sync().run()
    assert.deepEqual([report.created, report.conflicts], [2, 0])
    const device = await registry.devices.get(ONE)
    assert.deepEqual([device?.name, device?.description], [`${'n'.repeat(99)}😀`, 'a b'])
    assert.deepEqual(device?.tags, { ok: 'y'.repeat(1000) })
  })

  it('of named tenants alone puts them into the organizations that were named', async () => {
    chirpStack.tenants.set(OTHER_APPLICATION, 'Another tenant')
    const own = { name: 'own', displayName: 'Own', canHaveGateways: false }
    const { id } = valueOf(await registry.organizations.create(own, nobody))
    await sync({ tenants: new Map([[TENANT, id]]) }).run()
    assert.equal((await registry.applications.get(APPLICATION))?.organizationId, id)
    assert.equal((await registry.organizations.list(everything, page)).totalCount, 1)
    assert.ok(!chirpStack.calls.includes('tenants'))
    const known = await syncedRegistry(registry).syncedApplications('chirpstack/main/', [id])
    assert.deepEqual(known, [APPLICATION])
  })

  it('writes nothing of a list that it could not read to its end, and disables nothing', async () => {
    devicesIn(APPLICATION).set(ONE, { name: 'meter' })
    const one = sync()
    await one.run()
    chirpStack.fault = { code: grpc.status.PERMISSION_DENIED, details: 'no' }
    await assert.rejects(one.run(), /PERMISSION_DENIED/)
    await assert.rejects(one.run(), /PERMISSION_DENIED/)
    assert.equal((await registry.devices.get(ONE))?.isDisabled, false)
  })

  it('needs the right API key', async () => {
    const wrong = apiOf(chirpStack, 'another')
    await assert.rejects(sync({ api: wrong }).run(), /UNAUTHENTICATED/)
    wrong.close()
  })
})
