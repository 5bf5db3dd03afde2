/** Messages that the service hands to one reader, beside the log. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createHarness, TestPermit } from '../../../test/support/broker-harness.ts'
import type { DispatchWatcher, OwnMessage } from '../ports/consumer.ts'

const TOPIC_NAME = 'application/5/device/0102030405060708/command/down'
const MESSAGE: OwnMessage = { topicName: TOPIC_NAME, payload: Buffer.from('{}'), qos: 1 }

class Watcher implements DispatchWatcher {
  readonly told: string[] = []

  acknowledged(): void {
    this.told.push('acknowledged')
  }

  abandoned(): void {
    this.told.push('abandoned')
  }
}

const isForChosen = ({ identity }: { readonly identity: string }): boolean => identity === 'chosen'

describe('a dispatched message', () => {
  it('goes to one reader, and its owner learns of the acknowledgement', async () => {
    const { broker, connect } = await createHarness()
    const readers = [await connect(), await connect()]
    for (const reader of readers) await reader.subscribe('application/+/device/+/command/down', { qos: 1 })
    const watcher = new Watcher()
    assert.equal(broker.dispatch(MESSAGE, watcher), 'sent')
    const packets = (await Promise.all(readers.map((reader) => reader.sync()))).flat()
    assert.equal(packets.length, 1)
    assert.deepEqual(watcher.told, [])
    const [packet] = packets
    assert.ok(packet?.type === 'publish')
    for (const reader of readers) {
      reader.acknowledge('puback', packet.packetId)
      await reader.sync()
    }
    assert.deepEqual(watcher.told, ['acknowledged'])
  })

  it('is acknowledged at QoS 2 by PUBREC, and at QoS 0 by being written', async () => {
    const { broker, connect } = await createHarness()
    const reader = await connect()
    await reader.subscribe(TOPIC_NAME, { qos: 2 })
    const watcher = new Watcher()
    broker.dispatch({ ...MESSAGE, qos: 2 }, watcher)
    const { packetId } = await reader.next('publish')
    reader.acknowledge('pubrec', packetId)
    await reader.next('pubrel')
    assert.deepEqual(watcher.told, ['acknowledged'])
    reader.acknowledge('pubcomp', packetId)
    await reader.sync()
    await reader.subscribe(TOPIC_NAME, { qos: 0 })
    broker.dispatch(MESSAGE, watcher)
    await reader.next('publish')
    assert.deepEqual(watcher.told, ['acknowledged', 'acknowledged'])
  })

  it('finds no reader where nobody is connected that may have it', async () => {
    const { broker, connect, policy } = await createHarness()
    assert.equal(broker.dispatch(MESSAGE, new Watcher()), 'no reader')
    policy.admit = () => {
      const permit = new TestPermit()
      permit.mayReceive = () => false
      return { allowed: true, permit }
    }
    const reader = await connect()
    await reader.subscribe('application/+/device/+/command/down', { qos: 1 })
    assert.equal(broker.dispatch(MESSAGE, new Watcher()), 'no reader')
    assert.deepEqual(await reader.sync(), [])
  })

  it('goes to a member of a shared subscription', async () => {
    const { broker, connect } = await createHarness()
    const reader = await connect()
    await reader.subscribe('$share/chirpstack/application/+/device/+/command/+', { qos: 1 })
    assert.equal(broker.dispatch(MESSAGE, new Watcher()), 'sent')
    assert.equal((await reader.next('publish')).topicName, TOPIC_NAME)
  })

  it('goes to none but the readers that it is for, alone or in a group, though others are connected and have room', async () => {
    const { broker, connect } = await createHarness()
    const other = await connect({ userName: 'tenant/other' })
    await other.subscribe(TOPIC_NAME, { qos: 1 })
    await other.subscribe(`$share/group/${TOPIC_NAME}`, { qos: 1 })
    assert.equal(broker.dispatch(MESSAGE, new Watcher(), isForChosen), 'no reader')
    const chosen = await connect({ userName: 'tenant/chosen', properties: { receiveMaximum: 1 } })
    await chosen.subscribe(`$share/group/${TOPIC_NAME}`, { qos: 1 })
    assert.equal(broker.dispatch(MESSAGE, new Watcher(), isForChosen), 'sent')
    await chosen.next('publish')
    assert.equal(broker.dispatch(MESSAGE, new Watcher(), isForChosen), 'no room')
    chosen.drop()
    assert.equal(broker.dispatch(MESSAGE, new Watcher(), isForChosen), 'no reader')
    assert.deepEqual(await other.sync(), [])
    assert.equal(broker.dispatch(MESSAGE, new Watcher()), 'sent')
    await other.next('publish')
  })

  it('comes again to a Session that went away with it and returned', async () => {
    const { broker, connect } = await createHarness()
    const kept = { clientId: 'kept', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 60 } }
    const reader = await connect(kept)
    await reader.subscribe(TOPIC_NAME, { qos: 1 })
    const watcher = new Watcher()
    broker.dispatch(MESSAGE, watcher)
    await reader.next('publish')
    reader.drop()
    assert.equal(broker.dispatch(MESSAGE, new Watcher()), 'no reader')
    const again = await connect(kept)
    const packet = await again.next('publish')
    assert.equal(packet.dup, true)
    again.acknowledge('puback', packet.packetId)
    assert.deepEqual(await again.sync(), [])
    assert.deepEqual(watcher.told, ['acknowledged'])
  })

  it('is given back when the Session that has it in flight ends', async () => {
    const { broker, connect } = await createHarness()
    const reader = await connect()
    await reader.subscribe(TOPIC_NAME, { qos: 1 })
    const watcher = new Watcher()
    broker.dispatch(MESSAGE, watcher)
    await reader.next('publish')
    reader.drop()
    assert.deepEqual(watcher.told, ['abandoned'])
  })

  it('waits for room with its owner, who is told when there is some', async () => {
    const ready: (readonly string[])[] = []
    const readerListener = { readerReady: (topicFilters: readonly string[]) => void ready.push(topicFilters) }
    const { broker, connect } = await createHarness({ readerListener })
    const reader = await connect({ properties: { receiveMaximum: 1 } })
    await reader.subscribe(TOPIC_NAME, { qos: 1 })
    assert.deepEqual(ready, [[TOPIC_NAME]])
    assert.equal(broker.dispatch(MESSAGE, new Watcher()), 'sent')
    assert.equal(broker.dispatch(MESSAGE, new Watcher()), 'no room')
    const { packetId } = await reader.next('publish')
    reader.acknowledge('puback', packetId)
    await reader.sync()
    assert.deepEqual(ready, [[TOPIC_NAME], [TOPIC_NAME]])
    assert.equal(broker.dispatch(MESSAGE, new Watcher()), 'sent')
  })
})

describe('a message of the service', () => {
  it('is routed like any other, and its promise is kept when the engine owns it', async () => {
    const { broker, connect } = await createHarness()
    const reader = await connect()
    await reader.subscribe('a/b', { qos: 1 })
    await broker.publish({ topicName: 'a/b', payload: Buffer.from('1'), qos: 1 })
    await broker.publish({ topicName: 'a/b', payload: Buffer.from('2'), qos: 0 })
    assert.equal((await reader.next('publish')).payload.toString(), '1')
    assert.equal((await reader.next('publish')).payload.toString(), '2')
  })
})
