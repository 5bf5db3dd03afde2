import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '../../logger.ts'
import { MemoryState } from '../commands/downlinks.testing.ts'
import { NetworkServerPresence } from './network-server-presence.ts'

const TENANT = 'organization:1'

test('a tenant’s network servers are connected as long as one of them is, and away since the last one went', async () => {
  const clock = { ms: 1_000, now: () => clock.ms }
  const presence = new NetworkServerPresence({ state: new MemoryState(), clock, log: silentLogger })
  await presence.load()
  assert.equal(presence.of(TENANT), undefined)
  presence.came(TENANT)
  presence.came(TENANT)
  presence.went(TENANT)
  assert.equal(presence.of(TENANT), 'connected')
  clock.ms = 5_000
  presence.went(TENANT)
  assert.equal(presence.of(TENANT), 5_000)
  assert.equal(presence.of('deployment'), undefined)
})

test('it is known after a restart; who was connected when the service stopped is away since the start', async () => {
  const state = new MemoryState()
  const clock = { ms: 1_000, now: () => clock.ms }
  const first = new NetworkServerPresence({ state, clock, log: silentLogger })
  await first.load()
  for (const tenant of ['a', 'b', 'c']) first.came(tenant)
  clock.ms = 2_000
  first.went('a')
  first.forget('c')
  first.close()
  // The connections end with the service.
  first.went('b')
  clock.ms = 9_000
  const second = new NetworkServerPresence({ state, clock, log: silentLogger })
  await second.load()
  assert.deepEqual([second.of('a'), second.of('b'), second.of('c')], [2_000, 9_000, undefined])
})
