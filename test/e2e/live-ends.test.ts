/** When a right ends, its uses on live connections end at once; uses that remain allowed go on. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Administration, SHORT_TTL_SECONDS } from '../support/administration.ts'
import type { Person, ServiceCredential } from '../support/administration.ts'
import { assertEnded, assertLives, LiveConnections, publish } from '../support/live-connections.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

/** Reason Codes of MQTT 5. */
const NOT_AUTHORIZED = 0x87
const ADMINISTRATIVE_ACTION = 0x98

let service: RunningService
let administration: Administration
let live: LiveConnections
let organizationId: string
let applicationId: string
let devEui: string
/** A credential for the whole deployment. */
let networkServer: ServiceCredential

before(async () => {
  // Events of unknown devices are refused, and not kept.
  service = await startInProcess({ environment: { FIELDGATE_UNKNOWN_DEVICE_DAYS: '0' } })
  administration = new Administration(service)
  live = new LiveConnections(service)
  organizationId = await administration.organization()
  applicationId = await administration.application(organizationId)
  devEui = await administration.device(applicationId)
  networkServer = await administration.serviceCredential('')
})

after(async () => {
  live.closeAll()
  await service.stop()
})

async function member(): Promise<Person & { readonly token: string }> {
  const person = await administration.person([{ organizationId }])
  return { ...person, token: await administration.brokerToken(person.session, organizationId) }
}

it('a client with the Authentication Method JWT renews its token by AUTH, and its connection outlives the first one', async () => {
  const { session, token } = await member()
  const short = await administration.brokerToken(session, organizationId, String(SHORT_TTL_SECONDS))
  const login = { username: short, password: 'default' }
  const renewing = await live.connect(5, login, { properties: { authenticationMethod: 'JWT' } })
  const other = await live.integrator(5, short)
  const properties = { authenticationMethod: 'JWT', authenticationData: Buffer.from(token) }
  renewing.send({ cmd: 'auth', reasonCode: 0x19, properties })
  const answer = await renewing.next()
  assert.deepEqual([answer?.cmd, answer?.cmd === 'auth' && answer.reasonCode], ['auth', 0])
  await assertEnded(other, NOT_AUTHORIZED, /the token has expired/)
  await assertLives(renewing)
})

