/**
 * A mistyped command topic costs a client of MQTT 3.1.1 at most two connections, and none of its
 * other commands.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connect } from 'mqtt'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const command = (data: string): string => JSON.stringify({ confirmed: false, fPort: 10, data })

let service: RunningService
let administration: Administration
let place: { readonly applicationId: string; readonly devEui: string }
let session: string
let token: string

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  place = { applicationId, devEui: await administration.device(applicationId) }
  ;({ session } = await administration.person([{ organizationId }]))
  token = await administration.brokerToken(session, organizationId)
})

after(async () => {
  await service.stop()
})

for (const qos of [1, 2] as const) {
  test(`MQTT.js by MQTT 3.1.1 gets past a mistyped topic at QoS ${qos} with two reconnects, and each other command is taken once [MQTT311-3.3.5-2]`, async () => {
    const { mqttsPort: port, ca } = service
    const devEui = await administration.device(place.applicationId)
    const client = connect({
      host: 'localhost',
      port,
      protocol: 'mqtts',
      ca,
      username: token,
      password: 'default',
      protocolVersion: 4,
      clientId: `mistyping-${qos}`,
      clean: false,
      reconnectPeriod: 20,
    })
    let connects = 0
    client.on('packetreceive', ({ cmd }) => void (connects += cmd === 'connack' ? 1 : 0))
    try {
      const topicName = `application/${place.applicationId}/device/${devEui}/command/down`
      const published = ['AQ==', 'Ag=='].map((data) => client.publishAsync(topicName, command(data), { qos }))
      const mistyped = client.publishAsync(`${topicName}s`, command('Aw=='), { qos })
      published.push(client.publishAsync(topicName, command('BA=='), { qos }))
      await within(Promise.all([...published, mistyped]), 'the acknowledgement of each')
      await within(client.publishAsync(topicName, command('BQ=='), { qos }), 'the acknowledgement of the next one')
      // The client sends again without DUP, contrary to [MQTT-3.3.1-1].
      assert.equal(connects, 3)
      const queue = await service.http.must('GET', `/api/devices/${devEui}/queue`, { token: session })
      const items = queue['deviceQueueItems'] as readonly { readonly data: string }[]
      assert.deepEqual(
        items.map(({ data }) => data),
        ['AQ==', 'Ag==', 'BA==', 'BQ=='],
      )
      const { result } = await service.http.must('GET', '/api/refusals', { token: session })
      const refusals = result as readonly {
        readonly clientID: string
        readonly code: string
        readonly count: unknown
      }[]
      const ours = refusals.filter(({ clientID }) => clientID === `mistyping-${qos}`)
      assert.deepEqual(
        ours.map(({ code, count }) => [code, Number(count)]),
        [['publish_not_granted', 3]],
      )
    } finally {
      await client.endAsync(true)
    }
  })
}
