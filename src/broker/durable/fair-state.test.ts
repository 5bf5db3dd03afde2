/** One tenant makes Sessions and subscriptions without end; the others' are stored all the same. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'
import { SlowEngine } from '../../../test/support/slow-engine.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'
import type { StateRequest } from '../ports/engine.ts'
import { STATE_KEYS } from './state-keys.ts'

const KEPT = { cleanStart: false, properties: { sessionExpiryIntervalSeconds: 3600 } } as const
const MAXIMUM_BYTES = 20_000
const LONG = 'x'.repeat(900)

/** A slow engine that remembers the state that it was asked to write. */
class ObservedEngine extends SlowEngine {
  readonly requests: StateRequest[] = []

  override write(request: StateRequest): void {
    this.requests.push(request)
    super.write(request)
  }

  /** The bytes that it was given for the owner. The key of a subscription has the Topic Filter. */
  bytesOf(owner: string): number {
    const own = this.requests.filter((request) => request.owner === owner)
    return own
      .flatMap(({ changes }) => changes)
      .reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0)
  }

  /** The number of writes of the key. */
  writesOf(key: string): number {
    return this.requests.flatMap(({ changes }) => changes).filter((change) => change.key === key).length
  }
}

interface Scene extends Harness {
  readonly engine: ObservedEngine
  readonly clients: readonly TestClient[]
}

/** A broker with connected clients of tenant `a`, each with a Session that is kept. */
async function setUp(count: number): Promise<Scene> {
  const engine = new ObservedEngine(new SurvivingEngine())
  const harness = await createHarness({ engine, limits: { maximumBytesTowardLog: MAXIMUM_BYTES } })
  const clients: TestClient[] = []
  for (let number = 0; number < count; number += 1) {
    clients.push(await harness.connect({ ...KEPT, userName: 'a', clientId: `${number}` }))
    await settle(engine)
  }
  engine.requests.length = 0
  return { ...harness, engine, clients }
}

async function settle(engine: ObservedEngine): Promise<void> {
  for (let turns = 0; turns < 6; turns += 1) {
    engine.sync()
    await setImmediate()
  }
}

