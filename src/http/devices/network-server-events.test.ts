import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { OwnMessage } from '../../broker/ports/consumer.ts'
import { within } from '../../../test/support/bounded-wait.ts'
import { describeNetworkServer, TestSink } from '../../lorawan/network-servers/network-server-contract.testing.ts'
import type { FarSide, ReceivedDownlink } from '../../lorawan/network-servers/network-server-contract.testing.ts'
import { EventInspection } from '../../lorawan/uplinks/event-inspection.ts'
import { createCounters } from '../../lorawan/network-servers/adapter/counters.ts'
import { DeviceEventSink } from '../../lorawan/network-servers/adapter/device-event-sink.ts'
import { HttpClient } from '../../lorawan/network-servers/http/http-request.ts'
import { chirpStackForm, theThingsStackForm } from '../../lorawan/network-servers/http/rest-forms.ts'
import { RestNetworkServer } from '../../lorawan/network-servers/http/rest-network-server.ts'
import type { RestForm } from '../../lorawan/network-servers/http/rest-network-server.ts'
import { TheThingsStackDeviceIds } from '../../lorawan/network-servers/http/the-things-stack-device-ids.ts'
import { systemClock } from '../../clock.ts'
import type { SteadyMs } from '../../clock.ts'
import { TestClock } from '../../clock.testing.ts'
import { parseTopic } from '../../lorawan/topics.ts'
import { WebhookReceiver } from '../../lorawan/network-servers/http/webhook-receiver.ts'
import { must, newDevice, openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'
import { silentLogger } from '../../logger.ts'

const ONE = 'a1b2c3d4e5f60001'
const TWO = 'a1b2c3d4e5f60002'
const UUID = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'
const BACKOFF = { minimumMs: 20, maximumMs: 100, random: () => 0 }

/** The HTTP API of a network server. */
class FakeApi {
  readonly requests: {
    readonly method: string
    readonly url: string
    readonly authorization: string
    readonly body: unknown
  }[] = []
  answer: { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> } = {
    status: 200,
    body: {},
  }
  port = 0
  #server: Server | undefined
  #wake: () => void = () => {}

  get url(): URL {
    return new URL(`http://127.0.0.1:${this.port}`)
  }

  async start(): Promise<void> {
    this.#server = createServer((request, response) => {
      void this.#take(request).then(() => {
        const { status, body, headers = {} } = this.answer
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
        this.#wake()
      })
    })
    this.#server.listen(this.port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.port = (this.#server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }

  async next(): Promise<FakeApi['requests'][number]> {
    for (;;) {
      const next = this.requests.shift()
      if (next !== undefined) return next
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await within(promise, 'a request')
    }
  }

  async #take(request: IncomingMessage): Promise<void> {
    const body = await text(request)
    this.requests.push({
      method: request.method ?? '',
      url: request.url ?? '',
      authorization: String(request.headers['grpc-metadata-authorization'] ?? request.headers.authorization),
      body: body === '' ? undefined : JSON.parse(body),
    })
  }
}

interface Flavour {
  readonly source: 'chirpstack' | 'the-things-stack'
  readonly path: string
  readonly form: (ids: TheThingsStackDeviceIds) => RestForm
  /** The webhook that tells of an uplink. */
  readonly event: (devEui: string, fields: Record<string, unknown>) => unknown
  readonly downlink: (request: FakeApi['requests'][number]) => ReceivedDownlink
}

const chirpStack = (version: 'v3' | 'v4'): Flavour => ({
  source: 'chirpstack',
  path: 'chirpstack/events?event=up',
  form: () => chirpStackForm(version),
  event: (devEui, fields) => (version === 'v3' ? { devEUI: devEui, ...fields } : { deviceInfo: { devEui }, ...fields }),
  downlink: ({ url, body }) => {
    const [, devEui = ''] = /^\/api\/devices\/([0-9a-f]+)\/queue$/.exec(url) ?? []
    const item = (body as Record<string, Record<string, unknown>>)[version === 'v3' ? 'deviceQueueItem' : 'queueItem']
    const {
      expiresAt,
      devEUI: _devEui,
      ...rest
    } = item as unknown as ReceivedDownlink & {
      readonly expiresAt?: string
      readonly devEUI?: string
    }
    return { ...rest, devEui, ...(expiresAt === undefined ? {} : { expiresAtMs: Date.parse(expiresAt) }) }
  },
})

