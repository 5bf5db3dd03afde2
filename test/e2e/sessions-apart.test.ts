/**
 * Sessions and shared subscriptions of different organizations or users never meet, whatever names
 * their clients choose.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Administration } from '../support/administration.ts'
import type { Person, ServiceCredential } from '../support/administration.ts'
import { assertEnded, assertLives, LiveConnections, publish, received } from '../support/live-connections.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import type { Version, WireClient } from '../support/wire-client.ts'

interface Place {
  readonly organizationId: string
  readonly applicationId: string
  readonly devEui: string
}

let service: RunningService
let administration: Administration
let live: LiveConnections
let here: Place
let there: Place
let networkServer: ServiceCredential
/**
 * Three users: a member of both organizations, a member of the first, and a member of the second.
 */
let both: Person
let colleague: Person
let stranger: Person

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  live = new LiveConnections(service)
  here = await place()
  there = await place()
  networkServer = await administration.serviceCredential('')
  both = await administration.person([here, there])
  colleague = await administration.person([here])
  stranger = await administration.person([there])
})

after(async () => {
  live.closeAll()
  await service.stop()
})

async function place(): Promise<Place> {
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  return { organizationId, applicationId, devEui: await administration.device(applicationId) }
}

/**
 * Connects to a Session that outlives its connection; all clients here use the same Client
 * Identifier.
 */
async function connect(person: Person, { organizationId }: Place, version: Version): Promise<WireClient> {
  const token = await administration.brokerToken(person.session, organizationId)
  const properties = version === 5 ? { properties: { sessionExpiryInterval: 600 } } : {}
  return live.integrator(version, token, { clientId: 'the-same', clean: false, ...properties })
}

async function leave(client: WireClient): Promise<void> {
  client.send(client.version === 5 ? { cmd: 'disconnect', reasonCode: 0 } : { cmd: 'disconnect' })
  await client.rest()
}

function eventsOf({ applicationId }: Place): string {
  return `application/${applicationId}/device/+/event/+`
}

async function publishEvent({ applicationId, devEui }: Place, payload: string): Promise<void> {
  const server = await live.networkServer(networkServer)
  assert.ok((await publish(server, `application/${applicationId}/device/${devEui}/event/up`, payload)) < 0x80)
  await leave(server)
}

for (const version of [4, 5] as const) {
  describe(`one Client Identifier of many, in MQTT ${version === 4 ? '3.1.1' : '5'}`, () => {
    it('takes over the same user’s connection for the same organization alone', async () => {
      const others = [
        await connect(colleague, here, version),
        await connect(stranger, there, version),
        await connect(both, there, version),
      ]
      const first = await connect(both, here, version)
      const second = await connect(both, here, version)
      await assertEnded(first, 0x8e, /another connection uses this Client Identifier/)
      await assertLives(second, ...others)
      for (const client of [second, ...others]) await leave(client)
    })

    it('finds no stored Session, subscription or message but one’s own', async () => {
      const owner = await connect(both, here, version)
      assert.equal(await owner.subscribe(eventsOf(here)), 1)
      await leave(owner)
      const payload = `stored for MQTT ${version}`
      await publishEvent(here, payload)
      for (const [person, where] of [
        [stranger, there],
        [colleague, here],
        [both, there],
      ] as const) {
        const other = await connect(person, where, version)
        await assertLives(other)
        await leave(other)
      }
      const again = await connect(both, here, version)
      assert.equal((await received(again)).payload, payload)
      again.send({ cmd: 'unsubscribe', messageId: 9, unsubscriptions: [eventsOf(here)] })
      assert.equal((await again.next())?.cmd, 'unsuback')
      await leave(again)
    })

    it('does not end another’s Session by a clean start', async () => {
      const owner = await connect(both, here, version)
      assert.equal(await owner.subscribe(eventsOf(here)), 1)
      await leave(owner)
      for (const [person, where] of [
        [colleague, here],
        [stranger, there],
        [both, there],
      ] as const) {
        const token = await administration.brokerToken(person.session, where.organizationId)
        await leave(await live.integrator(version, token, { clientId: 'the-same', clean: true }))
      }
      await publishEvent(here, 'still mine')
      assert.equal((await received(await connect(both, here, version))).payload, 'still mine')
    })
  })
}

describe('one name of a shared subscription', () => {
  it('takes no message away from another organization, nor from another filter', async () => {
    const own = await live.integrator(5, await administration.brokerToken(both.session, here.organizationId))
    const foreign = await live.integrator(5, await administration.brokerToken(stranger.session, there.organizationId))
    assert.equal(await own.subscribe(`$share/workers/${eventsOf(here)}`), 1)
    assert.equal(await foreign.subscribe(`$share/workers/${eventsOf(there)}`), 1)
    assert.equal(await foreign.subscribe(`$share/workers/${eventsOf(here)}`), 0x87)
    for (let turn = 0; turn < 10; turn += 1) {
      await publishEvent(here, `here ${turn}`)
      assert.equal((await received(own)).payload, `here ${turn}`)
    }
    await publishEvent(there, 'there')
    assert.equal((await received(foreign)).payload, 'there')
    await assertLives(own, foreign)
  })

  it('is shared by the users of an organization, each message by one of them', async () => {
    const clients = await Promise.all(
      [both, colleague].map(async ({ session }) =>
        live.integrator(5, await administration.brokerToken(session, here.organizationId)),
      ),
    )
    for (const client of clients) assert.equal(await client.subscribe(`$share/team/${eventsOf(here)}`, 0), 0)
    for (let turn = 0; turn < 10; turn += 1) await publishEvent(here, `turn ${turn}`)
    const got: string[] = []
    for (const client of clients) {
      const packets = await client.ping()
      assert.ok(packets !== 'closed')
      for (const packet of packets) got.push('payload' in packet ? String(packet.payload) : '')
    }
    assert.deepEqual(new Set(got), new Set(Array.from({ length: 10 }, (_, turn) => `turn ${turn}`)))
    assert.equal(got.length, 10)
  })

  it('of network servers brings commands to the organization’s own alone, and to the deployment’s where it has none', async () => {
    const filter = '$share/chirpstack/application/+/device/+/command/+'
    const everywhere = await live.networkServer(networkServer)
    const credential = await administration.serviceCredential(here.organizationId)
    const ofHere = await live.networkServer(credential)
    const ofThere = await live.networkServer(await administration.serviceCredential(there.organizationId))
    for (const client of [everywhere, ofHere, ofThere]) assert.equal(await client.subscribe(filter), 1)
    const sender = await live.integrator(5, await administration.brokerToken(both.session, here.organizationId))
    const topicName = `application/${here.applicationId}/device/${here.devEui}/command/down`
    for (let turn = 0; turn < 5; turn += 1) {
      assert.equal(await publish(sender, topicName), 0)
      assert.equal((await received(ofHere)).topic, topicName)
    }
    await assertLives(everywhere, ofHere, ofThere)
    ofHere.send({ cmd: 'disconnect', reasonCode: 0 })
    await ofHere.rest()
    assert.equal(await publish(sender, topicName), 0)
    await assertLives(everywhere, ofThere)
    await administration.must('DELETE', `/api/service-credentials/${credential.id}`)
    assert.equal((await received(everywhere)).topic, topicName)
    await assertLives(everywhere, ofThere)
  })
})
