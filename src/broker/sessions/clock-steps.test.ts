/** The machine's clock is set by an hour, forward or back. Durations stay; times of day follow. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { expectEnd, payloads, publishFully } from '../../../test/conformance/both-versions.ts'
import { TestPermit, createHarness } from '../../../test/support/broker-harness.ts'

const HOUR = 3_600

describe('when the machine’s clock is set', () => {
  for (const [way, seconds] of [
    ['an hour forward', HOUR],
    ['an hour back', -HOUR],
  ] as const) {
    test(`${way}, Keep Alive goes on: a live connection lives, a silent one ends in its time [MQTT-3.1.2-22]`, async () => {
      const { connect, clock, broker } = await createHarness()
      const client = await connect({ keepAliveSeconds: 10 })
      clock.advance(broker, 1)
      clock.step(seconds)
      clock.advance(broker, 13)
      assert.deepEqual(await client.sync(), [])
      clock.advance(broker, 15)
      await expectEnd(client, 0x8d)
    })

    test(`${way}, a Session rests for as long as it was to [MQTT-3.1.2-23]`, async () => {
      const { connect, clock, broker } = await createHarness()
      const client = await connect({ clientId: 'c', properties: { sessionExpiryIntervalSeconds: 10 } })
      client.drop()
      clock.step(seconds)
      clock.advance(broker, 9)
      assert.equal(broker.counters.sessions, 1)
      clock.advance(broker, 2)
      assert.equal(broker.counters.sessions, 0)
    })

    test(`${way}, a message keeps its Message Expiry Interval [MQTT-3.3.2-5]`, async () => {
      const { connect, clock, broker } = await createHarness()
      const publisher = await connect()
      for (const [topicName, messageExpiryIntervalSeconds] of [
        ['short', 10],
        ['long', 60],
      ] as const) {
        publisher.publish(topicName, 'x', { qos: 1, retain: true, properties: { messageExpiryIntervalSeconds } })
        await publisher.next('puback')
      }
      clock.step(seconds)
      clock.advance(broker, 20)
      const reader = await connect()
      await reader.subscribe('#')
      const { topicName, properties } = await reader.next('publish')
      assert.deepEqual([topicName, properties?.messageExpiryIntervalSeconds], ['long', 40])
      assert.deepEqual(await reader.sync(), [])
    })

    test(`${way}, a Will Message waits for its delay [MQTT-3.1.3-9]`, async () => {
      const { connect, clock, broker } = await createHarness()
      const watcher = await connect()
      await watcher.subscribe('w')
      const will = {
        topicName: 'w',
        payload: Buffer.from('x'),
        qos: 0,
        retain: false,
        delayIntervalSeconds: 10,
      } as const
      const client = await connect({ clientId: 'c', will, properties: { sessionExpiryIntervalSeconds: 60 } })
      client.drop()
      clock.step(seconds)
      clock.advance(broker, 9)
      assert.deepEqual(await payloads(watcher), [])
      clock.advance(broker, 2)
      assert.equal((await payloads(watcher)).length, 1)
    })

    test(`${way}, a client has the same time for its CONNECT`, async () => {
      const { open, clock, broker } = await createHarness({ limits: { connectTimeoutMs: 5_000 } })
      const client = open()
      clock.step(seconds)
      clock.advance(broker, 4)
      assert.equal(client.transport.ended, false)
      clock.advance(broker, 2)
      await client.closed()
    })
  }

  test('a token ends by the time of day: at once where that has passed, and later where it was set back', async () => {
    const { connect, policy, clock, broker } = await createHarness()
    policy.admit = () => {
      const permit = new TestPermit()
      permit.expiresAtMs = clock.now() + 60_000
      return { allowed: true, permit }
    }
    const first = await connect()
    clock.step(-HOUR)
    clock.advance(broker, 61)
    assert.deepEqual(await first.sync(), [])
    clock.advance(broker, HOUR)
    await expectEnd(first, 0x87)

    const second = await connect()
    await publishFully(second, 'a', 'x')
    clock.step(HOUR)
    clock.advance(broker, 1)
    await expectEnd(second, 0x87)
  })
})
