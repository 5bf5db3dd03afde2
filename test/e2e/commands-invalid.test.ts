/**
 * Every invalid command over MQTT 3.1.1 and MQTT 5.0 gets its exact answer, and the connection goes
 * on. HTTP has the same table beside its routes.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { VALID, WRONG_COMMANDS, WRONG_PAYLOADS } from '../../src/lorawan/commands/invalid-commands.testing.ts'
import { Administration } from '../support/administration.ts'
import { LiveConnections, received } from '../support/live-connections.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { codeOf, reasonOf } from '../support/wire-client.ts'
import type { WireClient } from '../support/wire-client.ts'

const ROWS = [...WRONG_PAYLOADS, ...WRONG_COMMANDS]
/**
 * The error events that one organization can get at once; each part of the table has its own
 * organization.
 */
const ROWS_PER_ORGANIZATION = 40

interface Place {
  readonly topicName: string
  readonly token: string
  readonly eventTopic: string
}

let service: RunningService
let administration: Administration
let live: LiveConnections

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  live = new LiveConnections(service)
})

after(async () => {
  live.closeAll()
  await service.stop()
})

async function place(): Promise<Place> {
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  const root = `application/${applicationId}/device/${await administration.device(applicationId)}`
  const token = await administration.brokerToken(service.adminSession, organizationId)
  return { topicName: `${root}/command/down`, eventTopic: `${root}/event/error`, token }
}

for (const version of [4, 5] as const) {
  for (let first = 0; first < ROWS.length; first += ROWS_PER_ORGANIZATION) {
    describe(`over MQTT ${version === 4 ? '3.1.1' : '5'}, from row ${first}`, () => {
      let at: Place
      let sender: WireClient
      let listener: WireClient

      before(async () => {
        at = await place()
        sender = await live.integrator(version, at.token)
        listener = await live.integrator(5, at.token)
        assert.equal(await listener.subscribe(at.eventTopic), 1)
      })

      for (const [title, payload, member, code, message] of ROWS.slice(first, first + ROWS_PER_ORGANIZATION)) {
        it(`${title} is command_${code}`, async () => {
          const isText = typeof payload === 'string' || Buffer.isBuffer(payload)
          const packet = sender.publishPacket(at.topicName, '', 1)
          sender.send({ ...packet, payload: isText ? payload : JSON.stringify(payload) } as typeof packet)
          const puback = await sender.next()
          assert.equal(puback?.cmd, 'puback')
          const event = JSON.parse((await received(listener)).payload) as Readonly<Record<string, unknown>>
          assert.deepEqual([event['code'], event['member']], [`command_${code}`, member ?? ''])
          const sentence = String(event['error'])
          assert.ok(sentence.includes(message), sentence)
          assert.equal(reasonOf(puback), version === 5 ? sentence : undefined)
          assert.equal(codeOf(puback), version === 5 ? 0x99 : 0)
          assert.deepEqual(await sender.ping(), [])
        })
      }
    })
  }
}

describe('an invalid command at QoS 0', () => {
  it('is answered by the error event alone, and the connection goes on', async () => {
    const at = await place()
    const listener = await live.integrator(5, at.token)
    assert.equal(await listener.subscribe(at.eventTopic), 1)
    for (const version of [4, 5] as const) {
      const sender = await live.integrator(version, at.token)
      sender.send(sender.publishPacket(at.topicName, JSON.stringify({ ...VALID, fPort: 0, id: `v${version}` }), 0))
      const { commandId, error } = JSON.parse((await received(listener)).payload) as Record<string, string>
      assert.deepEqual([commandId, error], [`v${version}`, 'fPort: 0 is below 1'])
      assert.deepEqual(await sender.ping(), [])
    }
  })
})

describe('an answer on the Response Topic', () => {
  it('comes with the Correlation Data', async () => {
    const at = await place()
    const client = await live.integrator(5, at.token)
    const responseTopic = at.eventTopic.replace('/error', '/response')
    assert.equal(await client.subscribe(responseTopic, 0), 0)
    const properties = { responseTopic, correlationData: Buffer.from('7') }
    const packet = client.publishPacket(at.topicName, JSON.stringify({ ...VALID, id: 'a' }), 1)
    client.send({ ...packet, properties } as typeof packet)
    const packets = [await client.next(), await client.next()]
    const answer = packets.find((candidate) => candidate?.cmd === 'publish')
    assert.deepEqual(answer?.properties?.correlationData, Buffer.from('7'))
    const { accepted, id, state } = JSON.parse(String(answer.payload)) as Record<string, unknown>
    assert.deepEqual([accepted, id, state], [true, 'a', 'queued'])
  })
})
