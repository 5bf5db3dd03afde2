/** Network servers from the settings, with the whole service between them and an integrator. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { connectAsync } from 'mqtt'
import type { IClientOptions, MqttClient } from 'mqtt'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { Mosquitto } from '../support/mosquitto.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

let folder: string
const closing: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fieldgate-network-servers-'))
})

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
  await rm(folder, { recursive: true })
})

async function fileOf(...networkServers: object[]): Promise<string> {
  const file = join(folder, 'network-servers.json')
  await writeFile(file, JSON.stringify({ networkServers }))
  return file
}

async function start(file?: string): Promise<RunningService> {
  const environment: Record<string, string> = file === undefined ? {} : { FIELDGATE_NETWORK_SERVERS_FILE: file }
  const service = await startInProcess({ environment })
  closing.push(() => service.stop())
  return service
}

interface Integrator {
  readonly client: MqttClient
  next(): Promise<{ readonly topicName: string; readonly payload: string }>
  /** The messages that came and were not read. */
  rest(): readonly { readonly topicName: string; readonly payload: string }[]
}

async function integrator(
  service: RunningService,
  username: string,
  options: IClientOptions = {},
): Promise<Integrator> {
  const client = await connectAsync(`mqtts://localhost:${service.mqttsPort}`, {
    protocolVersion: 5,
    username,
    password: 'default',
    ca: service.ca,
    ...options,
  })
  closing.push(() => client.endAsync(true))
  const queue: { readonly topicName: string; readonly payload: string }[] = []
  let wake: (() => void) | undefined
  client.on('message', (topicName, payload) => {
    queue.push({ topicName, payload: payload.toString() })
    wake?.()
  })
  const next = async (): ReturnType<Integrator['next']> => {
    for (;;) {
      const message = queue.shift()
      if (message !== undefined) return message
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      await within(promise, 'a message')
    }
  }
  return { client, next, rest: () => queue.splice(0) }
}

