/**
 * The state of devices over the wire: one event for each change, for those alone who may read the
 * device's events, and the list that shows it, also by the next process.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { it } from 'node:test'
import { Administration } from '../support/administration.ts'
import { assertLives, LiveConnections, publish, received } from '../support/live-connections.ts'
import { makeFolder, startInProcess } from '../support/running-service.ts'

const ALL = 'application/+/device/+/event/+'
const LOW = { margin: 5, batteryLevel: 10, batteryLevelUnavailable: false, externalPowerSource: false }

it('a change is told to the organization of the device alone, and is listed after a restart', async () => {
  const folder = await makeFolder()
  const environment = { FIELDGATE_DATA_DIR: folder }
  const first = await startInProcess({ environment })
  const administration = new Administration(first)
  const live = new LiveConnections(first)
  const organizationId = await administration.organization()
  const hostileOrganizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  const hostileApplicationId = await administration.application(hostileOrganizationId)
  const devEui = await administration.device(applicationId)
  const hostileDevEui = await administration.device(hostileApplicationId)
  const connect = async (home: string, topicFilter: string, scope: object) => {
    const person = await administration.person([{ organizationId: home }])
    const token = await administration.brokerToken(person.session, home, '3600', scope)
    const client = await live.integrator(5, token, { clientId: `of-${home}`, clean: true, properties: {} })
    assert.equal(await client.subscribe(topicFilter), 1)
    return client
  }
  const owner = await connect(organizationId, `application/${applicationId}/device/+/event/state`, {})
  const hostile = await connect(hostileOrganizationId, ALL, { reachesAllApplications: true })
  assert.equal(await hostile.subscribe(`application/${applicationId}/device/+/event/state`), 0x87)

  const server = await live.networkServer(await administration.serviceCredential(''))
  const topicOf = (kind: string): string => `application/${applicationId}/device/${devEui}/event/${kind}`
  // The service alone tells of states.
  assert.equal(await publish(server, topicOf('state'), '{}'), 0x87)
  const up = { fCnt: 1, rxInfo: [{ rssi: -70, snr: 9.5 }] }
  assert.ok((await publish(server, topicOf('up'), JSON.stringify(up))) < 0x80)
  assert.ok((await publish(server, topicOf('status'), JSON.stringify(LOW))) < 0x80)

  const weakDevEui = await administration.device(applicationId)
  const body = { deviceProfile: { name: 'Far away', organizationID: organizationId, marginLimitDb: 20 } }
  const profile = await administration.must('POST', '/api/device-profiles', body)
  await administration.must('PUT', `/api/devices/${weakDevEui}`, { device: { deviceProfileID: profile['id'] } })
  // SF7 needs -7.5 dB: 17 dB above it are enough without a profile.
  for (const one of [devEui, weakDevEui]) {
    const topic = `application/${applicationId}/device/${one}/event/up`
    const far = { ...up, fCnt: 2, txInfo: { loRaModulationInfo: { spreadingFactor: 7, bandwidth: 125 } } }
    assert.ok((await publish(server, topic, JSON.stringify(far))) < 0x80)
  }

  const both = [await received(owner), await received(owner)]
  const ofWeak = both.find(({ topic }) => topic !== topicOf('state'))
  assert.partialDeepStrictEqual(JSON.parse(ofWeak?.payload ?? ''), { devEUI: weakDevEui, weakSignal: true })
  const told = both.find(({ topic }) => topic === topicOf('state'))
  assert.ok(told !== undefined)
  const { state, lowBattery, weakSignal, devEUI, applicationID, rssi, snr } = JSON.parse(told.payload)
  assert.deepEqual(
    [state, lowBattery, weakSignal, devEUI, applicationID, rssi, snr],
    ['ON_TIME', true, false, devEui, applicationId, -70, 9.5],
  )
  await assertLives(owner)
  // Its own event comes, and nothing before it.
  const own = `application/${hostileApplicationId}/device/${hostileDevEui}/event/up`
  assert.ok((await publish(server, own, 'own')) < 0x80)
  assert.equal((await received(hostile)).payload, 'own')
  await assertLives(hostile)
  live.closeAll()
  await first.stop()

  const second = await startInProcess({ environment })
  const list = async (query: string) => {
    const { totalCount, result } = await second.http.must('GET', `/api/devices?limit=10&${query}`, {
      token: second.adminSession,
    })
    return { totalCount, devices: result as readonly Record<string, unknown>[] }
  }
  const { totalCount, devices } = await list('state=ON_TIME&flag=lowBattery&orderBy=battery')
  assert.equal(totalCount, '1')
  assert.deepEqual([devices[0]?.['devEUI'], devices[0]?.['rssi'], devices[0]?.['lossPercent']], [devEui, -70, null])
  const weak = await list('flag=weakSignal')
  assert.deepEqual(
    weak.devices.map((device) => device['devEUI']),
    [weakDevEui],
  )
  assert.equal((await list('state=SILENT')).totalCount, '0')
  assert.equal((await list('state=NEVER_HEARD')).totalCount, '0')
  const path = '/api/devices?limit=10&state=asleep'
  const refused = await second.http.ask('GET', path, { token: second.adminSession })
  assert.equal(refused.status, 400)
  await second.stop()
  await rm(folder, { recursive: true, force: true })
})
