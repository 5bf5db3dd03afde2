/**
 * Publishers and subscribers that follow the protocol on connections that break anywhere. QoS 1
 * arrives at least once, QoS 2 exactly once, both in order.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { ProtocolVersion } from '../../src/mqtt/packet.ts'
import { createHarness } from '../support/broker-harness.ts'
import { firsts, Publisher, Subscriber } from './flaky-clients.ts'
import { fuzzRuns } from './fuzz-runs.ts'

const MESSAGES = 12

/**
 * 0: publish · 1: publisher reads · 2: subscriber reads · 3: publisher breaks · 4: subscriber
 * breaks · 5: a turn of the event loop
 */
const schedule = fc.array(fc.constantFrom(0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 5, 5), {
  minLength: 10,
  maxLength: 120,
  size: 'max',
})

for (const granted of [1, 2] as const) {
  for (const published of [1, 2] as const) {
    const isOnce = granted === 2 && published === 2
    test(`published at QoS ${published} and subscribed at QoS ${granted}: each message ${isOnce ? 'exactly once' : 'at least once'}, in order [MQTT-4.4.0-1] [MQTT-4.3.3-10] [MQTT-4.6.0-5] [MQTT311-4.4.0-1] [MQTT311-4.6.0-6]`, async () => {
      await fc.assert(
        fc.asyncProperty(
          schedule,
          fc.constantFrom<ProtocolVersion>(4, 5),
          fc.constantFrom(1, 2, 3, 65_535),
          async (actions, version, receiveMaximum) => {
            const harness = await createHarness({ limits: { maximumInflight: 5 } })
            const publisher = new Publisher(harness, version, 'publisher', 65_535)
            const subscriber = new Subscriber(harness, version, 'subscriber', receiveMaximum, granted)
            await (await subscriber.connected()).subscribe('t/+', { qos: granted })
            const sent: string[] = []
            for (const action of actions) {
              if (action === 0 && sent.length < MESSAGES) {
                sent.push(String(sent.length))
                await publisher.publish(sent.at(-1) as string, published)
              } else if (action === 1) await publisher.step()
              else if (action === 2) await subscriber.step()
              else if (action === 3) publisher.drop()
              else if (action === 4) subscriber.drop()
              else await new Promise((resolve) => setImmediate(resolve))
            }
            // Then the network is good until all is delivered.
            for (let quiet = 0; quiet < 4;) {
              const moved = [await publisher.step(), await subscriber.step()]
              if (moved.includes(true)) quiet = 0
              else {
                quiet += 1
                await new Promise((resolve) => setImmediate(resolve))
              }
            }
            assert.ok(publisher.isDone)
            assert.deepEqual(firsts(subscriber.received), sent)
            if (isOnce) assert.deepEqual(subscriber.received, sent)
          },
        ),
        fuzzRuns(80),
      )
    })
  }
}