describe('a network server of the settings', { timeout: 90_000 }, () => {
  it('that is described wrongly keeps the service from starting, with all that is wrong', async () => {
    const file = await fileOf({ name: 'x', kind: 'mqtt-bridge', url: 'http://x', commands: 'no' })
    await assert.rejects(startInProcess({ environment: { FIELDGATE_NETWORK_SERVERS_FILE: file } }), (error: Error) => {
      assert.match(error.message, /networkServers\[0\]\.url: must be a URL that begins with mqtt:\/\//)
      assert.match(error.message, /networkServers\[0\]\.clientId: is missing/)
      assert.match(error.message, /networkServers\[0\]\.commands: must be true or false/)
      return true
    })
  })

  it('posts events, which reach subscribers, and gets commands by its HTTP API', async () => {
    const requests: { readonly url: string | undefined; readonly body: unknown }[] = []
    const posted = Promise.withResolvers<void>()
    const api = createServer((request, response) => {
      void json(request).then((body) => {
        requests.push({ url: request.url, body })
        response.writeHead(200).end('{}')
        posted.resolve()
      })
    }).listen(0, '127.0.0.1')
    await once(api, 'listening')
    closing.push(async () => {
      api.closeAllConnections()
      api.close()
    })
    const { port } = api.address() as AddressInfo
    const rest = { kind: 'chirpstack-http', version: 'v4', apiKey: 'key', organizationId: '1' }
    const service = await start(await fileOf({ name: 'rest', url: `http://127.0.0.1:${port}`, ...rest }))
    const administration = new Administration(service)
    const organizationId = await administration.organization()
    assert.equal(organizationId, '1')
    const applicationId = await administration.application(organizationId)
    const devEui = await administration.device(applicationId)
    const { session } = await administration.person([{ organizationId }])
    const own = await integrator(service, await administration.brokerToken(session, organizationId))
    await own.client.subscribeAsync(`application/${applicationId}/device/+/event/+`, { qos: 1 })

    const { userName, password } = await administration.serviceCredential(organizationId)
    const authorization = `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}`
    const event = { deviceInfo: { devEui }, fCnt: 7, data: 'AQID' }
    const answer = await service.http.ask('POST', '/api/network-servers/chirpstack/events?event=up', {
      headers: { authorization },
      json: event,
    })
    assert.equal(answer.status, 200)
    assert.deepEqual(await own.next(), {
      topicName: `application/${applicationId}/device/${devEui}/event/up`,
      payload: JSON.stringify(event),
    })

    const command = JSON.stringify({ confirmed: true, fPort: 10, data: 'AQID' })
    await own.client.publishAsync(`application/${applicationId}/device/${devEui}/command/down`, command, { qos: 1 })
    await within(posted.promise, 'the command')
    const [request] = requests
    assert.equal(request?.url, `/api/devices/${devEui}/queue`)
    assert.ok(request !== undefined)
    const { queueItem } = request.body as { readonly queueItem: Record<string, unknown> }
    assert.deepEqual([queueItem['confirmed'], queueItem['fPort'], queueItem['data']], [true, 10, 'AQID'])
  })

  it('is bridged: its events come and its commands go by way of its own broker', async () => {
    const mosquitto = await Mosquitto.start(folder)
    closing.push(() => mosquitto.stop())
    const url = `mqtt://127.0.0.1:${mosquitto.port}`
    const bridge = { name: 'valley', kind: 'mqtt-bridge', url, clientId: 'fieldgate' }
    const service = await start(await fileOf({ ...bridge, organizationId: '1' }))
    const administration = new Administration(service)
    const organizationId = await administration.organization()
    const id = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'
    const applicationId = await administration.application(organizationId, { id })
    assert.equal(applicationId, id)
    const devEui = await administration.device(applicationId)
    const foreignApplication = await administration.application(await administration.organization())
    const foreign = await administration.device(foreignApplication)
    const { session } = await administration.person([{ organizationId }])
    const own = await integrator(service, await administration.brokerToken(session, organizationId))
    await own.client.subscribeAsync(`application/${applicationId}/device/+/event/+`, { qos: 1 })

    const chirpStack = await connectAsync(url, { protocolVersion: 5, clientId: 'chirpstack' })
    closing.push(() => chirpStack.endAsync(true))
    const command = new Promise<string>((resolve) =>
      chirpStack.once('message', (topicName, payload) => resolve(`${topicName} ${payload.toString()}`)),
    )
    await chirpStack.subscribeAsync('application/+/device/+/command/+', { qos: 1 })
    const topic = `application/${applicationId}/device/${devEui}`
    const foreignTopic = `application/${foreignApplication}/device/${foreign}/event/up`
    await chirpStack.publishAsync(foreignTopic, '{"forged":true}', { qos: 1 })
    await chirpStack.publishAsync(`${topic}/event/up`, '{"fCnt":1}', { qos: 1 })
    assert.deepEqual(await own.next(), { topicName: `${topic}/event/up`, payload: '{"fCnt":1}' })

    await own.client.publishAsync(`${topic}/command/down`, '{"confirmed":false,"fPort":3,"data":"AQ=="}', { qos: 1 })
    const [topicName = '', payload = ''] = (await within(command, 'the command')).split(' ')
    assert.equal(topicName, `${topic}/command/down`)
    const { id: itemId, ...rest } = JSON.parse(payload) as Record<string, unknown>
    assert.match(String(itemId), /^[0-9a-f-]{36}$/)
    assert.deepEqual(rest, { devEui, confirmed: false, fPort: 3, data: 'AQ==' })
    const metrics = await service.http.ask('GET', '/metrics', { token: service.adminSession })
    assert.match(metrics.text, /^fieldgate_network_servers_events_owned_total 1$/m)
    assert.match(metrics.text, /^fieldgate_network_servers_events_refused_total 1$/m)
    assert.match(metrics.text, /^fieldgate_network_servers_downlinks_taken_total 1$/m)
  })

  it('loses no event of a bridge when the service is restarted while they come', async () => {
    const mosquitto = await Mosquitto.start(folder)
    closing.push(() => mosquitto.stop())
    const url = `mqtt://127.0.0.1:${mosquitto.port}`
    const file = await fileOf({ name: 'valley', kind: 'mqtt-bridge', url, clientId: 'fieldgate' })
    const dataDirectory = join(folder, 'data')
    const environment = { FIELDGATE_NETWORK_SERVERS_FILE: file, FIELDGATE_DATA_DIR: dataDirectory }
    const first = await startInProcess({ environment })
    const administration = new Administration(first)
    const organizationId = await administration.organization()
    const applicationId = await administration.application(organizationId)
    const devEui = await administration.device(applicationId)
    const { session } = await administration.person([{ organizationId }])
    const token = await administration.brokerToken(session, organizationId)
    const topicName = `application/${applicationId}/device/${devEui}/event/up`
    const reading = { clientId: 'reader', clean: false, properties: { sessionExpiryInterval: 3600 } }
    const before = await integrator(first, token, reading)
    await before.client.subscribeAsync(topicName, { qos: 1 })
    const chirpStack = await connectAsync(url, { protocolVersion: 5, clientId: 'chirpstack' })
    closing.push(() => chirpStack.endAsync(true))
    const count = 300
    const publishing = (async () => {
      for (let fCnt = 0; fCnt < count; fCnt += 1)
        await chirpStack.publishAsync(topicName, `{"fCnt":${fCnt}}`, { qos: 1 })
    })()
    const seen = new Set<string>()
    while (seen.size < 20) seen.add((await before.next()).payload)
    await before.client.endAsync(true)
    for (const { payload } of before.rest()) seen.add(payload)
    await first.stop()
    const second = await startInProcess({ environment })
    closing.push(() => second.stop())
    const after = await integrator(second, token, reading)
    while (seen.size < count) seen.add((await after.next()).payload)
    await publishing
  })
})
