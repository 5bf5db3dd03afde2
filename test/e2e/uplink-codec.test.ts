/**
 * Uplinks of the whole service get their objects, live and in the history, and a tenant's script
 * harms only that tenant.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const FAMILY_A = (fCnt: number, data: string): string =>
  `{"applicationName":"meters","deviceName":"m 1","devEUI":"01","fCnt":${fCnt},"fPort":2,"data":"${data}","tags":{}}`
const FAMILY_B = (fCnt: number, data: string): string =>
  `{"deduplicationId":"d","time":"2026-01-15T12:00:00Z","deviceInfo":{"devEui":"01"},"fCnt":${fCnt},"fPort":2,"data":"${data}"}`

const CAYENNE_DATA = 'AWcA+gFoQA=='
const CAYENNE_OBJECT = '"object":{"temperatureSensor":{"1":25},"humiditySensor":{"1":32}}'
const SUM = 'function Decode(fPort, bytes) { return { sum: bytes.reduce((sum, byte) => sum + byte, 0) } }'
const BROKEN = 'function Decode() { return missing }'
const ENDLESS = 'function Decode() { for (;;) {} }'
/** Slow, but never too slow by itself, so that the script is not held back. */
const SLOW = 'function Decode() { const end = Date.now() + 60; while (Date.now() < end) {} return { slow: true } }'

/** Uplinks of the hostile tenant that are on their way before the neighbour's first uplink. */
const HOSTILE_UPLINKS = 100
/** Uplinks of the neighbour meanwhile, one after the other. */
const NEIGHBOURLY_UPLINKS = 10

let service: RunningService
let administration: Administration
let networkServer: MqttClient
const clients: MqttClient[] = []

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  const { userName, password } = await administration.serviceCredential('')
  networkServer = await connect(userName, password)
})

after(async () => {
  for (const client of clients) await client.endAsync(true)
  await service.stop()
})

async function connect(username: string, password: string, protocolVersion: 4 | 5 = 5): Promise<MqttClient> {
  const { mqttsPort: port, ca } = service
  const options = { host: 'localhost', port, protocol: 'mqtts', ca, username, password, reconnectPeriod: 0 } as const
  const client = await within(connectAsync({ ...options, protocolVersion }), 'CONNACK')
  clients.push(client)
  return client
}

/** An application with a codec, a device, and a reader of all its events. */
class Tenant {
  readonly applicationId: string
  readonly devEui: string
  readonly #session: string
  readonly #events: string[] = []
  #arrived: () => void = () => {}

  constructor(applicationId: string, devEui: string, session: string, reader: MqttClient) {
    this.applicationId = applicationId
    this.devEui = devEui
    this.#session = session
    reader.on('message', (topicName, payload) => {
      this.#events.push(`${topicName.split('/').at(-1)} ${payload.toString()}`)
      this.#arrived()
    })
  }

  static async create(codec: object): Promise<Tenant> {
    const organizationId = await administration.organization()
    const applicationId = await administration.application(organizationId, codec)
    const devEui = await administration.device(applicationId)
    const { session } = await administration.person([{ organizationId }])
    const reader = await connect(await administration.brokerToken(session, organizationId), 'default')
    const tenant = new Tenant(applicationId, devEui, session, reader)
    await reader.subscribeAsync(`application/${applicationId}/device/+/event/+`, { qos: 1 })
    return tenant
  }

  /** The number of events that came and were not received by the test. */
  get unread(): number {
    return this.#events.length
  }

  publish(payload: string, { kind = 'up', qos = 1 }: { readonly kind?: string; readonly qos?: 0 | 1 | 2 } = {}) {
    return networkServer.publishAsync(
      `application/${this.applicationId}/device/${this.devEui}/event/${kind}`,
      payload,
      {
        qos,
      },
    )
  }

  /** The next events that the reader gets, as `kind payload`. */
  async receive(count: number): Promise<string[]> {
    while (this.#events.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#arrived = resolve
      await within(promise, `event ${this.#events.length + 1} of ${count}`)
    }
    return this.#events.splice(0, count)
  }

  /** The stored uplinks, the oldest first. */
  async stored(): Promise<unknown[]> {
    const answer = await service.http.ask('GET', `/api/applications/${this.applicationId}/events?order=oldest`, {
      token: this.#session,
      headers: { accept: 'application/x-ndjson' },
    })
    const lines = answer.text.split('\n').slice(0, -1)
    return lines.map((line) => (JSON.parse(line) as { event: unknown }).event)
  }
}