const theThingsStack: Flavour = {
  source: 'the-things-stack',
  path: 'the-things-stack/events',
  form: (ids) =>
    theThingsStackForm({
      applicationId: 'app1',
      webhookId: 'fieldgate',
      deviceIdOf: (devEui) => ids.idOf(devEui, undefined),
    }),
  event: (devEui, { fCnt }) => ({
    end_device_ids: { device_id: `eui-${devEui}`, dev_eui: devEui.toUpperCase() },
    uplink_message: { f_cnt: fCnt },
  }),
  downlink: ({ url, body }) => {
    const [, deviceId = ''] = /\/webhooks\/fieldgate\/devices\/([^/]+)\/down\/push$/.exec(url) ?? []
    const [downlink] = (body as { readonly downlinks: readonly Record<string, unknown>[] }).downlinks
    const [id = ''] = (downlink?.['correlation_ids'] ?? []) as string[]
    return {
      devEui: deviceId.replace('eui-', ''),
      id: id.replace('fieldgate:', ''),
      confirmed: downlink?.['confirmed'] === true,
      fPort: Number(downlink?.['f_port']),
      data: String(downlink?.['frm_payload']),
    }
  },
}

/** A service with a service credential, to which webhooks are posted over a socket. */
class Service {
  readonly deployment: TestDeployment
  readonly url: string
  readonly authorization: string
  readonly deviceIds: TheThingsStackDeviceIds

  static async open(sink: TestSink): Promise<Service> {
    const deviceIds = new TheThingsStackDeviceIds()
    const received = Promise.withResolvers<WebhookReceiver>()
    const deployment = await openTestDeployment({
      networkServerEvents: { receive: async (webhook) => (await received.promise).receive(webhook) },
    })
    const { registry, applicationId, organizationId } = deployment
    const placeOf = registry.directory.device.bind(registry.directory)
    const publisher = {
      publish: ({ topicName, payload }: OwnMessage) => {
        const topic = parseTopic(topicName)
        assert.ok(topic?.kind === 'event')
        const { applicationId: inTopic, devEui, eventKind } = topic
        return sink.event({ applicationId: inTopic, devEui, kind: eventKind, payload })
      },
    }
    const parts = {
      placeOf,
      publisher,
      ready: () => sink.ready(),
      counters: createCounters(),
      inspection: new EventInspection(),
      clock: new TestClock(),
      log: silentLogger,
    }
    const sinkOf = (id: string | null): DeviceEventSink => new DeviceEventSink(parts, id ?? undefined)
    received.resolve(new WebhookReceiver({ placeOf, sinkOf, deviceIds }))
    for (const devEui of [ONE, TWO]) await newDevice(registry, applicationId, devEui)
    const { userName, password } = must(
      await registry.serviceCredentials.create({ name: 'network server', organizationId }, { userId: null }),
    )
    const url = await deployment.app.listen({ port: 0, host: '127.0.0.1' })
    return new Service(deployment, url, `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}`, deviceIds)
  }

  private constructor(deployment: TestDeployment, url: string, authorization: string, ids: TheThingsStackDeviceIds) {
    this.deployment = deployment
    this.url = url
    this.authorization = authorization
    this.deviceIds = ids
  }

