import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { ProxiedConnections } from './proxied-connections.ts'
import { v1Header } from './proxy-header.testing.ts'
import { TrustedProxies } from './trusted-proxies.ts'

const PROXY = '127.0.7.1'
const HEADER = v1Header('198.51.100.1', 40_000)

/** A server whose connections come through `ProxiedConnections`, and the sockets that passed. */
async function serve(context: TestContext) {
  const proxies = TrustedProxies.of([PROXY])
  assert.ok(proxies !== undefined)
  const passed: Socket[] = []
  const first = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    passed.push(socket)
    first.resolve()
  })
  const proxied = new ProxiedConnections(proxies)
  proxied.standBefore(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const opened: Socket[] = []
  context.after(() => {
    for (const socket of [...opened, ...passed]) socket.destroy()
    server.close()
  })
  /** Connects from the address, sends the bytes, and returns both ends. */
  const open = async (localAddress: string, bytes: Buffer | string): Promise<readonly [Socket, Socket]> => {
    const client = connect({ host: '127.0.0.1', port, localAddress })
    client.on('error', () => {})
    opened.push(client)
    const [socket] = (await once(server, 'connection')) as [Socket]
    client.write(bytes)
    return [client, socket]
  }
  return { proxied, passed, firstPassed: first.promise, open }
}

test('the bytes behind the header are the client’s, also when they come in the same segment', async (context) => {
  const { passed, firstPassed, proxied, open } = await serve(context)
  const [, socket] = await open(PROXY, Buffer.concat([HEADER, Buffer.from('hello')]))
  await firstPassed
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  assert.equal(bytes.toString(), 'hello')
  assert.deepEqual(passed, [socket])
  const { remoteAddress, remotePort, remoteFamily } = socket
  assert.deepEqual([remoteAddress, remotePort, remoteFamily], ['198.51.100.1', 40_000, 'IPv4'])
  assert.ok(proxied.isForwarded(socket))
})

test('bytes without a header pass unchanged, under the proxy’s own address', async (context) => {
  const { firstPassed, proxied, open } = await serve(context)
  const [, socket] = await open(PROXY, 'hello')
  await firstPassed
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  assert.deepEqual([bytes.toString(), socket.remoteAddress], ['hello', PROXY])
  assert.ok(!proxied.isForwarded(socket))
})

test('the header may come in two segments at the same moment', async (context) => {
  const { firstPassed, proxied, open } = await serve(context)
  const [, socket] = await open(PROXY, '')
  socket.push(HEADER.subarray(0, 20))
  socket.push(HEADER.subarray(20))
  await firstPassed
  assert.ok(proxied.isForwarded(socket))
})

test('the header of another peer is not read', async (context) => {
  const { passed, open } = await serve(context)
  const [, socket] = await open('127.0.0.1', HEADER)
  assert.deepEqual(passed, [socket], 'it has passed without a byte')
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  assert.deepEqual([bytes.toString(), socket.remoteAddress], [HEADER.toString(), '127.0.0.1'])
})

for (const [title, bytes] of [
  ['has sent nothing', ''],
  ['has sent half of a header', HEADER.subarray(0, 20)],
  ['has sent a header, and has not finished its TLS handshake', HEADER],
] as const) {
  test(`a connection of a proxy that ${title} is cut at the deadline`, async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const { open } = await serve(context)
    const [client, socket] = await open(PROXY, bytes)
    if (bytes.length > 0) await once(socket, 'readable')
    context.mock.timers.tick(9_999)
    assert.ok(!socket.destroyed)
    const closed = once(client, 'close')
    client.resume()
    context.mock.timers.tick(1)
    assert.ok(socket.destroyed)
    await closed
  })
}

test('a proxy that closes before it has sent a header leaves nothing behind', async (context) => {
  const { passed, open } = await serve(context)
  const [client, socket] = await open(PROXY, 'PROXY TCP4')
  client.end()
  await once(socket, 'close')
  assert.deepEqual(passed, [])
})