const withObject = (payload: string, object: string): string => payload.replace(/("data":"[^"]*")/, `$1,${object}`)

const codecs = {
  CAYENNE_LPP: { fields: {}, data: CAYENNE_DATA, object: CAYENNE_OBJECT },
  CUSTOM_JS: { fields: { payloadDecoderScript: SUM }, data: 'AQID', object: '"object":{"sum":6}' },
} as const

for (const payloadCodec of ['CAYENNE_LPP', 'CUSTOM_JS'] as const) {
  test(`uplinks of both families get their object by ${payloadCodec}, at every QoS, live and in the history`, async () => {
    const { fields, data, object } = codecs[payloadCodec]
    const tenant = await Tenant.create({ payloadCodec, ...fields })
    const payloads = [FAMILY_A(0, data), FAMILY_B(1, data), FAMILY_A(2, data)]
    await Promise.all(payloads.map((payload, index) => tenant.publish(payload, { qos: index as 0 | 1 | 2 })))
    const expected = payloads.map((payload) => withObject(payload, object))
    assert.deepEqual(
      await tenant.receive(3),
      expected.map((payload) => `up ${payload}`),
    )
    assert.deepEqual(
      await tenant.stored(),
      expected.map((payload) => JSON.parse(payload) as unknown),
    )
  })
}

test('a broken script leaves uplinks as they came, tells so behind each, and is mended by the next one', async () => {
  const tenant = await Tenant.create({ payloadCodec: 'CUSTOM_JS', payloadDecoderScript: BROKEN })
  await Promise.all([
    tenant.publish(FAMILY_A(1, 'AQID')),
    tenant.publish(FAMILY_B(2, 'AQID'), { qos: 0 }),
    tenant.publish('{"margin":7}', { kind: 'status' }),
  ])
  const [upA, error, upB, log, copy, status] = await tenant.receive(6)
  assert.deepEqual([upA, upB], [`up ${FAMILY_A(1, 'AQID')}`, `up ${FAMILY_B(2, 'AQID')}`])
  assert.match(error ?? '', /^error .*"type":"UPLINK_CODEC","error":".*missing.*\(line 1\)","fCnt":1\}$/)
  assert.match(log ?? '', /^log .*"code":"UPLINK_CODEC","description":".*missing.*"/)
  assert.equal(copy, log?.replace('log', 'error'))
  assert.equal(status, 'status {"margin":7}')
  assert.equal((await tenant.stored()).length, 6)

  await administration.must('PUT', `/api/applications/${tenant.applicationId}`, {
    application: { payloadDecoderScript: SUM },
  })
  await tenant.publish(FAMILY_A(3, 'AQID'))
  assert.deepEqual(await tenant.receive(1), [`up ${withObject(FAMILY_A(3, 'AQID'), '"object":{"sum":6}')}`])
})

test('an uplink that a network server posts gets its object as well', async () => {
  const tenant = await Tenant.create({ payloadCodec: 'CAYENNE_LPP' })
  const { userName, password } = await administration.serviceCredential('')
  const authorization = `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}`
  const uplink = { deviceInfo: { devEui: tenant.devEui }, fPort: 2, data: CAYENNE_DATA }
  const answer = await service.http.ask('POST', '/api/network-servers/chirpstack/events?event=up', {
    headers: { authorization },
    json: uplink,
  })
  assert.equal(answer.status, 200)
  assert.deepEqual(await tenant.receive(1), [`up ${withObject(JSON.stringify(uplink), CAYENNE_OBJECT)}`])
})

