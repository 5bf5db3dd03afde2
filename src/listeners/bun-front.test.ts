/**
 * The port of the listeners on Bun. These tests hold what the listeners need of Bun's sockets, so
 * that they judge its next version in seconds.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import type { Transport, TransportHandlers } from '../broker/ports/transport.ts'
import { systemClock } from '../clock.ts'
import { AddressLimiter } from './address-limiter.ts'
import type { AddressLimits } from './address-limiter.ts'
import { bun } from './bun.ts'
import { BunFront } from './bun-front.ts'
import type { BunFrontOptions } from './bun-front.ts'
import type { BunNewcomer } from './bun-newcomer.ts'
import { HandshakeTurns } from './handshake-turns.ts'
import { makeCertificate } from './make-certificate.ts'
import { v1Header } from './proxy-header.testing.ts'
import { TrustedProxies } from './trusted-proxies.ts'

const onBun = { skip: bun === undefined ? 'the runtime is not Bun' : false }
const UNBOUNDED: AddressLimits = { attemptsPerSecond: 0, openPerAddress: 0, pendingPerAddress: 0 }

async function certificateFor(subject: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const cert = await makeCertificate({
    subject,
    notBeforeMs: Date.now() - 60_000,
    notAfterMs: Date.now() + 3_600_000,
    publicKey,
    issuer: { privateKey },
    role: { authority: false, hostNames: ['localhost'] },
  })
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) }
}

/** A connection that came through, and what the broker would have been told of it. */
class Arrived implements TransportHandlers {
  readonly transport: Transport
  readonly newcomer: BunNewcomer
  readonly chunks: Buffer[] = []
  readonly #waiting: { readonly bytes: number; readonly resolve: () => void }[] = []
  readonly over = Promise.withResolvers<void>()

  constructor(newcomer: BunNewcomer) {
    newcomer.settle()
    this.newcomer = newcomer
    this.transport = newcomer.toTransport()
    this.transport.attach(this)
  }

  get bytes(): Buffer {
    return Buffer.concat(this.chunks)
  }