for (const version of [4, 5] as const) {
  describe(`a live connection in MQTT ${version === 4 ? '3.1.1' : '5'}`, () => {
    it('ends when its token expires, and not before', async () => {
      const { session } = await member()
      const short = await administration.brokerToken(session, organizationId, String(SHORT_TTL_SECONDS))
      const client = await live.integrator(version, short)
      const { exp } = JSON.parse(Buffer.from(short.split('.')[1] ?? '', 'base64url').toString()) as { exp: number }
      await assertEnded(client, NOT_AUTHORIZED, /the token has expired/)
      assert.ok(Date.now() >= exp * 1000)
    })

    it('ends with the revocation of its token, and the same user’s other token goes on', async () => {
      const { session, token } = await member()
      const client = await live.integrator(version, token)
      const other = await live.integrator(version, await administration.brokerToken(session, organizationId))
      await administration.revokeToken(token)
      await assertEnded(client, ADMINISTRATIVE_ACTION, /the token has been revoked/)
      await assertLives(other)
    })

    it('ends with the membership, and the user’s connection for another organization goes on', async () => {
      const { id, session, token } = await member()
      const elsewhere = await administration.organization()
      await administration.must('POST', `/api/organizations/${elsewhere}/users`, { organizationUser: { userID: id } })
      const client = await live.integrator(version, token)
      const other = await live.integrator(version, await administration.brokerToken(session, elsewhere))
      const colleague = await live.integrator(version, (await member()).token)
      await administration.must('DELETE', `/api/organizations/${organizationId}/users/${id}`)
      await assertEnded(client, NOT_AUTHORIZED, /the user is no member of the organization/)
      await assertLives(other, colleague)
    })

    it('ends when its user is deactivated', async () => {
      const { id, token } = await member()
      const client = await live.integrator(version, token)
      const colleague = await live.integrator(version, (await member()).token)
      await administration.must('PUT', `/api/users/${id}`, { user: { isActive: false } })
      await assertEnded(client, NOT_AUTHORIZED, /the user is inactive/)
      await assertLives(colleague)
    })

    it('ends when its user is deleted', async () => {
      const { id, token } = await member()
      const client = await live.integrator(version, token)
      await administration.must('DELETE', `/api/users/${id}`)
      await assertEnded(client, NOT_AUTHORIZED, /the user is inactive or was removed/)
    })

    it('ends when its user was a global admin and is no member', async () => {
      const { id, session } = await administration.person([], true)
      const client = await live.integrator(version, await administration.brokerToken(session, organizationId))
      await administration.must('PUT', `/api/users/${id}`, { user: { isAdmin: false } })
      await assertEnded(client, NOT_AUTHORIZED, /no member/)
    })

    it('goes on when the password changes: that ends sessions of HTTP, and tokens are revoked by themselves', async () => {
      const { id, session, token } = await member()
      const client = await live.integrator(version, token)
      await administration.must('PUT', `/api/users/${id}/password`, { password: 'another correct horse battery' })
      assert.equal((await service.http.ask('GET', '/api/organizations', { token: session })).status, 401)
      await assertLives(client)
    })

    it('ends when it is subscribed to an application that is removed, and another application’s goes on', async () => {
      const [gone, stays] = [
        await administration.application(organizationId),
        await administration.application(organizationId),
      ]
      const { token } = await member()
      const client = await live.integrator(version, token)
      const other = await live.integrator(version, token)
      assert.equal(await client.subscribe(`application/${gone}/device/+/event/+`), 1)
      assert.equal(await other.subscribe(`application/${stays}/device/+/event/+`), 1)
      await administration.must('DELETE', `/api/applications/${gone}`)
      await assertEnded(client, NOT_AUTHORIZED, /no longer allowed to subscribe/)
      await assertLives(other)
      assert.equal(await other.subscribe(`application/${gone}/device/+/event/+`), version === 4 ? 0x80 : NOT_AUTHORIZED)
    })

    it('ends with its organization, a network server’s like an integrator’s; others’ go on', async () => {
      const doomed = await administration.organization()
      const person = await administration.person([{ organizationId: doomed }, { organizationId }])
      const ends = [
        await live.integrator(version, await administration.brokerToken(person.session, doomed)),
        await live.integrator(version, await administration.brokerToken(service.adminSession, doomed)),
        await live.networkServer(await administration.serviceCredential(doomed), version),
      ]
      const stays = [
        await live.integrator(version, await administration.brokerToken(person.session, organizationId)),
        await live.networkServer(networkServer, version),
        await live.networkServer(await administration.serviceCredential(organizationId), version),
      ]
      await administration.must('DELETE', `/api/organizations/${doomed}`)
      for (const client of ends) await assertEnded(client, ADMINISTRATIVE_ACTION, /the organization has been removed/)
      await assertLives(...stays)
    })

    it('ends with the revocation of its service credential, and another credential’s goes on', async () => {
      const credential = await administration.serviceCredential(organizationId)
      const client = await live.networkServer(credential, version)
      const other = await live.networkServer(networkServer, version)
      await administration.must('DELETE', `/api/service-credentials/${credential.id}`)
      await assertEnded(client, ADMINISTRATIVE_ACTION, /the service credential has been revoked/)
      await assertLives(other)
    })
  })
}

