import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { silentLogger } from '../../logger.ts'
import { MemoryState } from '../commands/downlinks.testing.ts'
import { NetworkServerPresence } from './network-server-presence.ts'

const TENANT = 'organization:1'

test('a tenant’s network servers are connected as long as one of them is, and away since the last one went', async () => {
  const clock = new TestClock()
  const state = new MemoryState()
  const presence = new NetworkServerPresence({ state, clock, log: silentLogger })
  await presence.load((prefix) => state.load(prefix))
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
  await first.load((prefix) => state.load(prefix))
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
  await second.load((prefix) => state.load(prefix))
  assert.deepEqual([second.of('a'), second.of('b'), second.of('c')], [wentAtMs, clock.now(), undefined])
})

test('the heir of a node keeps its presence under the heir’s own name', async () => {
  const state = new MemoryState()
  const clock = new TestClock()
  const dead = new NetworkServerPresence({ state, node: 'a', clock, log: silentLogger })
  for (const tenant of [TENANT, 'deployment']) dead.came(tenant)
  dead.went('deployment')
  const wentAtMs = clock.now()
  clock.advance(5_000)
  const heir = new NetworkServerPresence({ state, node: 'b', clock, log: silentLogger })
  heir.came(TENANT)
  await heir.load((prefix) => state.load(prefix))
  assert.deepEqual([heir.of(TENANT), heir.of('deployment')], ['connected', wentAtMs])
  assert.deepEqual([...state.entries.keys()].toSorted(), ['presence/b/deployment', 'presence/b/organization:1'])
  heir.went(TENANT)
  assert.equal(heir.of(TENANT), clock.now())
})
