/**
 * A client renews its token without a gap: by AUTH on its connection, or by a new connection into
 * the same Session. Nothing is lost, and nothing comes twice.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { generate } from 'mqtt-packet'
import type { IConnectPacket, Packet } from 'mqtt-packet'
import { faultsOf } from '../contracts/validators.ts'
import { Administration, SHORT_TTL_SECONDS } from '../support/administration.ts'
import type { Person, ServiceCredential } from '../support/administration.ts'
import { assertEnded, assertLives, LiveConnections, publish } from '../support/live-connections.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'
import type { Version } from '../support/wire-client.ts'

const NOTICE = '$notice/token-expires'
const METHOD = { properties: { authenticationMethod: 'JWT' } } as const
const EVENTS = 40

let service: RunningService
let administration: Administration
let live: LiveConnections
let organizationId: string
let applicationId: string
let eventTopic: string
let networkServer: ServiceCredential
let person: Person

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  live = new LiveConnections(service)
  organizationId = await administration.organization()
  applicationId = await administration.application(organizationId)
  eventTopic = `application/${applicationId}/device/${await administration.device(applicationId)}/event/up`
  networkServer = await administration.serviceCredential('')
  person = await administration.person([{ organizationId }])
})

after(async () => {
  live.closeAll()
  await service.stop()
})

function token(seconds?: number): Promise<string> {
  return administration.brokerToken(person.session, organizationId, seconds === undefined ? undefined : String(seconds))
}

function authOf(data: string | undefined, method = 'JWT'): Packet {
  const authenticationData = data === undefined ? undefined : Buffer.from(data)
  const properties = { authenticationMethod: method, ...(authenticationData && { authenticationData }) }
  return { cmd: 'auth', reasonCode: 0x19, properties }
}

/** The fields of a CONNECT whose Session outlives its connection. */
function kept(version: Version, clientId: string): Partial<IConnectPacket> {
  return { clean: false, clientId, ...(version === 5 ? { properties: { sessionExpiryInterval: 3_600 } } : {}) }
}

interface Event {
  readonly payload: string
  readonly id: string | undefined
  readonly dup: boolean
  readonly messageId: number
}

function eventIn(packet: Packet | undefined): Event {
  assert.ok(packet?.cmd === 'publish', JSON.stringify(packet))
  const { payload, dup, messageId = 0, properties } = packet
  const id: unknown = properties?.userProperties?.['event-id']
  return { payload: String(payload), id: typeof id === 'string' ? id : undefined, dup, messageId }
}

/** Takes the next event, and acknowledges it. */
async function take(client: WireClient): Promise<Event> {
  const event = eventIn(await client.next())
  client.send({ cmd: 'puback', messageId: event.messageId })
  return event
}

function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => JSON.stringify({ fCnt: from + index }))
}

async function publishAll(source: WireClient, payloads: readonly string[]): Promise<void> {
  for (const payload of payloads) assert.equal(await publish(source, eventTopic, payload), 0)
}