function subscribe(client: TestClient, name: string): void {
  const request = { qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
  const subscriptions = [{ ...request, topicFilter: `${name}/${LONG}` }]
  client.send({ type: 'subscribe', packetId: client.nextPacketId(), subscriptions })
}

describe('while one tenant subscribes without end on a slow disk', () => {
  it('its changes take at most half of the room, and its clients wait for SUBACK; none is refused', async () => {
    const { engine, clients, broker } = await setUp(60)
    for (const client of clients) subscribe(client, 'one')
    const bytes = engine.bytesOf('a')
    assert.ok(bytes > 0.25 * MAXIMUM_BYTES && bytes <= 0.6 * MAXIMUM_BYTES, `${bytes} bytes`)
    assert.ok(broker.logUsage('a').heldBytes > 0)
    for (let round = 0; round < 20; round += 1) await settle(engine)
    for (const client of clients) assert.deepEqual((await client.next('suback')).reasonCodes, [1])
    assert.deepEqual(broker.logUsage('a'), { bytes: 0, heldBytes: 0, refusedMessages: 0 })
  })

  it('the log gets the next tenant’s changes at once', async () => {
    const { engine, clients, connect } = await setUp(60)
    for (const client of clients) subscribe(client, 'one')
    const neighbour = await connect({ ...KEPT, userName: 'b', clientId: 'neighbour' })
    subscribe(neighbour, 'two')
    assert.ok(engine.bytesOf('b') > 900)
    engine.sync()
    assert.deepEqual((await neighbour.next('suback')).reasonCodes, [1])
  })

  it('a Session that ends while it waits leaves no record', async () => {
    const { engine, clients, connect } = await setUp(60)
    for (const client of clients) subscribe(client, 'one')
    const key = STATE_KEYS.session(['a', 'user', '59'].join('\0'))
    const before = engine.writesOf(key)
    const again = await connect({ userName: 'a', clientId: '59', cleanStart: true })
    for (let round = 0; round < 20; round += 1) await settle(engine)
    again.drop()
    const writes = engine.requests.flatMap(({ changes }) => changes).filter((change) => change.key === key)
    assert.equal(before, 0, 'it waited')
    assert.deepEqual(
      writes.map(({ value }) => value),
      [undefined],
    )
  })

  it('a Session that is no longer kept when its turn comes in a checkpoint leaves no record', async () => {
    const { engine, clients, broker, connect } = await setUp(200)
    for (const client of clients) subscribe(client, 'one')
    for (let round = 0; round < 20; round += 1) await settle(engine)
    for (const client of clients) client.drop()
    const checkpoint = broker.store?.checkpoint()
    await setImmediate()
    assert.ok(broker.logUsage('a').heldBytes > 0, 'a part of the Sessions waits for room')
    const key = STATE_KEYS.session(['a', 'user', '199'].join('\0'))
    engine.requests.length = 0
    const again = await connect({ userName: 'a', clientId: '199', cleanStart: false })
    for (let round = 0; round < 20; round += 1) await settle(engine)
    await checkpoint
    const writes = engine.requests.flatMap(({ changes }) => changes).filter((change) => change.key === key)
    assert.equal(writes.at(-1)?.value, undefined)
    assert.equal(again.sessionPresent, true)
  })

  it('a checkpoint saves the tails behind the Sessions that have changed', async () => {
    const { engine, clients, broker } = await setUp(60)
    for (const client of clients) subscribe(client, 'one')
    await settle(engine)
    for (const client of clients) client.drop()
    const writesOfCheckpoint = (): number => engine.writesOf(STATE_KEYS.checkpoint)
    const before = writesOfCheckpoint()
    const checkpoint = broker.store?.checkpoint()
    await setImmediate()
    assert.ok(broker.logUsage('a').heldBytes > 0, 'a part of the Sessions waits for room')
    assert.equal(writesOfCheckpoint(), before)
    for (let round = 0; round < 20; round += 1) await settle(engine)
    await checkpoint
    assert.equal(writesOfCheckpoint(), before + 1)
    assert.equal(engine.requests.at(-1)?.owner, undefined)
  })

  it('the state forgets a subscription that a checkpoint wrote, and that could not be granted', async () => {
    const engine = new ObservedEngine(new SurvivingEngine())
    const { broker, connect } = await createHarness({ engine, limits: { maximumBytesTowardLog: 1_000 } })
    const other = await connect({ ...KEPT, userName: 'a', clientId: 'other' })
    await settle(engine)
    const reader = await connect({ ...KEPT, userName: 'a', clientId: 'reader' })
    await settle(engine)
    reader.subscribe('first', { qos: 1 }).catch(() => undefined)
    await settle(engine)
    reader.publish('first', 'text', { qos: 1 })
    await settle(engine)
    reader.acknowledge('puback', (await reader.next('publish')).packetId)
    await reader.sync()
    // The room of the tenant is taken. The checkpoint waits for room, and the SUBSCRIBE behind it.
    subscribe(other, 'other')
    const checkpoint = broker.store?.checkpoint()
    subscribe(reader, 'second')
    const key = STATE_KEYS.subscription(['a', 'user', 'reader'].join('\0'), `second/${LONG}`)
    assert.equal(engine.writesOf(key), 0)
    engine.sync()
    for (let turns = 0; turns < 6; turns += 1) await setImmediate()
    assert.equal(engine.writesOf(key), 1, 'the checkpoint has written it')
    engine.write = (request) => request.failed({ reasonCode: 0x97, reason: 'The disk is full.' })
    engine.sync()
    for (let turns = 0; turns < 6; turns += 1) await setImmediate()
    assert.deepEqual((await reader.next('suback')).reasonCodes, [0x97])
    Reflect.deleteProperty(engine, 'write')
    await settle(engine)
    await checkpoint
    const last = broker.store?.checkpoint()
    await settle(engine)
    await last
    const keys: string[] = []
    for await (const entry of engine.load(STATE_KEYS.subscriptions)) keys.push(entry.key)
    assert.equal(keys.includes(key), false)
  })
})
