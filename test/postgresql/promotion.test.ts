/** The failover to a synchronous standby, behind an address that leads to it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { openRegistry } from '../../src/identity/registry.ts'
import { addOrganization, createQuickHasher } from '../../src/identity/registry.testing.ts'
import { isUnavailable } from '../../src/identity/store/registry-unavailable.ts'
import { CutProxy } from '../network-servers/cut-proxy.ts'
import { startStandby } from './standby.ts'
import { startTestServer } from './test-server.ts'

/** Changes work again within this time. */
const HEALED_MS = 30_000

const server = await startTestServer('the promotion of a standby')
if (server !== undefined) {
  after(() => server.close())
  test('changes go on after a promotion, no answered change is lost, and a standby is not taken for the server', async () => {
    const url = server.newDatabase()
    const standby = await startStandby(server.server.port, server.run)
    const proxy = await CutProxy.open(server.server.port)
    const at = (port: number): string => url.replace(/:\d+\//, `:${port}/`)
    const registry = await openRegistry({
      postgres: { url: at(proxy.port) },
      clock: systemClock,
      passwordHasher: createQuickHasher(),
    })
    try {
      for (let number = 0; number < 20; number += 1) await addOrganization(registry, `before-${number}`)
      proxy.leadTo(standby.port)
      await server.server.crash()
      // Connections that broke fail at once. A new one leads to a server that only reads.
      for (let tries = 0; tries < 20; tries += 1) {
        await assert.rejects(addOrganization(registry, 'meanwhile'), isUnavailable)
      }
      assert.equal(await registry.organizations.list(ADMIN, { limit: 0, offset: 0 }).catch(isUnavailable), true)
      server.run(at(standby.port), 'select pg_promote()')
      const promotedMs = performance.now()
      for (;;) {
        try {
          await addOrganization(registry, 'after')
          break
        } catch (error) {
          assert.ok(isUnavailable(error) && performance.now() - promotedMs < HEALED_MS, String(error))
        }
      }
      console.error(`a change ${(performance.now() - promotedMs).toFixed(0)} ms after the promotion`)
      assert.equal((await registry.organizations.list(ADMIN, { limit: 0, offset: 0 })).totalCount, 21)
    } finally {
      await registry.close()
      await proxy.close()
      await standby.part.stop()
    }
  })
}

const ADMIN = { userId: '1', isAdmin: true }