describe('a renewal by AUTH', () => {
  it('comes between two events, and each event comes once, in order', async () => {
    const first = await token(SHORT_TTL_SECONDS)
    const client = await live.integrator(5, first, METHOD)
    const other = await live.integrator(5, first)
    const source = await live.networkServer(networkServer)
    assert.equal(await client.subscribe(`application/${applicationId}/device/+/event/+`), 1)
    const fresh = await token()
    const published = publishAll(source, numbers(0, EVENTS))
    client.send(authOf(fresh))
    const told: string[] = []
    let renewals = 0
    while (told.length < EVENTS || renewals < 1) {
      const packet = await client.next()
      if (packet?.cmd === 'auth') renewals += 1
      else {
        const event = eventIn(packet)
        client.send({ cmd: 'puback', messageId: event.messageId })
        told.push(event.payload)
      }
    }
    await published
    assert.deepEqual([told, renewals], [numbers(0, EVENTS), 1])
    // The end of the first token has no effect.
    await assertEnded(other, 0x87, /the token has expired/)
    await assertLives(client)
  })

  it('tells the new end, and the notice is about the token that holds', async () => {
    const client = await live.integrator(5, await token(), METHOD)
    assert.equal(await client.subscribe(NOTICE), 1)
    await assertLives(client)
    const short = await token(30)
    client.send(authOf(short))
    const answer = await client.next()
    assert.ok(answer?.cmd === 'auth')
    const end = new Date(expiryOf(short)).toISOString()
    assert.equal(answer.properties?.userProperties?.['token-expires-at'], end)
    const { payload } = eventIn(await client.next())
    const notice = JSON.parse(payload) as { readonly expiresAt: string; readonly secondsLeft: number }
    assert.deepEqual(faultsOf('notices/token-expires', notice), [])
    assert.equal(notice.expiresAt, end)
    assert.ok(notice.secondsLeft >= 25 && notice.secondsLeft <= 30, payload)
  })

  it('that is refused ends the connection, with the reason', async () => {
    const stranger = await administration.person([{ organizationId }])
    const elsewhere = await administration.organization()
    await administration.must('POST', `/api/organizations/${elsewhere}/users`, {
      organizationUser: { userID: person.id },
    })
    const revoked = await token()
    await administration.revokeToken(revoked)
    const narrow = { organizationId, ttlInSeconds: '3600', eventKinds: ['up'] }
    const login = { token: person.session, json: narrow }
    const { jwtMqttAuth } = await service.http.must('POST', '/api/mosquitto-auth/login', login)
    const cases: readonly (readonly [Packet, number, RegExp])[] = [
      [authOf(undefined), 0x87, /must be a broker-access token/],
      [authOf('no token'), 0x87, /the token is malformed/],
      [authOf(person.session), 0x87, /the token is meant for something else/],
      [authOf(revoked), 0x87, /revoked/],
      [
        authOf(await administration.brokerToken(stranger.session, organizationId)),
        0x87,
        /another user or organization/,
      ],
      [authOf(String(jwtMqttAuth)), 0x87, /has other limits/],
      [authOf(await administration.brokerToken(person.session, elsewhere)), 0x87, /another user or organization/],
      [authOf(await token(), 'OTHER'), 0x82, /the same method/],
      [{ cmd: 'auth', reasonCode: 0x18, properties: { authenticationMethod: 'JWT' } }, 0x82, /the same method/],
    ]
    for (const [auth, reasonCode, reason] of cases) {
      const client = await live.integrator(5, await token(), METHOD)
      client.send(auth)
      await assertEnded(client, reasonCode, reason)
    }
    const without = await live.integrator(5, await token())
    without.send(authOf(await token()))
    await assertEnded(without, 0x82, /without an Authentication Method/)
  })

  it('has the bytes that the page on clients shows', async () => {
    const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8')
    const tables = page.split('| bytes | |').slice(1)
    const [request = '', answer = ''] = tables.map((table) => {
      const [rows = ''] = table.split('\n\n')
      return Array.from(rows.matchAll(/^\| `([0-9a-f ]+)` \|/gm), ([, bytes = '']) => bytes).join(' ')
    })
    // A token of the length of the page's example.
    assert.equal(hexOf(generate(authOf('t'.repeat(417)), { protocolVersion: 5 }), request), request)
    const client = await live.integrator(5, await token(), METHOD)
    const answered = new Promise<Buffer>((resolve) => client.socket.once('data', resolve))
    client.send(authOf(await token()))
    assert.equal(hexOf(await answered, answer), answer)
    assert.ok(request.length > 40 && answer.length > 80)
  })
})