  /** Resolves when so many bytes have come. */
  async has(bytes: number): Promise<void> {
    if (this.bytes.length >= bytes) return
    await new Promise<void>((resolve) => this.#waiting.push({ bytes, resolve }))
  }

  data(chunk: Buffer): void {
    this.chunks.push(chunk)
    for (const { bytes, resolve } of this.#waiting) if (this.bytes.length >= bytes) resolve()
  }

  drained(): void {}

  closed(): void {
    this.over.resolve()
  }
}

/** Resolves when the socket is closed, by a reset or not. */
const closeOf = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once('close', () => resolve()))

async function serve(
  context: TestContext,
  options: Partial<BunFrontOptions> = {},
  limits: Partial<AddressLimits> = {},
) {
  const tls = await certificateFor('first')
  const arrived: Arrived[] = []
  const waiting: ((one: Arrived) => void)[] = []
  let refused = 0
  const front = new BunFront({
    limiter: new AddressLimiter({ ...UNBOUNDED, ...limits }),
    boundsProxies: true,
    tls,
    turns: new HandshakeTurns(systemClock),
    clock: systemClock,
    refused: () => (refused += 1),
    handshakeFailed: () => {},
    accept: (newcomer) => {
      const one = new Arrived(newcomer)
      arrived.push(one)
      waiting.shift()?.(one)
    },
    ...options,
  })
  await front.listen({ host: '127.0.0.1', port: 0 })
  const clients: Socket[] = []
  context.after(async () => {
    for (const client of clients) client.destroy()
    for (const { transport } of arrived) transport.destroy()
    await front.close()
  })
  /** Opens a TCP connection, and no more. */
  const open = (localAddress = '127.0.0.1'): Socket => {
    const client = connectTcp({ host: '127.0.0.1', port: front.port, localAddress })
    client.on('error', () => {})
    clients.push(client)
    return client
  }
  /** Speaks TLS over a TCP connection, or over a new one. */
  const secure = async (socket: Socket = open()): Promise<TLSSocket> => {
    const client = connectTls({ socket, rejectUnauthorized: false, servername: 'localhost' })
    client.on('error', () => {})
    clients.push(client)
    await once(client, 'secureConnect')
    return client
  }
  /** The next connection that comes through. */
  const next = (): Promise<Arrived> => new Promise((resolve) => waiting.push(resolve))
  return { front, arrived, open, secure, next, refused: () => refused }
}

function write(transport: Transport, bytes: Buffer): void {
  transport.write({ bytes, start: 0, end: bytes.length }, false)
}

test('each chunk is a buffer of its own, and both sides get all bytes', onBun, async (context) => {
  const { secure, next } = await serve(context)
  const [client, server] = await Promise.all([secure(), next()])
  const sent = Buffer.alloc(20_000_000, 'abcdefg')
  client.write(sent)
  await server.has(sent.length)
  assert.ok(server.chunks.length > 1)
  assert.ok(server.bytes.equals(sent))
  // More than the system takes at once: the transport keeps the rest.
  write(server.transport, sent)
  assert.ok(server.transport.bufferedBytes > 0)
  let got = 0
  for await (const chunk of client) {
    got += (chunk as Buffer).length
    if (got >= sent.length) break
  }
  assert.equal(got, sent.length)
})

test('a paused connection gives no bytes until it is resumed', onBun, async (context) => {
  const { secure, next } = await serve(context)
  const [client, server] = await Promise.all([secure(), next()])
  server.transport.pause()
  client.write('held')
  // A second connection's bytes come through after the first connection's have arrived.
  const [other, second] = await Promise.all([secure(), next()])
  other.write('free')
  await second.has(4)
  assert.equal(server.bytes.length, 0)
  server.transport.resume()
  await server.has(4)
  assert.equal(server.bytes.toString(), 'held')
})

test('bytes that are lent arrive as they were, though the system took a part of them', onBun, async (context) => {
  const { secure, next } = await serve(context)
  const [client, server] = await Promise.all([secure(), next()])
  client.pause()
  const lent = Buffer.alloc(8_000_000, 'a')
  server.transport.write({ bytes: lent, start: 1_000_000, end: lent.length }, true)
  assert.ok(server.transport.bufferedBytes > 0)
  lent.fill('b')
  let got = 0
  for await (const chunk of client) {
    assert.ok(!(chunk as Buffer).includes('b'))
    got += (chunk as Buffer).length
    if (got >= 7_000_000) break
  }
  assert.equal(got, 7_000_000)
})

test('the last bytes reach a client that goes on sending', onBun, async (context) => {
  const { secure, next } = await serve(context)
  const [client, server] = await Promise.all([secure(), next()])
  client.write(Buffer.alloc(30_000))
  await server.has(1)
  write(server.transport, Buffer.alloc(2_000_000, 'x'))
  server.transport.end()
  client.write(Buffer.alloc(30_000))
  let got = 0
  client.on('data', (chunk: Buffer) => (got += chunk.length))
  await once(client, 'end')
  assert.equal(got, 2_000_000)
})

test('a client that closes its end is told as closed, once', onBun, async (context) => {
  const { secure, next } = await serve(context)
  const [client, server] = await Promise.all([secure(), next()])
  client.end('bye')
  await server.over.promise
  assert.equal(server.bytes.toString(), 'bye')
})

test('a connection in its handshake is cut when the port closes, and so is a silent one', onBun, async (context) => {
  const { front, open } = await serve(context)
  const silent = open()
  const half = open()
  await Promise.all([once(silent, 'connect'), once(half, 'connect')])
  // The head of a ClientHello without its rest.
  half.write(Buffer.from([22, 3, 1, 2, 0, 1, 0, 1]))
  await new Promise((resolve) => setImmediate(resolve))
  const ends = Promise.all([closeOf(silent), closeOf(half)])
  await front.close()
  await ends
  assert.equal(front.open, 0)
})

for (const [name, bytes, alert] of [
  ['bytes that are no TLS', 'GET / HTTP/1.1\r\n\r\n', ''],
  // The record of a ClientHello that can't be read; alert 50 is `decode_error`.
  ['a ClientHello that can’t be read', '\u0016\u0003\u0001\0\u0005\u0001\0\0\u0001\u00ff', '15030100020232'],
] as const) {
  test(`after ${name} the connection ends in order, and no reset overtakes the alert`, onBun, async (context) => {
    const { front, open, arrived } = await serve(context)
    const client = open()
    client.write(bytes, 'latin1')
    const chunks: Buffer[] = []
    client.on('data', (chunk: Buffer) => chunks.push(chunk))
    await once(client, 'close')
    assert.equal(Buffer.concat(chunks).toString('hex'), alert)
    assert.equal(arrived.length, 0)
    assert.equal(front.open, 0)
  })
}

test('a new certificate is for new connections, and a session is resumed', onBun, async (context) => {
  const { front, secure, next } = await serve(context)
  const [before] = await Promise.all([secure(), next()])
  assert.equal(before.getPeerCertificate().subject.CN, 'first')
  front.tls = await certificateFor('second')
  const [after, server] = await Promise.all([secure(), next()])
  assert.equal(after.getPeerCertificate().subject.CN, 'second')
  write(server.transport, Buffer.from('hello'))
  const [session] = (await once(after, 'session')) as [Buffer]
  const again = connectTls({ host: '127.0.0.1', port: front.port, rejectUnauthorized: false, session })
  again.on('error', () => {})
  await Promise.all([once(again, 'secureConnect'), next()])
  assert.ok(again.isSessionReused())
  again.destroy()
})

test('an address beyond its bound costs no TLS, and has room again when a connection ends', onBun, async (context) => {
  const { open, secure, next, refused } = await serve(context, {}, { openPerAddress: 1 })
  const [first, server] = await Promise.all([secure(), next()])
  const second = open()
  await closeOf(second)
  assert.equal(refused(), 1)
  first.destroy()
  await server.over.promise
  await Promise.all([secure(), next()])
})

test('beyond the port’s own bound a connection is closed at once', onBun, async (context) => {
  const { open, secure, next } = await serve(context, { maximumOpen: 1 })
  await Promise.all([secure(), next()])
  await closeOf(open())
})

for (const [name, together] of [
  ['before the ClientHello', false],
  ['together with the ClientHello', true],
] as const) {
  test(`a proxy names its client ${name}`, onBun, async (context) => {
    const proxies = TrustedProxies.of(['127.0.7.1'])
    assert.ok(proxies !== undefined)
    const { open, secure, next } = await serve(context, { proxies })
    const tcp = open('127.0.7.1')
    await once(tcp, 'connect')
    if (together) tcp.cork()
    tcp.write(v1Header('198.51.100.1', 40_000))
    const arriving = next()
    const secured = secure(tcp)
    if (together) setImmediate(() => tcp.uncork())
    const [client, server] = await Promise.all([secured, arriving])
    assert.deepEqual(server.newcomer.client, { address: '198.51.100.1', port: 40_000 })
    assert.ok(server.newcomer.isForwarded)
    client.write('hello')
    await server.has(5)
    write(server.transport, Buffer.from('world'))
    const [answer] = (await once(client, 'data')) as [Buffer]
    assert.equal(answer.toString(), 'world')
    client.end()
    await server.over.promise
  })
}

test('a proxy without a header is its own client; a malformed header ends the connection', onBun, async (context) => {
  const proxies = TrustedProxies.of(['127.0.7.1'])
  assert.ok(proxies !== undefined)
  const { open, secure, next } = await serve(context, { proxies })
  const [, server] = await Promise.all([secure(open('127.0.7.1')), next()])
  assert.equal(server.newcomer.client.address, '127.0.7.1')
  assert.ok(!server.newcomer.isForwarded)
  const malformed = open('127.0.7.1')
  malformed.write('PROXY NONSENSE\r\n')
  await closeOf(malformed)
})

test('a crowd of bytes behind a proxy’s header is one connection, and ends as such', onBun, async (context) => {
  const proxies = TrustedProxies.of(['127.0.7.1'])
  assert.ok(proxies !== undefined)
  const admitted: string[] = []
  const limiter = new AddressLimiter(UNBOUNDED)
  context.mock.method(limiter, 'admit', (address: string) => admitted.push(address) > 0)
  const { front, open } = await serve(context, { proxies, limiter })
  const client = open('127.0.7.1')
  await once(client, 'connect')
  client.write(Buffer.concat([v1Header('198.51.100.1', 40_000), Buffer.alloc(8_000_000, 'x')]))
  await closeOf(client)
  assert.deepEqual(admitted, ['198.51.100.1'])
  assert.equal(front.open, 0)
})
