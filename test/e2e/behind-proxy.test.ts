/** Clients behind a proxy: the bounds by address hold for the client's own address. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { refusedOverWebSocket, statusOf } from '../support/proxied-client.ts'
import type { Origin } from '../support/proxied-client.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const PROXY = '127.0.7.1'
const SECOND_PROXY = '127.0.8.200'
const STRANGER = '127.0.9.1'
/** The wrong passwords of one address for one account before the next has to wait. */
const FREE_FAILURES = 5

let service: RunningService

before(async () => {
  service = await startInProcess({
    environment: {
      FIELDGATE_TRUSTED_PROXIES: `${PROXY}, 127.0.8.0/24`,
      // Ten attempts at once, then one in a second.
      FIELDGATE_MAXIMUM_MQTT_CONNECTS_PER_ADDRESS: '1',
    },
  })
})
after(() => service.stop())

/** The addresses of the clients that the broker has refused, oldest first. */
function refusedPeers(): readonly string[] {
  return service
    .logText()
    .split('\n')
    .filter((line) => line.includes('"connection.refused"'))
    .map((line) => (JSON.parse(line) as { peer: string }).peer)
}

function logIn(username: string, origin: Origin): Promise<number> {
  return statusOf(service, origin, '/api/internal/login', { username, password: 'not the password' })
}

/** The client as two proxies name it; the second one is the peer. */
function throughTwo(forwardedFor: string): Origin {
  return { from: PROXY, forwardedFor: `${forwardedFor}, 127.0.8.7` }
}

function connectAs(client: string): Promise<number> {
  return refusedOverWebSocket(service, { from: SECOND_PROXY, forwardedFor: client })
}

describe('a client that an HTTP proxy names in X-Forwarded-For', () => {
  it('is the last address that is no trusted proxy, and has failed logins of its own', async () => {
    for (let failures = 0; failures <= FREE_FAILURES; failures += 1) {
      assert.equal(await logIn('anna', throughTwo(`192.0.2.${failures}, 198.51.100.1`)), 401)
    }
    assert.equal(await logIn('anna', throughTwo('198.51.100.1')), 429)
    assert.equal(await logIn('anna', throughTwo('198.51.100.2')), 401)
  })

  it('is not believed to be elsewhere when a peer that is no trusted proxy says so', async () => {
    for (let failures = 0; failures <= FREE_FAILURES; failures += 1) {
      assert.equal(await logIn('berta', { from: STRANGER, forwardedFor: `198.51.100.${failures}` }), 401)
    }
    assert.equal(await logIn('berta', { from: STRANGER, forwardedFor: '198.51.100.99' }), 429)
  })

  it('reads no metrics without a credential, even if it says that it is on this machine', async () => {
    assert.equal(await statusOf(service, { from: STRANGER }, '/metrics'), 200, 'the loopback interface may')
    for (const forwardedFor of ['127.0.0.1', '198.51.100.1', '']) {
      assert.equal(await statusOf(service, { from: PROXY, forwardedFor }, '/metrics'), 401)
    }
  })

  it('has its own bound of connections over WebSocket, and the broker knows its address', async () => {
    const statuses = []
    for (let attempt = 0; attempt < 30; attempt += 1) statuses.push(await connectAs('198.51.100.3'))
    assert.ok(statuses.includes(429), 'the bound of one address')
    assert.equal(await connectAs('198.51.100.4'), 101)
    assert.deepEqual([refusedPeers()[0], refusedPeers().at(-1)], ['198.51.100.3', '198.51.100.4'])
  })
})

describe('the bounds by address of HTTPS', () => {
  it('are settings, and do not hold for the address of a trusted proxy', async () => {
    await using bounded = await startInProcess({
      environment: { FIELDGATE_TRUSTED_PROXIES: PROXY, FIELDGATE_MAXIMUM_HTTPS_CONNECTS_PER_ADDRESS: '1' },
    })
    const ask = (from: string): Promise<number> => statusOf(bounded, { from }, '/api/internal/health/live')
    for (let attempt = 0; attempt < 30; attempt += 1) assert.equal(await ask(PROXY), 200)
    const flood = Array.from({ length: 30 }, () => ask(STRANGER))
    assert.ok((await Promise.allSettled(flood)).some(({ status }) => status === 'rejected'))
  })
})
