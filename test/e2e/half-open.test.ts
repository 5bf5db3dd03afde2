/**
 * Connections that never finish their handshake or request: they are closed in time, bounded by
 * address, and other clients notice nothing.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { rm } from 'node:fs/promises'
import { once } from 'node:events'
import { connect as connectTls } from 'node:tls'
import { within } from '../support/bounded-wait.ts'
import { makeFolder, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { HALF_A_HELLO, SilentConnections } from '../support/silent-connections.ts'
import { WireClient } from '../support/wire-client.ts'

/** The handshake's deadline, with time for a busy machine. */
const HANDSHAKE_MS = 20_000
/** The deadline of a request's header, which is checked every 5 s, with time for a busy machine. */
const HEADER_MS = 35_000
/** The silent connections that one address may have by default. */
const PENDING_PER_ADDRESS = 1_000
/**
 * A connection beyond its address's bound is closed when it is accepted, long before the deadline
 * of the handshake.
 */
const REFUSAL_MS = 6_000
const MIB = 1_048_576

let folder: string
let service: RunningService
let httpsPort: number

before(async () => {
  folder = await makeFolder()
  service = await startAsProcess(folder, { FIELDGATE_LOG_LEVEL: 'warn' })
  httpsPort = Number(new URL(service.https).port)
})

after(async () => {
  await service.stop()
  await rm(folder, { recursive: true, force: true })
})

async function residentBytes(): Promise<number> {
  const { text } = await service.http.ask('GET', '/metrics', { token: service.adminSession })
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1])
}

/** A new connection of either kind gets an answer. */
async function assertServes(): Promise<void> {
  const socket = connectTls({ host: 'localhost', port: httpsPort, ca: service.ca })
  socket.write('GET /api/internal/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  const [answer] = (await within(once(socket, 'data'), 'an answer over HTTPS')) as [Buffer]
  assert.match(answer.toString(), /^HTTP\/1\.1 200 /)
  socket.destroy()
  using client = await WireClient.open(service, 5)
  assert.equal(await client.connect({ username: 'nobody', password: 'default' }), 0x86)
}

/** Sends these bytes and no more; resolves when the connection is closed in time. */
async function staysSilent(port: number, firstBytes?: Buffer): Promise<void> {
  const first = firstBytes === undefined ? {} : { firstBytes }
  using silent = await SilentConnections.open({ port, count: 1, address: '127.0.1.1', ...first })
  await silent.closed(HANDSHAKE_MS)
}

/** Ends the handshake and sends no request; resolves when the connection is closed in time. */
async function asksNothing(): Promise<void> {
  const socket = connectTls({ host: 'localhost', port: httpsPort, ca: service.ca })
  await once(socket, 'secureConnect')
  socket.resume()
  await within(once(socket, 'close'), 'the end of a connection without a request', HEADER_MS)
}

describe('a connection that says nothing', () => {
  it('is closed at the deadline of the handshake, or of the header', async () => {
    await Promise.all([
      staysSilent(httpsPort),
      staysSilent(httpsPort, HALF_A_HELLO),
      staysSilent(service.mqttsPort),
      asksNothing(),
    ])
  })

  it('by the thousand leaves room for all other addresses, and the memory is given back', async () => {
    const flood = { count: 2_000, address: '127.0.1.2', firstBytes: HALF_A_HELLO }
    using overHttps = await SilentConnections.open({ ...flood, port: httpsPort })
    using overMqtts = await SilentConnections.open({ ...flood, port: service.mqttsPort })
    await overHttps.closed(REFUSAL_MS, PENDING_PER_ADDRESS)
    assert.ok(overMqtts.size > PENDING_PER_ADDRESS / 2, 'what may wait does')
    await assertServes()
    await overHttps.closed(HANDSHAKE_MS)
    await overMqtts.closed(HANDSHAKE_MS)
    await assertServes()
    const afterOne = await residentBytes()
    // The flood leaves no penalty: a second flood from the same address gets the places that the
    // first gave back.
    using again = await SilentConnections.open({ ...flood, port: httpsPort })
    await again.closed(REFUSAL_MS, PENDING_PER_ADDRESS)
    assert.ok(again.size > PENDING_PER_ADDRESS / 2)
    await again.closed(HANDSHAKE_MS)
    const grownBytes = (await residentBytes()) - afterOne
    assert.ok(grownBytes < 50 * MIB, `${Math.round(grownBytes / MIB)} MiB more than before`)
  })
})

// Apart from the others: a crowd takes the places of the connections that wait longest.
describe('a crowd of many addresses', () => {
  it('with 20,000 connections and half of a ClientHello on each leaves room for others, and bounds the memory', async () => {
    const beforeThem = await residentBytes()
    const crowds: SilentConnections[] = []
    try {
      for (let index = 0; index < 20; index += 1) {
        const address = `127.0.4.${1 + index}`
        crowds.push(await SilentConnections.open({ port: httpsPort, count: 1_000, address, firstBytes: HALF_A_HELLO }))
      }
      await assertServes()
      const grownBytes = (await residentBytes()) - beforeThem
      assert.ok(grownBytes < 200 * MIB, `${Math.round(grownBytes / MIB)} MiB more than before`)
      for (const crowd of crowds) await crowd.closed(HANDSHAKE_MS)
      await assertServes()
    } finally {
      for (const crowd of crowds) crowd.destroy()
    }
  })
})