for (const version of [4, 5] as const) {
  describe(`a client of MQTT ${version === 4 ? '3.1.1' : '5'} that connects again with a new token`, () => {
    it('goes on in its Session: no event is lost, and none comes twice', async () => {
      const clientId = `renewing-${version}`
      const source = await live.networkServer(networkServer)
      const first = await live.integrator(version, await token(), kept(version, clientId))
      assert.equal(await first.subscribe(`application/${applicationId}/device/+/event/+`), 1)
      const published = publishAll(source, numbers(0, EVENTS))
      const told: Event[] = []
      while (told.length < EVENTS / 2) told.push(await take(first))
      // The answer to a PINGREQ says that the acknowledgements have arrived.
      const late = await first.ping()
      assert.ok(late !== 'closed')
      for (const packet of late) told.push(eventIn(packet))
      first.send(...late.map((packet): Packet => ({ cmd: 'puback', messageId: eventIn(packet).messageId })))
      const rest = await first.ping()
      assert.ok(rest !== 'closed')
      // These are not acknowledged, so they come again.
      const open = rest.map((packet) => eventIn(packet))
      const again = await live.connect(
        version,
        { username: await token(), password: 'default' },
        kept(version, clientId),
      )
      const second: Event[] = []
      while (told.length + second.length < EVENTS) second.push(await take(again))
      await published
      assert.deepEqual(
        [...told, ...second].map(({ payload }) => payload),
        numbers(0, EVENTS),
      )
      const repeated = second.filter(({ dup }) => dup)
      assert.deepEqual(
        repeated.slice(0, open.length).map(({ payload, id }) => [payload, id]),
        open.map(({ payload, id }) => [payload, id]),
      )
      await assertLives(again)
    })

    it('receives an unacknowledged event again, marked as a repetition, with the same id', async () => {
      const clientId = `unacknowledged-${version}`
      const source = await live.networkServer(networkServer)
      const first = await live.integrator(version, await token(), kept(version, clientId))
      assert.equal(await first.subscribe(`application/${applicationId}/device/+/event/+`), 1)
      await publishAll(source, numbers(0, 2))
      const [one, two] = [await take(first), eventIn(await first.next())]
      assert.deepEqual(await first.ping(), [])
      const again = await live.connect(
        version,
        { username: await token(), password: 'default' },
        kept(version, clientId),
      )
      const repeated = await take(again)
      assert.deepEqual([repeated.payload, repeated.id, repeated.dup], [two.payload, two.id, true])
      assert.notEqual(repeated.payload, one.payload)
      if (version === 5) assert.match(repeated.id ?? '', /^\d+-\d+$/)
      await assertLives(again)
    })

    it('finds its Session after the end of its token, with the events of the time between', async () => {
      const clientId = `ended-${version}`
      const source = await live.networkServer(networkServer)
      const first = await live.integrator(version, await token(SHORT_TTL_SECONDS), kept(version, clientId))
      assert.equal(await first.subscribe(`application/${applicationId}/device/+/event/+`), 1)
      await assertEnded(first, 0x87, /the token has expired/)
      await publishAll(source, numbers(0, 3))
      const again = await live.connect(
        version,
        { username: await token(), password: 'default' },
        kept(version, clientId),
      )
      const told = [await take(again), await take(again), await take(again)]
      assert.deepEqual(
        told.map(({ payload }) => payload),
        numbers(0, 3),
      )
      await assertLives(again)
    })
  })
}

it('CONNACK of MQTT 5 tells when the token ends', async () => {
  const jwt = await token(3_600)
  const client = await live.integrator(5, jwt)
  const again = await live.integrator(4, jwt)
  await assertLives(client, again)
  const opened = await openWithConnack(jwt)
  assert.equal(opened, new Date(expiryOf(jwt)).toISOString())
})

/** The User Property of the CONNACK of a new connection. */
async function openWithConnack(jwt: string): Promise<unknown> {
  using client = await WireClient.open(service, 5)
  client.send(client.connectPacket({ username: jwt, password: 'default' }))
  const connack = await client.next()
  assert.ok(connack?.cmd === 'connack')
  return connack.properties?.userProperties?.['token-expires-at']
}

/** As many bytes as the text shows, in its form. */
function hexOf(bytes: Buffer, { length }: string): string {
  return bytes
    .subarray(0, (length + 1) / 3)
    .toString('hex')
    .replaceAll(/..(?=.)/g, '$& ')
}

function expiryOf(jwt: string): number {
  const { exp } = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as { readonly exp: number }
  return exp * 1_000
}
