/**
 * The disk fills under the running service: network servers wait, readers go on, no message is
 * lost, and the service recovers by itself.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Packet } from 'mqtt-packet'
import { Administration } from '../support/administration.ts'
import { FillingDisk } from '../support/filling-disk.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient, codeOf } from '../support/wire-client.ts'
import type { Login, Version } from '../support/wire-client.ts'

const disk = new FillingDisk()
let service: RunningService
let administration: Administration
let place: { readonly applicationId: string; readonly devEui: string; readonly topicName: string }
let networkServer: Login
let integrator: Login

before(async () => {
  service = await startInProcess({ disk })
  administration = new Administration(service)
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  const devEui = await administration.device(applicationId)
  place = { applicationId, devEui, topicName: `application/${applicationId}/device/${devEui}/event/up` }
  const { userName, password } = await administration.serviceCredential('')
  networkServer = { username: userName, password }
  const person = await administration.person([{ organizationId }])
  integrator = { username: await administration.brokerToken(person.session, organizationId), password: 'default' }
})

after(async () => {
  await service.stop()
})

async function connect(login: Login, version: Version, clientId: string): Promise<WireClient> {
  const client = await WireClient.open(service, version)
  const lasting = version === 5 ? { clean: false, properties: { sessionExpiryInterval: 3600 } } : { clean: false }
  assert.equal(await client.connect(login, { clientId, ...lasting }), 0)
  return client
}

async function publish(client: WireClient, payload: string, qos: 0 | 1 | 2): Promise<Packet | undefined> {
  client.send(client.publishPacket(place.topicName, JSON.stringify({ payload }), qos))
  return client.next()
}

async function nextPayload(client: WireClient): Promise<string> {
  const packet = await client.next()
  assert.ok(packet?.cmd === 'publish')
  const { messageId, payload, qos } = packet
  if (qos === 1) client.send({ cmd: 'puback', messageId: messageId ?? 0 })
  return (JSON.parse(payload.toString()) as { payload: string }).payload
}

const health = async () => (await service.http.ask('GET', '/api/internal/health')).status

test('a full disk has network servers wait, serves readers, and takes messages again by itself, each once and in order', async () => {
  const reader = await connect(integrator, 5, 'reader')
  await reader.subscribe(`application/${place.applicationId}/device/+/event/+`)
  const away = await connect(integrator, 5, 'away')
  await away.subscribe(place.topicName)
  away.destroy()
  const publisher = await connect(networkServer, 5, 'five')
  const older = await connect(networkServer, 4, 'four')
  assert.equal((await publish(publisher, 'before', 1))?.cmd, 'puback')
  assert.equal(await nextPayload(reader), 'before')

  disk.isFull = true
  const waiting = [publisher, older].flatMap((client, index) =>
    ([0, 1, 2] as const).map((qos) => ({ client, qos, payload: `waits ${index} ${qos}` })),
  )
  for (const { client, qos, payload } of waiting) {
    client.send(client.publishPacket(place.topicName, JSON.stringify({ payload }), qos))
  }
  const command = { deviceQueueItem: { confirmed: true, fPort: 10, data: 'AQID' } }
  const queue = await service.http.ask('POST', `/api/devices/${place.devEui}/queue`, {
    token: service.adminSession,
    json: command,
  })
  assert.equal(queue.status, 503, queue.text)
  const notReady = await service.http.ask('GET', '/api/internal/health')
  assert.equal(notReady.status, 503)
  assert.match(notReady.text, /not ready: The disk is full/)
  assert.equal((await service.http.ask('GET', '/api/internal/health/live')).status, 200)

  for (const [version, refusal] of [
    [5, 0x97],
    [4, 0x80],
  ] as const) {
    const late = await connect(integrator, version, `late ${version}`)
    late.send({ cmd: 'subscribe', messageId: 5, subscriptions: [{ topic: place.topicName, qos: 1 }] })
    const suback = await late.next()
    assert.ok(suback?.cmd === 'suback', 'a subscription that can not be stored is answered')
    assert.deepEqual(suback.granted, [refusal])
    late.send({ cmd: 'unsubscribe', messageId: 6, unsubscriptions: [place.topicName] })
    assert.equal((await late.next())?.cmd, 'unsuback')
    late.destroy()
  }

  const history = await service.http.must('GET', `/api/devices/${place.devEui}/events`, {
    token: service.adminSession,
  })
  assert.equal((history['result'] as readonly unknown[]).length, 1, 'what is stored can be read')
  const organizations = await service.http.must('GET', '/api/organizations?limit=9', { token: service.adminSession })
  assert.equal(organizations['totalCount'], '1')
  const back = await connect(integrator, 5, 'away')
  assert.equal(await nextPayload(back), 'before')

  disk.isFull = false
  for (const client of [publisher, older]) {
    const answers = [await client.next(), await client.next()]
    assert.deepEqual(
      answers.map((packet) => packet?.cmd ?? '').toSorted((a, b) => a.localeCompare(b)),
      ['puback', 'pubrec'],
    )
    assert.ok(answers.every((packet) => packet !== undefined && codeOf(packet) === 0))
  }
  for (const client of [reader, back]) {
    const payloads: string[] = []
    while (payloads.length < waiting.length) payloads.push(await nextPayload(client))
    for (const index of [0, 1]) {
      const ofOne = payloads.filter((payload) => payload.startsWith(`waits ${index}`))
      assert.deepEqual(
        ofOne,
        [0, 1, 2].map((qos) => `waits ${index} ${qos}`),
      )
    }
  }
  assert.equal(await health(), 200)
  assert.equal((await publish(publisher, 'after', 1))?.cmd, 'puback')
  for (const client of [reader, back]) assert.equal(await nextPayload(client), 'after')
  for (const client of [reader, back, publisher, older]) client.destroy()
})
