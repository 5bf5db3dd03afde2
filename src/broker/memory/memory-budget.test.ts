/** Above its budget the process holds back the tenants that hold the most. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock, connectPacket, createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'
import { silentLogger } from '../../logger.ts'
import { MemoryBudget, OVER_BUDGET } from './memory-budget.ts'
import { TenantMemories } from './tenant-memory.ts'

const MIB = 1_048_576

async function publishFully(client: TestClient, topicName: string, payload: string): Promise<void> {
  client.publish(topicName, payload, { qos: 1 })
  await client.next('puback')
}

interface Scene {
  readonly memories: TenantMemories
  readonly held: Map<string, number>
  /** `freeMiB` of the memory is free. Returns the tenants that are held back. */
  readonly tick: (residentMiB: number, freeMiB?: number) => readonly string[]
  readonly timesGivenBack: () => number
}

function scene(): Scene {
  const memories = new TenantMemories(() => Infinity)
  const held = new Map([
    ['large', 100 * MIB],
    ['larger', 200 * MIB],
    ['small', MIB],
  ])
  let residentBytes = 0
  let freeBytes = 0
  let givenBack = 0
  const budget = new MemoryBudget({
    memories,
    log: silentLogger,
    residentBytes: () => residentBytes,
    giveBack: () => {
      givenBack += 1
      residentBytes -= freeBytes
      freeBytes = 0
    },
    maximumBytes: 1_000 * MIB,
    holders: () => held,
  })
  const tick = (residentMiB: number, freeMiB = 0): readonly string[] => {
    residentBytes = residentMiB * MIB
    freeBytes = freeMiB * MIB
    budget.tick()
    return [...memories.heldBack]
  }
  return { memories, held, tick, timesGivenBack: () => givenBack }
}

describe('above the budget of the process', () => {
  it('the tenant that holds the most is held back first, then the next, never one that holds little', () => {
    const { tick } = scene()
    assert.deepEqual(tick(1_000), [])
    assert.deepEqual(tick(1_001), ['larger'])
    assert.deepEqual(tick(1_001), ['larger', 'large'])
    assert.deepEqual(tick(1_002), ['larger', 'large'])
  })

  it('free memory is given back first, once a minute at most, and not within the budget', () => {
    const { tick, timesGivenBack } = scene()
    assert.deepEqual(tick(1_000, 500), [])
    assert.equal(timesGivenBack(), 0)
    assert.deepEqual(tick(1_001, 2), [])
    assert.equal(timesGivenBack(), 1)
    for (let seconds = 1; seconds < 60; seconds += 1) tick(900)
    assert.equal(timesGivenBack(), 1)
    assert.deepEqual(tick(1_001, 1), [])
    assert.equal(timesGivenBack(), 2)
    assert.deepEqual(tick(1_001, 1), ['larger'])
    assert.equal(timesGivenBack(), 2)
  })

  it('nobody else is held back while the memory falls', () => {
    const { tick } = scene()
    assert.deepEqual(tick(1_200), ['larger'])
    assert.deepEqual(tick(1_150), ['larger'])
    assert.deepEqual(tick(1_100), ['larger'])
    assert.deepEqual(tick(1_100), ['larger', 'large'])
  })

  it('all are released below 95 % of the budget, not before', () => {
    const { tick, memories } = scene()
    const account = memories.open('larger')
    tick(1_001)
    assert.equal(account.isHeldBack, true)
    assert.deepEqual(tick(999), ['larger'])
    assert.deepEqual(tick(951), ['larger'])
    assert.deepEqual(tick(950), [])
    assert.equal(account.isHeldBack, false)
  })

  it('an account that is opened later is held back as well', () => {
    const { tick, memories } = scene()
    tick(1_001)
    assert.equal(memories.open('larger').isHeldBack, true)
    assert.equal(memories.open('large').isHeldBack, false)
  })
})

/** The tenant `greedy` has some 10 MiB in flight, and the process is above its budget. */
async function greedyScene(): Promise<Harness & { readonly reader: TestClient; readonly publisher: TestClient }> {
  const clock = new ManualClock()
  const memory = { maximumBytes: 1, residentBytes: () => 2, giveBack: () => {} }
  const harness = await createHarness({ clock, memory, limits: { maximumInflightBytes: 100 * MIB } })
  const reader = await harness.connect({ userName: 'greedy', clientId: 'reader' })
  await reader.subscribe('a', { qos: 1 })
  const publisher = await harness.connect({ userName: 'greedy', clientId: 'publisher' })
  for (let count = 0; count < 20; count += 1) {
    await publishFully(publisher, 'a', 'x'.repeat(500_000))
  }
  assert.ok(harness.broker.memoryOf('greedy') > 9 * MIB)
  clock.advance(harness.broker, 1)
  return { ...harness, reader, publisher }
}

describe('a tenant that is held back', () => {
  it('gets no new Session, subscription or retained message, and the reason names the bound; others do', async () => {
    const { connect, open } = await greedyScene()
    const refused = open()
    refused.send(connectPacket({ userName: 'greedy', clientId: 'new' }))
    const connack = await refused.next('connack')
    assert.deepEqual([connack.reasonCode, connack.properties?.reasonString], [0x97, OVER_BUDGET])
    const known = await connect({ userName: 'greedy', clientId: 'reader' })
    assert.equal(known.connack?.reasonCode, 0)
    assert.equal(await known.subscribe('b', { qos: 1 }), 0x97)
    known.publish('c', 'retained', { qos: 1, retain: true })
    assert.equal((await known.next('puback')).reasonCode, 0x97)
    const other = await connect({ userName: 'other', clientId: 'new' })
    assert.equal(await other.subscribe('b', { qos: 1 }), 1)
    other.publish('b', 'retained', { qos: 1, retain: true })
    assert.equal((await other.next('publish')).payload.toString(), 'retained')
  })
})

describe('a reader of a tenant that is held back', () => {
  it('gets nothing more until it acknowledges, and then everything', async () => {
    const { reader, publisher } = await greedyScene()
    const received: number[] = []
    while (received.length < 20) received.push((await reader.next('publish')).packetId)
    await publishFully(publisher, 'a', 'one more')
    assert.deepEqual(await reader.sync(), [])
    for (const packetId of received) reader.acknowledge('puback', packetId)
    assert.equal((await reader.next('publish')).payload.toString(), 'one more')
  })
})

describe('the account of a tenant', () => {
  it('goes with its last Session, and counts what is in flight until it is acknowledged', async () => {
    const clock = new ManualClock()
    const { connect, broker } = await createHarness({ clock })
    const reader = await connect({ userName: 'one', clientId: 'reader' })
    await reader.subscribe('a', { qos: 1 })
    await publishFully(await connect({ userName: 'other' }), 'a', 'x'.repeat(10_000))
    const { packetId } = await reader.next('publish')
    const { sessions, subscriptions, topicFilterBytes } = broker.usageOf('one')
    const memoryBytes = broker.memoryOf('one')
    assert.deepEqual([sessions, subscriptions, topicFilterBytes], [1, 1, 1])
    reader.acknowledge('puback', packetId)
    await reader.sync()
    const after = broker.memoryOf('one')
    assert.ok(memoryBytes - after >= 10_000 && memoryBytes - after < 10_300)
    reader.drop()
    assert.equal(broker.memoryOf('one'), 0)
    assert.deepEqual(
      [...broker.holders()].map(([tenant]) => tenant),
      ['other'],
    )
  })
})