  async post(
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    const answer = await fetch(`${this.url}/api/network-servers/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: this.authorization, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
}

async function openFar(sink: TestSink, flavour: Flavour): Promise<FarSide> {
  const api = new FakeApi()
  await api.start()
  const service = await Service.open(sink)
  const client = new HttpClient({ baseUrl: api.url, headers: { authorization: 'Bearer key' }, ca: undefined })
  const { applicationId } = service.deployment
  const adapter = new RestNetworkServer('rest', {
    sink,
    serves: (id) => id === applicationId,
    client,
    form: flavour.form(service.deviceIds),
    clock: systemClock,
    backoff: BACKOFF,
    counters: createCounters(),
    log: silentLogger,
  })
  // Nothing tells that an HTTP API is there but its answers: it is there at first.
  sink.ready()
  let posting: Promise<void> = Promise.resolve()
  let failed: unknown[] = []
  const post = (body: unknown): void => {
    posting = posting.then(async () => {
      const { status } = await service.post(flavour.path, body)
      if (status >= 500) failed.push(body)
    })
  }
  return {
    adapter,
    applicationId,
    sendEvent: async (devEui, payload) => post(flavour.event(devEui, JSON.parse(payload) as Record<string, unknown>)),
    allDealtWith: async () => {
      await posting
      assert.deepEqual(failed, [])
    },
    sendAgain: async () => {
      await posting
      for (const body of failed.splice(0)) post(body)
    },
    nextDownlink: async () => flavour.downlink(await api.next()),
    refuseDownlinks: async () => {
      api.answer = { status: 400, body: { code: 3, message: 'the payload is too long' } }
    },
    goAway: () => api.stop(),
    comeBack: () => api.start(),
    close: async () => {
      await adapter.close()
      await posting
      failed = []
      await service.deployment.close()
      await api.stop()
    },
  }
}

describeNetworkServer({ name: 'ChirpStack v4 by webhooks and HTTP', open: (sink) => openFar(sink, chirpStack('v4')) })
describeNetworkServer({
  name: 'ChirpStack v3 by webhooks and HTTP',
  open: (sink) => openFar(sink, chirpStack('v3')),
  skip: { ids: 'v3 has no ids of commands', expiry: 'v3 has no expiry' },
})
describeNetworkServer({
  name: 'The Things Stack by webhooks and HTTP',
  open: (sink) => openFar(sink, theThingsStack),
  skip: { expiry: 'its downlinks have no expiry' },
})

describe('ChirpStack v3 by HTTP', () => {
  it('gets one command of a device at a time, for its events name none; v4 gets one after the other', async () => {
    for (const [version, holdsNext] of [
      ['v3', true],
      ['v4', undefined],
    ] as const) {
      const far = await openFar(new TestSink(), chirpStack(version))
      const { applicationId } = far
      const downlink = { id: UUID, applicationId, devEui: ONE, confirmed: true, fPort: 7, data: Buffer.of(1) }
      const [answer] = await Promise.all([
        far.adapter.handOver({ ...downlink, expiresAtMs: undefined }),
        far.nextDownlink(),
      ])
      assert.deepEqual([answer.outcome, 'holdsNext' in answer && answer.holdsNext], ['taken', holdsNext ?? false])
      await far.close()
    }
  })
})

function reasonOf(body: Record<string, unknown>): unknown {
  return (body['details'] as readonly { readonly reason: string }[])[0]?.reason
}

describe('a webhook', () => {
  let sink: TestSink
  let service: Service

  beforeEach(async () => {
    sink = new TestSink()
    service = await Service.open(sink)
  })

  afterEach(async () => {
    await service.deployment.close()
  })

  const chirpStackPath = 'chirpstack/events?event=up'
  const uplink = { deviceInfo: { devEui: ONE }, fCnt: 1 }

  it('is passed on byte by byte, to the application in which the device is here', async () => {
    const body = `{ "deviceInfo" : {"applicationId":"${UUID}","devEui":"${ONE}"}, "big":12345678901234567890, "é":"\\u00e9" }`
    assert.deepEqual(await service.post(chirpStackPath, body), { status: 200, body: {} })
    assert.equal(sink.payloads()[0], body)
    assert.equal(sink.owned[0]?.applicationId, service.deployment.applicationId)
  })

  it('names its device as v3 does by default, in base64', async () => {
    const devEUI = Buffer.from(ONE, 'hex').toString('base64')
    assert.equal((await service.post(chirpStackPath, { devEUI })).status, 200)
    assert.equal(sink.owned[0]?.devEui, ONE)
  })

  it('is of the kind that the query says', async () => {
    for (const kind of ['join', 'ack', 'txack', 'log', 'status', 'location', 'integration', 'error']) {
      assert.equal((await service.post(`chirpstack/events?event=${kind}`, uplink)).status, 200)
    }
    assert.equal(sink.owned.length, 8)
    assert.equal((await service.post('chirpstack/events', uplink)).status, 400)
  })

  const credentials: readonly (readonly [string, string])[] = [
    ['none', ''],
    ['a bearer token', 'Bearer eyJhbGciOiJub25lIn0.e30.'],
    ['no base64', 'Basic ***'],
    ['no colon', `Basic ${Buffer.from('network-server').toString('base64')}`],
    ['an unknown user', `Basic ${Buffer.from('network-server-1:x').toString('base64')}`],
    ['huge ones', `Basic ${'A'.repeat(8000)}`],
  ]
  for (const [what, authorization] of credentials) {
    it(`with ${what} for a credential is refused before its body is read`, async () => {
      const { status, body } = await service.post(chirpStackPath, uplink, { authorization })
      assert.deepEqual([status, reasonOf(body)], [401, 'service_credential_wrong'])
      assert.deepEqual(sink.owned, [])
    })
  }

  it('with a wrong password, or a right one and more, is refused', async () => {
    const right = Buffer.from(service.authorization.slice(6), 'base64').toString()
    for (const wrong of [`${right}\0`, `${right} `, right.slice(0, -1), `${right.split(':')[0]}:`]) {
      const authorization = `Basic ${Buffer.from(wrong).toString('base64')}`
      assert.equal((await service.post(chirpStackPath, uplink, { authorization })).status, 401)
    }
  })

  it('about a device of another organization reads like one about no device', async () => {
    const answers = []
    for (const devEui of [service.deployment.foreignDevEui, 'fedcba9876543210']) {
      answers.push(await service.post(chirpStackPath, { deviceInfo: { devEui } }))
      const ids = { device_id: 'stolen', dev_eui: devEui }
      answers.push(await service.post('the-things-stack/events', { end_device_ids: ids, uplink_message: {} }))
    }
    for (const answer of answers) assert.deepEqual(answer, answers[0])
    assert.equal(answers[0]?.status, 404)
    // An event from a stranger is not believed either.
    assert.equal(
      service.deviceIds.idOf(service.deployment.foreignDevEui, undefined),
      `eui-${service.deployment.foreignDevEui}`,
    )
  })

  const malformed = [
    '',
    '{',
    'null',
    '[]',
    '"x"',
    '{}',
    '{"deviceInfo":{"devEui":1}}',
    '{"deviceInfo":{"devEui":"../../x"}}',
    '{"deviceInfo":{"devEui":"01010101010101010"}}',
    '{"__proto__":{"devEUI":"0101010101010101"}}',
    '{"end_device_ids":{"dev_eui":"0101010101010101"},"uplink_message":{}}',
    '{"end_device_ids":{"dev_eui":"0101010101010101","device_id":"a"}}',
    '{"end_device_ids":{"dev_eui":"0101010101010101","device_id":"a"},"uplink_message":[]}',
    '['.repeat(50_000),
  ]
  for (const body of malformed) {
    it(`that is ${body.slice(0, 60)} is refused, and not to be sent again`, async () => {
      for (const path of [chirpStackPath, 'the-things-stack/events']) {
        const { status } = await service.post(path, body)
        assert.equal(status, 400)
      }
      assert.deepEqual(sink.owned, [])
    })
  }

  it('that says nothing new is answered, and is no event', async () => {
    const ids = { device_id: 'meter', dev_eui: ONE }
    for (const member of ['downlink_queued', 'uplink_normalized']) {
      const answer = await service.post('the-things-stack/events', { end_device_ids: ids, [member]: {} })
      assert.deepEqual(answer, { status: 200, body: {} })
    }
    assert.deepEqual(sink.owned, [])
  })

  it('that is larger than any event is refused', async () => {
    const { status } = await service.post(chirpStackPath, { ...uplink, data: 'x'.repeat(300_000) })
    assert.equal(status, 413)
  })

  it('that could not be owned is to come again, in a while', async () => {
    sink.plans.push(() => Promise.reject(new Error('the disk is full')))
    const { status, body } = await service.post(chirpStackPath, uplink)
    assert.deepEqual([status, reasonOf(body)], [503, 'event_not_owned'])
  })
})

describe('a downlink by HTTP', () => {
  let api: FakeApi
  let adapter: RestNetworkServer
  let nowMs: number

  beforeEach(async () => {
    nowMs = 0
    api = new FakeApi()
    await api.start()
    const headers = { 'grpc-metadata-authorization': 'Bearer key' }
    adapter = new RestNetworkServer('rest', {
      sink: new TestSink(),
      serves: () => true,
      client: new HttpClient({ baseUrl: new URL(`${api.url.href}base/`), headers, ca: undefined }),
      form: chirpStackForm('v4'),
      clock: { ...systemClock, steady: () => nowMs as SteadyMs },
      backoff: BACKOFF,
      counters: createCounters(),
      log: silentLogger,
    })
  })

  afterEach(async () => {
    await adapter.close()
    await api.stop()
  })

  const downlink = { id: UUID, applicationId: '5', devEui: ONE, confirmed: false, fPort: 1, expiresAtMs: undefined }
  const handOver = () => adapter.handOver({ ...downlink, data: Buffer.from([1]) })

  const answers: readonly (readonly [number, unknown, 'taken' | 'away' | 'refused'])[] = [
    [200, { id: UUID }, 'taken'],
    [204, '', 'taken'],
    [400, { message: 'no' }, 'refused'],
    [404, { message: 'Object does not exist' }, 'refused'],
    [409, { message: 'Object already exists' }, 'taken'],
    [500, { message: 'duplicate key value violates unique constraint' }, 'taken'],
    [500, { message: 'the database is gone' }, 'away'],
    [401, { message: 'invalid token' }, 'away'],
    [403, {}, 'away'],
    [429, {}, 'away'],
    [502, 'x', 'away'],
    [503, {}, 'away'],
  ]
  for (const [status, body, outcome] of answers) {
    it(`that is answered ${status} ${JSON.stringify(body)} is ${outcome}`, async () => {
      api.answer = { status, body }
      assert.equal((await handOver()).outcome, outcome)
    })
  }

  it('follows no redirect: an answer must not choose whom this service asks', async () => {
    const elsewhere = new FakeApi()
    await elsewhere.start()
    for (const status of [301, 302, 307, 308]) {
      api.answer = { status, body: {}, headers: { location: `${elsewhere.url.href}api` } }
      assert.equal((await handOver()).outcome, 'away')
    }
    assert.deepEqual(elsewhere.requests, [])
    await elsewhere.stop()
  })

  it('goes below the base URL with the API key, and a huge answer is not read to its end', async () => {
    api.answer = { status: 400, body: { message: 'x'.repeat(5_000_000) } }
    const answer = await handOver()
    assert.deepEqual(answer, { outcome: 'refused', reason: '400' })
    const { url, authorization, method } = await api.next()
    assert.deepEqual([method, url, authorization], ['POST', `/base/api/devices/${ONE}/queue`, 'Bearer key'])
  })

  it('is shown with the network server’s words on one line', async () => {
    api.answer = { status: 400, body: { message: 'bad\r\nforged: line' } }
    assert.deepEqual(await handOver(), { outcome: 'refused', reason: '400 bad  forged: line' })
  })

  it('is forgotten by the network server when the queue is flushed', async () => {
    await adapter.flush?.(ONE)
    const { url, method } = await api.next()
    assert.deepEqual([method, url], ['DELETE', `/base/api/devices/${ONE}/queue`])
    api.answer = { status: 500, body: { message: 'no' } }
    await assert.rejects(adapter.flush?.(ONE) ?? Promise.resolve(), /500 no/)
  })

  it('that causes internal errors for ten minutes is refused, because others wait behind it', async () => {
    api.answer = { status: 500, body: { message: 'index out of bounds' } }
    const outcomes: string[] = []
    for (nowMs of [0, 100, 300_000, 599_999, 600_000]) outcomes.push((await handOver()).outcome)
    assert.deepEqual(outcomes, ['away', 'away', 'away', 'away', 'refused'])
  })
})