describe('on a connection that goes on', () => {
  it('the next command and event of a device that was removed are refused, and another device’s are not', async () => {
    const removed = await administration.device(applicationId)
    const integrator = await live.integrator(5, (await member()).token)
    const server = await live.networkServer(networkServer)
    const [command, event] = [`application/${applicationId}/device/${removed}/command/down`, eventTopic(removed)]
    assert.ok((await publish(integrator, command)) < 0x80)
    assert.ok((await publish(server, event)) < 0x80)
    await administration.must('DELETE', `/api/devices/${removed}`)
    assert.equal(await publish(integrator, command), NOT_AUTHORIZED)
    assert.equal(await publish(server, event), NOT_AUTHORIZED)
    assert.ok((await publish(integrator, commandTopic(devEui))) < 0x80)
    assert.ok((await publish(server, eventTopic(devEui))) < 0x80)
  })

  it('the commands and events of a device are refused while it is disabled', async () => {
    const device = await administration.device(applicationId)
    const integrator = await live.integrator(5, (await member()).token)
    const server = await live.networkServer(networkServer)
    for (const isDisabled of [true, false]) {
      await administration.must('PUT', `/api/devices/${device}`, { device: { isDisabled } })
      assert.equal((await publish(integrator, commandTopic(device))) === NOT_AUTHORIZED, isDisabled)
      assert.equal((await publish(server, eventTopic(device))) === NOT_AUTHORIZED, isDisabled)
    }
  })

  it('a device that moves to another application is reached by its new topic alone', async () => {
    const device = await administration.device(applicationId)
    const other = await administration.application(organizationId)
    const integrator = await live.integrator(5, (await member()).token)
    assert.ok((await publish(integrator, commandTopic(device))) < 0x80)
    await administration.must('PUT', `/api/devices/${device}`, { device: { applicationID: other } })
    assert.equal(await publish(integrator, commandTopic(device)), NOT_AUTHORIZED)
    assert.ok((await publish(integrator, commandTopic(device, other))) < 0x80)
  })

  it('commands and events of an application that was removed are refused, and a new application’s are taken', async () => {
    const gone = await administration.application(organizationId)
    const device = await administration.device(gone)
    const integrator = await live.integrator(5, (await member()).token)
    const servers = [
      await live.networkServer(networkServer),
      await live.networkServer(await administration.serviceCredential(organizationId)),
    ]
    for (const server of servers) assert.ok((await publish(server, eventTopic(device, gone))) < 0x80)
    assert.ok((await publish(integrator, commandTopic(device, gone))) < 0x80)
    await administration.must('DELETE', `/api/applications/${gone}`)
    for (const server of servers) assert.equal(await publish(server, eventTopic(device, gone)), NOT_AUTHORIZED)
    assert.equal(await publish(integrator, commandTopic(device, gone)), NOT_AUTHORIZED)
    const fresh = await administration.application(organizationId)
    const freshDevice = await administration.device(fresh)
    for (const server of servers) assert.ok((await publish(server, eventTopic(freshDevice, fresh))) < 0x80)
    assert.ok((await publish(integrator, commandTopic(freshDevice, fresh))) < 0x80)
  })

  it('events of unknown devices, and of devices of other applications, are counted, at each QoS', async () => {
    const other = await administration.application(organizationId)
    for (const version of [4, 5] as const) {
      const server = await live.networkServer(networkServer, version)
      const amount = await publishesRefused()
      for (const qos of [0, 1, 2] as const) {
        server.send(server.publishPacket(eventTopic('fffffffffffffff1'), '{}', qos))
        server.send(server.publishPacket(eventTopic(devEui, other), '{}', qos))
      }
      const answers = await server.ping()
      assert.ok(answers !== 'closed')
      assert.deepEqual(
        answers.map(({ cmd }) => cmd),
        ['puback', 'puback', 'pubrec', 'pubrec'],
      )
      assert.equal((await publishesRefused()) - amount, 6)
    }
  })

  it('events of a removed organization’s devices are refused to the network server of the deployment', async () => {
    const doomed = await administration.organization()
    const application = await administration.application(doomed)
    const device = await administration.device(application)
    const server = await live.networkServer(networkServer)
    assert.ok((await publish(server, eventTopic(device, application))) < 0x80)
    await administration.must('DELETE', `/api/organizations/${doomed}`)
    assert.equal(await publish(server, eventTopic(device, application)), NOT_AUTHORIZED)
  })
})

async function publishesRefused(): Promise<number> {
  const { text } = await service.http.ask('GET', '/metrics', { token: service.adminSession })
  return Number(/^fieldgate_broker_publishes_refused_total (\d+)$/m.exec(text)?.[1])
}

function commandTopic(device: string, application = applicationId): string {
  return `application/${application}/device/${device}/command/down`
}

function eventTopic(device: string, application = applicationId): string {
  return `application/${application}/device/${device}/event/up`
}
