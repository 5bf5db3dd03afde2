/** Clients behind a proxy: the bounds by address hold for the client's own address. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { v1Header, v2Header } from '../../src/listeners/proxy-header.testing.ts'
import { within } from '../support/bounded-wait.ts'
import {
  connectFrom,
  ended,
  httpsPortOf,
  refusedOverTls,
  refusedOverWebSocket,
  secure,
  statusOf,
} from '../support/proxied-client.ts'
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

/** A proxy that names the client by version 1 of the PROXY protocol. */
function throughTcp(client: string, from = PROXY): Origin {
  return { from, prefix: v1Header(client, 40_000) }
}

describe('a client that a TCP proxy names by the PROXY protocol', () => {
  const IPV6 = Buffer.from('20010db800000000000000000000000520010db8000000000000000000000001c00122b3', 'hex')

  it('has its own address at the broker, by either version', async () => {
    await refusedOverTls(service, throughTcp('198.51.100.11'))
    assert.equal(refusedPeers().at(-1), '198.51.100.11')
    await refusedOverTls(service, { from: SECOND_PROXY, prefix: v2Header(0x21, 0x21, IPV6) })
    assert.equal(refusedPeers().at(-1), '2001:db8::5')
    await refusedOverWebSocket(service, throughTcp('198.51.100.12'))
    assert.equal(refusedPeers().at(-1), '198.51.100.12')
  })

  it('has its own address in the log when its TLS handshake fails', async () => {
    const prefix = Buffer.concat([v1Header('198.51.100.20', 40_000), Buffer.from('no handshake')])
    await ended(await connectFrom({ from: PROXY, prefix }, service.mqttsPort))
    const failures = service
      .logText()
      .split('\n')
      .filter((line) => line.includes('"handshake.failed"'))
    assert.match(failures.at(-1) ?? '', /"peer":"198\.51\.100\.20"/)
  })

  it('may be named byte by byte', async () => {
    const socket = await connectFrom({ from: PROXY }, service.mqttsPort)
    socket.setNoDelay(true)
    for (const byte of v1Header('198.51.100.13', 40_000)) socket.write(Buffer.of(byte))
    const secured = await secure(socket, service)
    secured.destroy()
  })

  it('has its own bound of connections', async () => {
    const flood = Array.from({ length: 30 }, () => refusedOverTls(service, throughTcp('198.51.100.14')))
    assert.ok((await Promise.allSettled(flood)).some(({ status }) => status === 'rejected'))
    await refusedOverTls(service, throughTcp('198.51.100.15'))
  })

  it('has failed logins of its own', async () => {
    for (let failures = 0; failures <= FREE_FAILURES; failures += 1) {
      assert.equal(await logIn('clara', throughTcp('198.51.100.16')), 401)
    }
    assert.equal(await logIn('clara', throughTcp('198.51.100.16')), 429)
    assert.equal(await logIn('clara', throughTcp('198.51.100.17')), 401)
  })

  it('may be an HTTP proxy that is trusted too', async () => {
    const origin = { ...throughTcp('127.0.8.9'), forwardedFor: '198.51.100.18' }
    assert.equal(await refusedOverWebSocket(service, origin), 101)
    assert.equal(refusedPeers().at(-1), '198.51.100.18')
  })

  for (const [title, prefix] of [
    ['on the proxy’s own loopback interface', v1Header('127.0.0.1', 40_000)],
    ['unknown', Buffer.from('PROXY UNKNOWN\r\n')],
    ['the proxy itself', v2Header(0x20, 0, Buffer.alloc(0))],
  ] as const) {
    it(`reads no metrics without a credential when it is ${title}`, async () => {
      assert.equal(await statusOf(service, { from: PROXY, prefix }, '/metrics'), 401)
    })
  }
})

describe('a trusted proxy', () => {
  it('that sends no header is taken as it is', async () => {
    await refusedOverTls(service, { from: SECOND_PROXY })
    assert.equal(refusedPeers().at(-1), SECOND_PROXY)
    assert.equal(await statusOf(service, { from: PROXY }, '/api/internal/health/live'), 200)
  })

  it('that sends a malformed header loses the connection', async () => {
    for (const port of [service.mqttsPort, httpsPortOf(service)]) {
      const prefix = Buffer.from('PROXY TCP4 somewhere\r\n')
      await ended(await connectFrom({ from: PROXY, prefix }, port))
    }
  })

  it('that sends nothing does not keep the service from stopping', async () => {
    await using stopping = await startInProcess({ environment: { FIELDGATE_TRUSTED_PROXIES: PROXY } })
    const silent = [
      await connectFrom({ from: PROXY }, stopping.mqttsPort),
      await connectFrom({ from: PROXY, prefix: Buffer.from('PRO') }, httpsPortOf(stopping)),
    ]
    const ends = Promise.all(silent.map(ended))
    await within(stopping.stop(), 'the end of the service')
    await ends
  })
})

describe('a peer that is no trusted proxy', () => {
  it('gets no connection when it begins with a header: these bytes are no TLS handshake', async () => {
    for (const port of [service.mqttsPort, httpsPortOf(service)]) {
      await assert.rejects(async () => secure(await connectFrom(throughTcp('198.51.100.19', STRANGER), port), service))
    }
    assert.ok(!service.logText().includes('198.51.100.19'))
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
