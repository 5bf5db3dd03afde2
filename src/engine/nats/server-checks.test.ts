import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { checkServers } from './server-checks.ts'

const GOOD = { server_name: 'n1', version: '2.15.2', jetstream: { config: { sync_always: true } } }

/** Servers that report these things of themselves at `/varz`. */
async function monitors(
  reports: readonly object[],
): Promise<{ urls: string[]; [Symbol.asyncDispose](): Promise<void> }> {
  const servers: Server[] = []
  for (const report of reports) {
    const server = createServer((request, answer) => {
      answer.writeHead(request.url === '/varz' ? 200 : 404).end(JSON.stringify(report))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    servers.push(server)
  }
  return {
    urls: servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    [Symbol.asyncDispose]: async () => {
      for (const server of servers) {
        server.closeAllConnections()
        await once(server.close(), 'close')
      }
    },
  }
}

test('three current servers that sync each write fit', async () => {
  await using good = await monitors([GOOD, GOOD, { ...GOOD, version: '3.0.0' }])
  await checkServers(good.urls)
})

test('all faults of the servers are told together', async () => {
  await using bad = await monitors([
    { ...GOOD, version: '2.14.9' },
    { ...GOOD, server_name: 'n2', jetstream: { config: {} } },
    { ...GOOD, server_name: 'n3', jetstream: {} },
  ])
  await assert.rejects(checkServers(bad.urls), {
    message:
      'The servers of NATS do not fit: n1 has version 2.14.9, and must have 2.15 or later; n2 must have “sync_interval: always” in its block “jetstream”; n3 has no JetStream.',
  })
})

test('two servers are too few', async () => {
  await using few = await monitors([GOOD, GOOD])
  await assert.rejects(checkServers(few.urls), { message: /names 2 of at least 3 servers/ })
})
