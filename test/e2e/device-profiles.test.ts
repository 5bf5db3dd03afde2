/**
 * Devices of two types in one application are decoded by their own profiles, and a change of a
 * profile takes effect with the next uplink.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { LIBRARY_PROFILE } from '../../src/identity/devices/library-profile.testing.ts'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const UPLINK = '{"deviceName":"m","devEUI":"01","fCnt":1,"fPort":2,"data":"AQI=","tags":{}}'
const decoder = (word: string): string => `function decodeUplink() { return { data: { by: '${word}' } } }`

let service: RunningService
let administration: Administration
const clients: MqttClient[] = []

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
})

after(async () => {
  for (const client of clients) await client.endAsync(true)
  await service.stop()
})

async function connect(username: string, password: string): Promise<MqttClient> {
  const { mqttsPort: port, ca } = service
  const options = { host: 'localhost', port, protocol: 'mqtts', ca, username, password, reconnectPeriod: 0 } as const
  const client = await within(connectAsync({ ...options, protocolVersion: 5 }), 'CONNACK')
  clients.push(client)
  return client
}

/** A script whose commands are this byte. */
function encoder(byte: number): string {
  return `function encodeDownlink() { return { bytes: [${byte}] } }`
}

test('two types of device in one application have their own codecs, and a change counts at the next uplink', async () => {
  const { userName, password } = await administration.serviceCredential('')
  const networkServer = await connect(userName, password)
  const organizationId = await administration.organization()
  const codec = { payloadCodec: 'CUSTOM_JS', payloadDecoderScript: decoder('application') }
  const applicationId = await administration.application(organizationId, codec)
  const { session } = await administration.person([{ organizationId }])
  const reader = await connect(await administration.brokerToken(session, organizationId), 'default')
  await reader.subscribeAsync(`application/${applicationId}/device/+/event/up`, { qos: 1 })
  const heard = async (devEui: string): Promise<unknown> => {
    const { promise, resolve } = Promise.withResolvers<Buffer>()
    reader.once('message', (_topicName, payload) => resolve(payload))
    await networkServer.publishAsync(`application/${applicationId}/device/${devEui}/event/up`, UPLINK, { qos: 1 })
    return JSON.parse((await within(promise, 'the uplink')).toString())
  }
  const profile = async (name: string): Promise<string> => {
    const fields = { name, payloadCodec: 'CUSTOM_JS', payloadDecoderScript: decoder(name) }
    const body = { deviceProfile: { organizationID: organizationId, ...fields } }
    return String((await administration.must('POST', '/api/device-profiles', body))['id'])
  }
  const [meter, valve, plain] = [
    await administration.device(applicationId),
    await administration.device(applicationId),
    await administration.device(applicationId),
  ]
  assert.partialDeepStrictEqual(await heard(meter), { object: { by: 'application' } })
  const meterProfile = await profile('meter')
  const valveProfile = await profile('valve')
  await administration.must('PUT', `/api/devices/${meter}`, { device: { deviceProfileID: meterProfile } })
  await administration.must('PUT', `/api/devices/${valve}`, { device: { deviceProfileID: valveProfile } })
  assert.partialDeepStrictEqual(await heard(meter), {
    object: { by: 'meter' },
    deviceProfileName: 'meter',
    deviceProfileID: meterProfile,
  })
  assert.partialDeepStrictEqual(await heard(valve), { object: { by: 'valve' }, deviceProfileName: 'valve' })
  assert.partialDeepStrictEqual(await heard(plain), { object: { by: 'application' } })
  const changed = { deviceProfile: { payloadDecoderScript: decoder('meter, changed'), fPortRules: [] } }
  await administration.must('PUT', `/api/device-profiles/${meterProfile}`, changed)
  assert.partialDeepStrictEqual(await heard(meter), { object: { by: 'meter, changed' } })
  const rules = { deviceProfile: { fPortRules: [{ fPort: 2, use: 'PASS' }] } }
  await administration.must('PUT', `/api/device-profiles/${meterProfile}`, rules)
  assert.equal(Object.hasOwn((await heard(meter)) as object, 'object'), false)
  await administration.must('DELETE', `/api/device-profiles/${meterProfile}?detach=true`)
  assert.partialDeepStrictEqual(await heard(meter), { object: { by: 'application' } })
})

/** Queues an object for the device. Answers the bytes of all its commands, in base64. */
async function queued(devEui: string): Promise<readonly string[]> {
  const deviceQueueItem = { confirmed: false, fPort: 2, jsonObject: '{"open":true}' }
  await administration.must('POST', `/api/devices/${devEui}/queue`, { deviceQueueItem })
  const { deviceQueueItems } = await administration.must('GET', `/api/devices/${devEui}/queue`)
  return (deviceQueueItems as readonly { readonly data: string }[]).map(({ data }) => data)
}

test('an object of a command is encoded by the profile of the device, and after a change by the new script', async () => {
  const organizationId = await administration.organization('encoders')
  const applicationId = await administration.application(organizationId)
  const devEui = await administration.device(applicationId)
  const fields = { name: 'valve', payloadCodec: 'CUSTOM_JS', payloadEncoderScript: encoder(7) }
  const body = { deviceProfile: { organizationID: organizationId, ...fields } }
  const profileId = String((await administration.must('POST', '/api/device-profiles', body))['id'])
  await administration.must('PUT', `/api/devices/${devEui}`, { device: { deviceProfileID: profileId } })
  assert.deepEqual(await queued(devEui), ['Bw=='])
  const changed = { deviceProfile: { payloadEncoderScript: encoder(8) } }
  await administration.must('PUT', `/api/device-profiles/${profileId}`, changed)
  assert.deepEqual(await queued(devEui), ['Bw==', 'CA=='])
})

test('a device whose profile was chosen from the library follows the library when the update is taken', async () => {
  const library = async (byte: number): Promise<void> => {
    const profile = { ...LIBRARY_PROFILE, payloadEncoderScript: encoder(byte) }
    const path = '/api/device-library/profiles'
    const report = await administration.must('POST', path, { profiles: [profile], update: true })
    assert.equal(report['refusedCount'], 0)
  }
  await library(5)
  const { result } = await administration.must('GET', '/api/device-library/profiles?vendor=Maker&region=US915')
  const [found] = result as readonly { readonly id: string }[]
  const organizationId = await administration.organization('choosers')
  const applicationId = await administration.application(organizationId)
  const devEui = await administration.device(applicationId)
  const fields = { name: 'chosen', organizationID: organizationId, libraryProfileID: found?.id, region: 'US915' }
  const made = await administration.must('POST', '/api/device-profiles', { deviceProfile: fields })
  const profileId = String(made['id'])
  await administration.must('PUT', `/api/devices/${devEui}`, { device: { deviceProfileID: profileId } })
  assert.deepEqual(await queued(devEui), ['BQ=='])
  await library(6)
  assert.deepEqual(await queued(devEui), ['BQ==', 'BQ=='])
  await administration.must('POST', `/api/device-profiles/${profileId}/library-update`, {})
  assert.deepEqual(await queued(devEui), ['BQ==', 'BQ==', 'Bg=='])
})
