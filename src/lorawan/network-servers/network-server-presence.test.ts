import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { silentLogger } from '../../logger.ts'
import { MemoryState } from '../commands/downlinks.testing.ts'
import { NetworkServerPresence } from './network-server-presence.ts'

const TENANT = 'organization:1'

test('a tenant’s network servers are connected as long as one of them is, and away since the last one went', async () => {
  const clock = new TestClock()
  const presence = new NetworkServerPresence({ state: new MemoryState(), clock, log: silentLogger })
  await presence.load()
  assert.equal(presence.of(TENANT), undefined)
  presence.came(TENANT)
  presence.came(TENANT)
  presence.went(TENANT)
  assert.equal(presence.of(TENANT), 'connected')
  clock.advance(4_000)
  presence.went(TENANT)
  assert.equal(presence.of(TENANT), clock.now())
  assert.equal(presence.of('deployment'), undefined)
})

test('presence is known after a restart; a network server that was connected at the stop is away since the start', async () => {
  const state = new MemoryState()
  const clock = new TestClock()
  const first = new NetworkServerPresence({ state, clock, log: silentLogger })
  await first.load()
  for (const tenant of ['a', 'b', 'c']) first.came(tenant)
  clock.advance(1_000)
  const wentAtMs = clock.now()
  first.went('a')
  first.forget('c')
  first.close()
  // The connections end with the service.
  first.went('b')
  clock.advance(7_000)
  const second = new NetworkServerPresence({ state, clock, log: silentLogger })
  await second.load()
  assert.deepEqual([second.of('a'), second.of('b'), second.of('c')], [wentAtMs, clock.now(), undefined])
})
