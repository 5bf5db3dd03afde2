/** The records of subscriptions and retained messages: their size, their sharing, older records. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StateChange } from '../ports/engine.ts'
import { retainedChange, retainedMessage } from './retained-store.ts'
import { Message } from '../ports/message.ts'
import { ManualClock, createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness } from '../../../test/support/broker-harness.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'

const KEPT = { clientId: 'reader', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 3600 } } as const

/** The bytes of all changes of state that `run` makes. */
async function writtenBy(engine: SurvivingEngine, run: () => Promise<unknown>): Promise<readonly StateChange[]> {
  const written: StateChange[] = []
  const write = engine.write.bind(engine)
  engine.write = (request) => {
    written.push(...request.changes)
    write(request)
  }
  await run()
  engine.write = write
  return written
}

async function stateOf(engine: SurvivingEngine, prefix: string): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>()
  for await (const { key, value } of engine.load(prefix)) found.set(key, value)
  return found
}

function put(engine: SurvivingEngine, changes: readonly StateChange[]): Promise<void> {
  return new Promise((resolve, reject) => {
    engine.write({ changes, committed: resolve, failed: ({ reason }) => reject(new Error(reason)) })
  })
}

describe('the records of subscriptions', () => {
  it('are written alone: a SUBSCRIBE does not write the other Topic Filters of its Session', async () => {
    const engine = new SurvivingEngine()
    const { connect } = await createHarness({ engine })
    const reader = await connect(KEPT)
    for (let index = 0; index < 20; index += 1) await reader.subscribe(`a/${index}/${'x'.repeat(900)}`, { qos: 1 })
    const written = await writtenBy(engine, () => reader.subscribe('a/b', { qos: 1 }))
    const bytes = written.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0)
    assert.ok(bytes < 1_000, `${bytes} bytes`)
  })

  it('go with their subscription, and with their Session', async () => {
    const engine = new SurvivingEngine()
    const { connect } = await createHarness({ engine })
    const reader = await connect(KEPT)
    await reader.subscribe('a/b', { qos: 1 })
    await reader.subscribe('a/c', { qos: 1 })
    assert.equal((await stateOf(engine, 'subscription/')).size, 2)
    reader.send({ type: 'unsubscribe', packetId: 9, topicFilters: ['a/b'] })
    await reader.next('unsuback')
    assert.deepEqual([...(await stateOf(engine, 'subscription/')).keys()], ['subscription/tenant\0user\0reader\0a/c'])
    reader.drop()
    await connect({ clientId: 'reader', cleanStart: true })
    assert.equal((await stateOf(engine, 'subscription/')).size, 0)
  })

  it('that could not be written are written with the next record; those that were never granted are forgotten', async () => {
    const engine = new SurvivingEngine()
    const clock = new ManualClock()
    const { connect, broker } = await createHarness({ engine, clock })
    const reader = await connect(KEPT)
    await reader.subscribe('a/b', { qos: 1 })
    const write = engine.write.bind(engine)
    engine.write = (request) => setImmediate(() => request.failed({ reasonCode: 0x97, reason: 'The disk is full.' }))
    assert.equal(await reader.subscribe('a/c', { qos: 1 }), 0x97)
    reader.send({ type: 'unsubscribe', packetId: 9, topicFilters: ['a/b'] })
    await reader.next('unsuback')
    engine.write = write
    await broker.store?.checkpoint()
    await broker.store?.checkpoint()
    assert.equal((await stateOf(engine, 'subscription/')).size, 0)
    assert.equal(await reader.subscribe('a/c', { qos: 1 }), 1)
    assert.deepEqual([...(await stateOf(engine, 'subscription/')).keys()], ['subscription/tenant\0user\0reader\0a/c'])
  })

  it('of a Session that is gone are forgotten at the start', async () => {
    const engine = new SurvivingEngine()
    await put(engine, [{ key: 'subscription/tenant\0user\0gone\0a/b', value: Buffer.from('{"version":1,"qos":1}') }])
    const { broker } = await createHarness({ engine })
    await broker.store?.checkpoint()
    assert.equal((await stateOf(engine, 'subscription/')).size, 0)
  })

  it('are made of a Session’s record of version 1 with the next record of the Session', async () => {
    const engine = new SurvivingEngine()
    const clock = new ManualClock()
    const subscriptions = [{ topicFilter: 'a/b', qos: 1, noLocal: false, retainAsPublished: false }]
    const record = {
      version: 1,
      tenant: 'tenant',
      identity: 'user',
      clientId: 'reader',
      expirySeconds: 3600,
      restingSinceMs: clock.now(),
      lastPacketId: 7,
      subscriptions,
      behind: [],
      inflight: [],
      will: { will: { topicName: 'a/b', payload: { base64: 'aGk=' }, qos: 1, retain: false, delayIntervalSeconds: 9 } },
    }
    await put(engine, [{ key: 'session/tenant\0user\0reader', value: Buffer.from(JSON.stringify(record)) }])
    const first = await createHarness({ engine, clock })
    assert.equal(first.broker.counters.subscriptions, 1)
    await first.connect(KEPT)
    assert.deepEqual([...(await stateOf(engine, 'subscription/')).keys()], ['subscription/tenant\0user\0reader\0a/b'])
    const second = await createHarness({ engine, clock })
    await receives(second)
  })
})

async function receives({ connect }: Harness): Promise<void> {
  const again = await connect(KEPT)
  const publisher = await connect()
  publisher.publish('a/b', 'text', { qos: 1 })
  assert.equal((await again.next('publish')).payload.toString(), 'text')
}

describe('the records of retained messages', () => {
  const properties = { correlationData: Buffer.from([1, 2, 3]), contentType: 'x' }
  const fields = { topicName: 'a/b', qos: 1, retain: true, publisherKey: 'key' } as const

  it('are read as they were written, with all bytes of the payload', () => {
    const payload = Buffer.from(Array.from({ length: 5_000 }, (_, index) => index % 256))
    const { key, value } = retainedChange(new Message({ ...fields, payload, properties }, 12_345), 'tenant', 99)
    assert.ok(value !== undefined && value.length < payload.length + 500)
    const { message, tenant } = retainedMessage({ key, value })
    assert.deepEqual(message.payload, payload)
    assert.equal(message.payload.buffer, value.buffer)
    assert.deepEqual(message.properties, properties)
    assert.deepEqual([message.topicName, message.qos, message.publisherKey], ['a/b', 1, 'key'])
    assert.deepEqual([message.expiresAtMs, message.ownedAtMs, tenant], [12_345, 99, 'tenant'])
  })

  it('of version 1 are read', () => {
    const record = {
      version: 1,
      topicName: 'a/b',
      payload: { base64: 'aGk=' },
      qos: 1,
      publisherKey: 'key',
      retainedAtMs: 5,
      tenant: 'tenant',
      properties: { correlationData: { base64: 'AQID' } },
    }
    const { message, tenant } = retainedMessage({ key: '', value: Buffer.from(JSON.stringify(record)) })
    assert.deepEqual([message.payload.toString(), message.ownedAtMs, tenant], ['hi', 5, 'tenant'])
    assert.deepEqual(message.properties?.correlationData, Buffer.from([1, 2, 3]))
  })

  it('of a newer version are refused, and damaged ones as well', () => {
    assert.throws(() => retainedMessage({ key: '', value: Buffer.from([3, 0, 0, 0, 0]) }), /version 3/)
    assert.throws(() => retainedMessage({ key: '', value: Buffer.from([2, 1, 0, 0, 0, 0x7b]) }), /damaged/)
  })
})
