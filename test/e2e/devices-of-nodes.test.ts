/** Device profiles and unknown devices in a deployment of two nodes. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { natsServerProgram } from '../../src/engine/nats/nats-server-binary.testing.ts'
import { NatsServers } from '../../src/engine/nats/nats-servers.testing.ts'
import { startTestServer } from '../postgresql/test-server.ts'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { makeFolder, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const TITLE = 'a profile that is changed at one node decodes at the other, and unknown devices of both are listed'
const LONG = { timeout: 120_000 }

const nats = natsServerProgram()
const database = await startTestServer(TITLE)

function connect({ mqttsPort: port, ca }: RunningService, username: string, password: string): Promise<MqttClient> {
  const login = { username, password, reconnectPeriod: 0, protocolVersion: 5 } as const
  return connectAsync({ host: 'localhost', port, protocol: 'mqtts', ca, ...login })
}

function uplinkOf(deviceName: string): string {
  return JSON.stringify({ deviceInfo: { deviceName, deviceProfileName: 'Water' }, fCnt: 1, fPort: 2, data: 'AQ==' })
}

function scriptOf(word: string): object {
  return {
    payloadCodec: 'CUSTOM_JS',
    payloadDecoderScript: `function decodeUplink() { return { data: { by: '${word}' } } }`,
  }
}

if ('missing' in nats) test(TITLE, { skip: nats.missing }, () => {})
else if (database !== undefined) {
  test(TITLE, LONG, async () => {
    await using servers = await NatsServers.start({ program: nats.program, count: 1 })
    const folder = await makeFolder()
    const url = database.newDatabase()
    const environment = (name: string): Record<string, string> => ({
      FIELDGATE_ENGINE: 'nats',
      FIELDGATE_NATS_URL: servers.urls.join(),
      FIELDGATE_NATS_MONITORING_URL: servers.monitors.join(),
      FIELDGATE_NATS_DEVELOPMENT: 'true',
      FIELDGATE_NODE_NAME: name,
      FIELDGATE_DATABASE_URL: url,
      FIELDGATE_RETENTION_BYTES: '1073741824',
      FIELDGATE_LOG_LEVEL: 'warn',
    })
    try {
      await using a = await startAsProcess(join(folder, 'a'), environment('a'))
      await using b = await startAsProcess(join(folder, 'b'), environment('b'))
      const administration = new Administration(a)
      const organizationId = await administration.organization()
      const applicationId = await administration.application(organizationId)
      const devEui = await administration.device(applicationId)
      const { userName, password } = await administration.serviceCredential(organizationId)
      const [atA, atB] = [await connect(a, userName, password), await connect(b, userName, password)]
      const { session } = await administration.person([{ organizationId }])
      const reader = await connect(b, await administration.brokerToken(session, organizationId), 'default')
      const came: { readonly topicName: string; readonly by: unknown }[] = []
      let wake = Promise.withResolvers<void>()
      reader.on('message', (topicName, payload) => {
        const { object } = JSON.parse(payload.toString()) as { readonly object?: { readonly by?: unknown } }
        came.push({ topicName, by: object?.by })
        wake.resolve()
        wake = Promise.withResolvers<void>()
      })
      await reader.subscribeAsync(`application/${applicationId}/device/+/event/up`, { qos: 1 })
      const next = async (): Promise<(typeof came)[number]> => {
        while (came.length === 0) await within(wake.promise, 'an uplink', 20_000)
        return came.shift() as (typeof came)[number]
      }
      const topicOf = (one: string): string => `application/${applicationId}/device/${one}/event/up`
      const decodedAtB = async (): Promise<unknown> => {
        await atB.publishAsync(topicOf(devEui), uplinkOf('meter'), { qos: 1 })
        return (await next()).by
      }

      // The other node remembers the profile before it is changed here.
      const deviceProfile = { name: 'Water', organizationID: organizationId, ...scriptOf('first') }
      const { id } = await administration.must('POST', '/api/device-profiles', { deviceProfile })
      await administration.must('PUT', `/api/devices/${devEui}`, { device: { deviceProfileID: id } })
      while ((await decodedAtB()) !== 'first');
      await administration.must('PUT', `/api/device-profiles/${String(id)}`, { deviceProfile: scriptOf('second') })
      let by = await decodedAtB()
      while (by === 'first') by = await decodedAtB()
      assert.equal(by, 'second')

      // One device sends to both nodes, and another one to the second node alone.
      const [both, one] = ['aa00000000000001', 'aa00000000000002']
      for (const [client, stranger] of [
        [atA, both],
        [atB, both],
        [atB, one],
      ] as const) {
        await client.publishAsync(topicOf(stranger), uplinkOf(stranger), { qos: 1 })
      }
      for (const node of [a, b]) {
        const path = `/api/unknown-devices?organizationID=${organizationId}`
        const { result } = await node.http.must('GET', path, { token: node.adminSession })
        assert.deepEqual(
          (result as readonly Readonly<Record<string, unknown>>[]).map(({ devEUI, eventCount }) => [
            devEUI,
            eventCount,
          ]),
          [
            [both, 2],
            [one, 1],
          ],
        )
      }
      const body = { applicationID: applicationId, filter: { deviceProfileName: 'Water' } }
      const registered = await administration.must('POST', '/api/unknown-devices/register', body)
      assert.equal(registered['registered'], 2)
      const delivered = [await next(), await next(), await next()].map(({ topicName }) => topicName)
      assert.deepEqual(delivered.toSorted(), [topicOf(both), topicOf(both), topicOf(one)])
      for (const client of [atA, atB, reader]) await client.endAsync(true)
    } finally {
      await database.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
}
