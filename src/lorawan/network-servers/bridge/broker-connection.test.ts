import assert from 'node:assert/strict'
import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import { describe, it } from 'node:test'
import { within } from '../../../../test/support/bounded-wait.ts'
import { TestClock } from '../../../clock.testing.ts'
import { BrokerConnection } from './broker-connection.ts'
import { FarBroker } from './far-broker.testing.ts'

const TOPIC_NAME = 'application/5/device/0101010101010101/event/up'
/** With their Topic Names, 32 of these payloads are more than may be taken at a time. */
const PAYLOAD = Buffer.alloc(262_144)
const FITTING = 32

describe('a connection to somebody else’s broker', () => {
  it('reads no more while it has 8 MiB of events that are not owned', async () => {
    const [socket, far] = duplexPair()
    const broker = new FarBroker(far, 4)
    const taken: PromiseWithResolvers<void>[] = []
    const connection = new BrokerConnection(socket, {
      protocolVersion: 4,
      clientId: 'fieldgate',
      userName: undefined,
      password: undefined,
      sessionExpirySeconds: 3_600,
      topicFilter: 'application/+/device/+/event/+',
      take: () => {
        const one = Promise.withResolvers<void>()
        taken.push(one)
        return one.promise
      },
      clock: new TestClock(),
    })
    await broker.welcome()
    await connection.ready
    const paused = once(socket, 'pause')
    for (let packetId = 1; packetId <= FITTING + 2; packetId += 1) {
      const fields = { topicName: TOPIC_NAME, payload: PAYLOAD, qos: 1, retain: false, dup: false } as const
      broker.send({ type: 'publish', ...fields, packetId })
    }
    await within(paused, 'the pause')
    assert.equal(taken.length, FITTING)
    const pausedAgain = once(socket, 'pause')
    taken[0]?.resolve()
    assert.deepEqual(await broker.next(), { type: 'puback', packetId: 1, reasonCode: 0, properties: undefined })
    await within(pausedAgain, 'the next pause')
    assert.equal(taken.length, FITTING + 1)
    connection.close()
  })
})