for (const [name, script] of Object.entries({ ENDLESS, SLOW })) {
  test(`a tenant whose script is ${name.toLowerCase()} delays no neighbour on the same connection, and loses no uplink`, async () => {
    const hostile = await Tenant.create({ payloadCodec: 'CUSTOM_JS', payloadDecoderScript: script })
    const neighbour = await Tenant.create({ payloadCodec: 'CUSTOM_JS', payloadDecoderScript: SUM })
    const flood = Array.from({ length: HOSTILE_UPLINKS }, (_, fCnt) => hostile.publish(FAMILY_A(fCnt, 'AQID')))
    for (let fCnt = 0; fCnt < NEIGHBOURLY_UPLINKS; fCnt += 1) {
      void neighbour.publish(FAMILY_A(fCnt, 'AQID'))
      assert.deepEqual(await neighbour.receive(1), [`up ${withObject(FAMILY_A(fCnt, 'AQID'), '"object":{"sum":6}')}`])
    }
    // In one queue with the slow uplinks, of 60 ms each, the neighbour's would come last. The
    // endless script is soon held back.
    if (script === SLOW) assert.ok(hostile.unread < HOSTILE_UPLINKS, 'the flood is not over')
    const counters: number[] = []
    while (counters.length < HOSTILE_UPLINKS) {
      const [event = ''] = await hostile.receive(1)
      if (event.startsWith('up ')) counters.push((JSON.parse(event.slice(3)) as { fCnt: number }).fCnt)
      else assert.match(event, /^error .*UPLINK_CODEC/)
    }
    assert.deepEqual(counters, [...counters.keys()])
    await within(Promise.all(flood), 'the acknowledgement of each hostile uplink')
  })
}

/** When a network server comes back, it sends all gathered uplinks at once. */
const BACKLOG_UPLINKS = 4_000
const BACKLOG_DEVICES = 20
/**
 * The number of unacknowledged uplinks that Receive Maximum allows; MQTT.js does not enforce it.
 */
const BACKLOG_WINDOW = 1_000

for (const [name, protocolVersion, qos] of [
  ['MQTT 5 at QoS 1', 5, 1],
  ['MQTT 3.1.1 at QoS 1', 4, 1],
  ['MQTT 5 at QoS 0', 5, 0],
] as const) {
  for (const credential of ['of the deployment', 'of the organization'] as const) {
    test(`a backlog of thousands by ${name}, with a credential ${credential}, is decoded as a whole and keeps its order`, async () => {
      const organizationId = await administration.organization()
      const codec = { payloadCodec: 'CUSTOM_JS', payloadDecoderScript: SUM }
      const applicationId = await administration.application(organizationId, codec)
      const devices = await Promise.all(
        Array.from({ length: BACKLOG_DEVICES }, () => administration.device(applicationId)),
      )
      const { session } = await administration.person([{ organizationId }])
      const reader = await connect(await administration.brokerToken(session, organizationId), 'default')
      const seen: string[] = []
      const { promise: complete, resolve } = Promise.withResolvers<void>()
      reader.on('message', (topicName, payload) => {
        seen.push(`${topicName.split('/').at(3)} ${payload.toString()}`)
        if (seen.length === BACKLOG_UPLINKS) resolve()
      })
      await reader.subscribeAsync(`application/${applicationId}/device/+/event/+`, { qos: 1 })
      const of = credential === 'of the deployment' ? '' : organizationId
      const { userName, password } = await administration.serviceCredential(of)
      const sender = await connect(userName, password, protocolVersion)
      let next = 0
      const publishing = Array.from({ length: BACKLOG_WINDOW }, async () => {
        while (next < BACKLOG_UPLINKS) {
          const devEui = devices[next % BACKLOG_DEVICES] ?? ''
          const event = FAMILY_A(next, 'AQID')
          next += 1
          await sender.publishAsync(`application/${applicationId}/device/${devEui}/event/up`, event, { qos })
        }
      })
      await within(Promise.all(publishing), 'the acknowledgement of each', 60_000)
      await within(complete, 'each uplink', 60_000)
      for (const [index, devEui] of devices.entries()) {
        const expected: string[] = []
        for (let fCnt = index; fCnt < BACKLOG_UPLINKS; fCnt += BACKLOG_DEVICES) {
          expected.push(`${devEui} ${withObject(FAMILY_A(fCnt, 'AQID'), '"object":{"sum":6}')}`)
        }
        assert.deepEqual(
          seen.filter((event) => event.startsWith(devEui)),
          expected,
        )
      }
    })
  }
}

test('metrics count how uplinks are decoded', async () => {
  const { text } = await service.http.ask('GET', '/metrics', { token: service.adminSession })
  const value = (name: string): number => Number(new RegExp(`^fieldgate_uplinks_${name} (.*)$`, 'm').exec(text)?.[1])
  assert.equal(value('held'), 0)
  assert.ok(value('decoded_total') > 2 * NEIGHBOURLY_UPLINKS)
  assert.ok(value('failed_total') >= 2)
})
