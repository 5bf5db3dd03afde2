/**
 * The setting `eventShape` of an application, from the network server to subscribers and history.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { faultsOf } from '../contracts/validators.ts'
import { recordedEvents } from '../recordings/recordings.ts'
import type { RecordedVersion } from '../recordings/recordings.ts'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

type Members = Readonly<Record<string, unknown>>

interface Came {
  readonly kind: string
  readonly payload: Members
}

const DECODER = 'function decodeUplink({ bytes }) { return { data: { length: bytes.length } } }'

let service: RunningService
let administration: Administration
let networkServer: MqttClient
let reader: MqttClient
let applicationId: string
let devEui: string
const came: Came[] = []
let wake = Promise.withResolvers<void>()

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  const organizationId = await administration.organization()
  const codec = { payloadCodec: 'CUSTOM_JS', payloadDecoderScript: DECODER }
  applicationId = await administration.application(organizationId, codec)
  devEui = await administration.device(applicationId)
  const { userName, password } = await administration.serviceCredential(organizationId)
  networkServer = await connect(userName, password)
  const { session } = await administration.person([{ organizationId }])
  reader = await connect(await administration.brokerToken(session, organizationId), 'default')
  reader.on('message', (topicName, payload) => {
    const kind = topicName.split('/').at(-1) ?? ''
    if (kind === 'state') return
    came.push({ kind, payload: JSON.parse(payload.toString()) as Members })
    wake.resolve()
    wake = Promise.withResolvers<void>()
  })
  await reader.subscribeAsync(`application/${applicationId}/device/${devEui}/event/+`, { qos: 1 })
})

after(async () => {
  for (const client of [networkServer, reader]) await client.endAsync(true)
  await service.stop()
})

function connect(username: string, password: string): Promise<MqttClient> {
  const { mqttsPort: port, ca } = service
  const options = { host: 'localhost', port, protocol: 'mqtts', ca, username, password, reconnectPeriod: 0 } as const
  return within(connectAsync({ ...options, protocolVersion: 5 }), 'CONNACK')
}

async function next(): Promise<Came> {
  while (came.length === 0) await within(wake.promise, 'an event')
  return came.shift() as Came
}

/** A recorded uplink with a payload, as if the device of this test had sent it. */
function recordedUplink(version: RecordedVersion): Members {
  const found = recordedEvents(version).find(
    ({ kind, payload }) => kind === 'up' && typeof (payload as Members)['data'] === 'string',
  )
  assert.ok(found !== undefined)
  const text = JSON.stringify(found.payload).replaceAll(found.devEui, devEui)
  return JSON.parse(text) as Members
}

/** Publishes the uplink. Answers the event that subscribers get, which the history has as well. */
async function through(uplink: Members): Promise<Members> {
  const topic = `application/${applicationId}/device/${devEui}/event/up`
  await networkServer.publishAsync(topic, JSON.stringify(uplink), { qos: 1 })
  const { kind, payload } = await next()
  assert.equal(kind, 'up')
  const path = `/api/devices/${devEui}/events?kind=up&limit=1`
  const { result } = await administration.must('GET', path)
  const [newest] = result as readonly Members[]
  assert.deepEqual(newest?.['payload'] ?? newest?.['event'], payload)
  return payload
}

async function wish(eventShape: string): Promise<void> {
  await administration.must('PUT', `/api/applications/${applicationId}`, { application: { eventShape } })
}

/** Required members that an event of family A does not tell: docs/events.md lists them. */
const UNTOLD = /required property '(?:devAddr|confirmed)'/
const FAMILIES = { V3: 'a', V4: 'b', NORMALIZED: 'normalized' } as const

for (const version of ['v3', 'v4'] as const) {
  test(`an event of ChirpStack ${version} goes out in the shape of the application, with the object of its codec`, async () => {
    const uplink = recordedUplink(version)
    const object = { length: Buffer.from(String(uplink['data']), 'base64').length }
    await wish('')
    assert.partialDeepStrictEqual(await through(uplink), { ...uplink, object })
    for (const [shape, family] of Object.entries(FAMILIES)) {
      await wish(shape)
      const shaped = await through(uplink)
      const faults = faultsOf(`events/${family}/up`, shaped)
      assert.deepEqual(
        faults.filter((fault) => !UNTOLD.test(fault)),
        [],
        shape,
      )
      assert.deepEqual(shaped['object'], object)
      const devEuiOf = { V3: shaped['devEUI'], V4: (shaped['deviceInfo'] as Members | undefined)?.['devEui'] }
      if (shape !== 'NORMALIZED') assert.equal(devEuiOf[shape as 'V3' | 'V4'], devEui)
      assert.equal('shape' in shaped, shape === 'NORMALIZED')
    }
    await wish('')
    assert.partialDeepStrictEqual(await through(uplink), uplink)
  })
}

test('an event that can’t be read goes on as it came, and an error event names the fault', async () => {
  await wish('V4')
  const topic = `application/${applicationId}/device/${devEui}/event/up`
  await networkServer.publishAsync(topic, JSON.stringify({ fCnt: 'one', devEUI: devEui }), { qos: 1 })
  const first = await next()
  assert.equal(first.kind, 'up')
  assert.equal(first.payload['fCnt'], 'one')
  // Faults of this family come as an event log and as an event error.
  const faults = [await next(), await next()]
  assert.deepEqual(faults.map(({ kind }) => kind).toSorted(), ['error', 'log'])
  for (const { payload } of faults) {
    assert.equal(payload['code'], 'EVENT_NOT_SHAPED')
    assert.match(String(payload['description']), /fCnt: must be a number/)
  }
})
