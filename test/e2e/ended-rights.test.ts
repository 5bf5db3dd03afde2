/**
 * A user who has lost a right leaves nothing behind that still uses it: no Will Message, no stored
 * Session, no lost race.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { Administration, SHORT_TTL_SECONDS } from '../support/administration.ts'
import type { Person, ServiceCredential } from '../support/administration.ts'
import { assertLives, COMMAND, LiveConnections, publish, receivedCommand } from '../support/live-connections.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'

let service: RunningService
let administration: Administration
let live: LiveConnections
let organizationId: string
let applicationId: string
let devEui: string
let networkServer: ServiceCredential
let commandTopic: string

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  live = new LiveConnections(service)
  organizationId = await administration.organization()
  applicationId = await administration.application(organizationId)
  devEui = await administration.device(applicationId)
  networkServer = await administration.serviceCredential('')
  commandTopic = `application/${applicationId}/device/${devEui}/command/down`
})

after(async () => {
  live.closeAll()
  await service.stop()
})

async function member(): Promise<Person & { readonly token: string }> {
  const person = await administration.person([{ organizationId }])
  return { ...person, token: await administration.brokerToken(person.session, organizationId) }
}

/** A new key of the organization, made by its admin, and the path under which it is changed. */
async function apiKey(name: string) {
  const { session } = await administration.person([{ organizationId, isAdmin: true }])
  const path = `/api/organizations/${organizationId}/api-keys`
  const body = { apiKey: { name, rights: ['events.read', 'commands.send'] } }
  const ask = (method: 'POST' | 'DELETE', url: string, json?: object) =>
    service.http.ask(method, url, { token: session, ...(json === undefined ? {} : { json }) })
  const made = await ask('POST', path, body)
  const { id, key } = made.body as { readonly id: string; readonly key: string }
  return { id, key, ask, path: `${path}/${id}` }
}

/** A network server that sees every command. */
async function witness(): Promise<WireClient> {
  const client = await live.networkServer(networkServer)
  assert.equal(await client.subscribe('application/+/device/+/command/down', 0), 0)
  return client
}

/**
 * Longer than the token's life: if the right ends by the token's expiry, it has ended when the Will
 * Message is due. Also long enough to end any other right.
 */
const WILL_DELAY_SECONDS = SHORT_TTL_SECONDS + 1

const REMAINING = JSON.stringify({ confirmed: false, fPort: 2, data: 'Ag==' })

/**
 * The ways to lose the right to send commands. `prepare` runs before with a token, and the loss
 * runs after it.
 */
const LOSSES: readonly {
  readonly title: string
  readonly ttl?: string
  readonly lose?: (person: Person & { readonly token: string }) => Promise<unknown>
}[] = [
  { title: 'the token is revoked', lose: ({ token }) => administration.revokeToken(token) },
  { title: 'the token expires', ttl: String(SHORT_TTL_SECONDS) },
  {
    title: 'the user leaves the organization',
    lose: ({ id }) => administration.must('DELETE', `/api/organizations/${organizationId}/users/${id}`),
  },
  {
    title: 'the user is deactivated',
    lose: ({ id }) => administration.must('PUT', `/api/users/${id}`, { user: { isActive: false } }),
  },
]

describe('a Will Message', () => {
  // A command goes to one network server: the witness of an earlier test must not get it.
  afterEach(() => live.closeAll())

  it('of an integrator whose connection breaks is published as its command', async () => {
    const sees = await witness()
    const client = await live.integrator(5, (await member()).token, { will: { topic: commandTopic, payload: COMMAND } })
    client.destroy()
    assert.deepEqual(await receivedCommand(sees), { topic: commandTopic, payload: COMMAND })
  })

  for (const { title, ttl, lose } of LOSSES) {
    it(`is not published when ${title}`, async () => {
      const sees = await witness()
      const person = await member()
      const token = await administration.brokerToken(person.session, organizationId, ttl)
      const client = await live.integrator(5, token, { will: { topic: commandTopic, payload: COMMAND, qos: 1 } })
      await lose?.({ ...person, token })
      await client.rest()
      await assertNothingMore(sees)
    })
  }

  it('that waits for its delay is not published if the right is lost meanwhile, in any of these ways', async () => {
    const sees = await witness()
    for (const { ttl, lose } of LOSSES) {
      const person = await member()
      const token = await administration.brokerToken(person.session, organizationId, ttl)
      await leaveWill(token, COMMAND)
      await lose?.({ ...person, token })
    }
    // The Will Message of a user whose right remains comes when it is due, after the others.
    await leaveWill((await member()).token, REMAINING)
    assert.deepEqual(await receivedCommand(sees), { topic: commandTopic, payload: REMAINING })
    await assertNothingMore(sees)
  })
})

describe('a stored Session', () => {
  it('of a member who was removed and added again brings no messages of the time between', async () => {
    const person = await member()
    const fields = { clientId: 'stored', clean: false, properties: { sessionExpiryInterval: 3600 } }
    const topicFilter = `application/${applicationId}/device/+/event/+`
    const first = await live.integrator(5, person.token, fields)
    assert.equal(await first.subscribe(topicFilter), 1)
    first.send({ cmd: 'disconnect', reasonCode: 0 })
    await first.rest()
    await administration.must('DELETE', `/api/organizations/${organizationId}/users/${person.id}`)
    const server = await live.networkServer(networkServer)
    await publish(server, `application/${applicationId}/device/${devEui}/event/up`, 'between')
    const organizationUser = { userID: person.id }
    await administration.must('POST', `/api/organizations/${organizationId}/users`, { organizationUser })
    const token = await administration.brokerToken(person.session, organizationId)
    const client = await live.integrator(5, token, fields)
    assert.deepEqual(await client.ping(), [])
  })
})

describe('an API key', () => {
  it('goes on with its Session after a rotation, and takes connection and Session with it when it is revoked', async () => {
    const { key, ask, path } = await apiKey('rotated')
    const fields = { clientId: 'of-a-key', clean: false, properties: { sessionExpiryInterval: 3600 } }
    const topicFilter = `application/${applicationId}/device/+/event/+`
    const first = await live.integrator(5, await administration.brokerToken(key, organizationId), fields)
    assert.equal(await first.subscribe(topicFilter), 1)
    first.send({ cmd: 'disconnect', reasonCode: 0 })
    await first.rest()
    const server = await live.networkServer(networkServer)
    await publish(server, `application/${applicationId}/device/${devEui}/event/up`, '{"fCnt":7}')
    const rotated = (await ask('POST', `${path}/rotate`, { overlapSeconds: 0 })).body as { readonly key: string }
    assert.equal((await service.http.ask('GET', '/api/applications', { token: key })).status, 401)
    const token = await administration.brokerToken(rotated.key, organizationId)
    const second = await live.integrator(5, token, fields)
    const kept = await second.next()
    assert.match(kept?.cmd === 'publish' ? kept.payload.toString() : String(kept?.cmd), /"fCnt":7/)
    const revokedAtMs = performance.now()
    assert.equal((await ask('DELETE', path)).status, 200)
    const packets = await second.rest()
    assert.ok(performance.now() - revokedAtMs < 1000)
    const last = packets.at(-1)
    assert.deepEqual(last?.cmd === 'disconnect' ? last.reasonCode : last?.cmd, 0x98)
    using again = await WireClient.open(service, 5)
    again.send(again.connectPacket({ username: token, password: 'default' }))
    const refused = (await again.rest()).at(-1)
    assert.deepEqual(refused?.cmd === 'connack' ? refused.reasonCode : refused?.cmd, 0x86)
  })
})

describe('a session of HTTP', () => {
  it('of a user who was deactivated does not come back with the activation; a broker-access token does', async () => {
    const { id, session, token } = await member()
    for (const isActive of [false, true]) await administration.must('PUT', `/api/users/${id}`, { user: { isActive } })
    assert.equal((await service.http.ask('GET', '/api/organizations', { token: session })).status, 401)
    await assertLives(await live.integrator(5, token))
  })
})

describe('a CONNECT in progress', () => {
  it('does not survive the revocation of its token, whichever is first', async () => {
    const { session } = await member()
    const sees = await witness()
    for (let round = 0; round < 30; round += 1) {
      const token = await administration.brokerToken(session, organizationId)
      using client = await WireClient.open(service, 5)
      const revoked = administration.revokeToken(token)
      // The publishes are spread over the time that the revocation takes.
      for (let turn = 0; turn < round; turn += 1) await new Promise(setImmediate)
      client.send(client.connectPacket({ username: token, password: 'default' }))
      await revoked
      const packets = await client.rest()
      const last = packets.at(-1)
      assert.ok(last?.cmd === 'connack' || last?.cmd === 'disconnect', JSON.stringify(packets))
    }
    await assertLives(sees)
  })
})

/** Breaks a connection whose Will Message is due some seconds later. */
async function leaveWill(token: string, payload: string): Promise<void> {
  const will = { topic: commandTopic, payload, qos: 1, properties: { willDelayInterval: WILL_DELAY_SECONDS } } as const
  const client = await live.integrator(5, token, { will, properties: { sessionExpiryInterval: 60 } })
  client.destroy()
}

/** Checks that no other command comes before one more command, which another user sends. */
async function assertNothingMore(sees: WireClient): Promise<void> {
  const last = JSON.stringify({ confirmed: true, fPort: 9, data: 'CQ==' })
  await publish(await live.integrator(5, (await member()).token), commandTopic, last)
  assert.deepEqual(await receivedCommand(sees), { topic: commandTopic, payload: last })
  await assertLives(sees)
}
