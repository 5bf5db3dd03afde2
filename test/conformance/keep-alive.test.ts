import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Decision } from '../../src/broker/ports/policy.ts'
import { createHarness } from '../support/broker-harness.ts'
import { both, everything, expectEnd, hex } from './both-versions.ts'

describe('Keep Alive', () => {
  both(
    'ends the connection after one and a half times of silence, and not before [MQTT-3.1.2-22] [MQTT-3.2.2-22] [MQTT311-3.1.2-24]',
    async ({ connect, clock, broker }, version) => {
      const client = await connect({ protocolVersion: version, keepAliveSeconds: 10 })
      clock.advance(broker, 14)
      assert.deepEqual(await client.sync(), [])
      clock.advance(broker, 14)
      assert.deepEqual(await client.sync(), [])
      clock.advance(broker, 15)
      await expectEnd(client, 0x8d)
    },
  )

  both('is served by any packet [MQTT-3.1.2-22] [MQTT311-3.1.2-24]', async ({ connect, clock, broker }, version) => {
    const client = await connect({ protocolVersion: version, keepAliveSeconds: 10 })
    for (let round = 0; round < 10; round += 1) {
      clock.advance(broker, 14)
      client.publish('a', 'x')
    }
    assert.deepEqual(await client.sync(), [])
  })

  both(
    'is not served by the bytes of a packet that never ends [MQTT-3.1.2-22] [MQTT311-3.1.2-24]',
    async ({ connect, clock, broker }, version) => {
      const client = await connect({ protocolVersion: version, keepAliveSeconds: 10 })
      client.sendBytes(hex('30 7f 0001 61'))
      for (let round = 0; round < 14; round += 1) {
        clock.advance(broker, 1)
        client.sendBytes(hex('00'))
      }
      clock.advance(broker, 1)
      await expectEnd(client, 0x8d)
    },
  )

  both('of 0 is none [MQTT-3.1.2-22]', async ({ connect, clock, broker }, version) => {
    const client = await connect({ protocolVersion: version, keepAliveSeconds: 0 })
    clock.advance(broker, 200_000)
    assert.deepEqual(await client.sync(), [])
  })

  both('of 65,535 is counted whole', async ({ connect, clock, broker }, version) => {
    const client = await connect({ protocolVersion: version, keepAliveSeconds: 65_535 })
    clock.advance(broker, 98_302)
    assert.equal(client.transport.ended, false)
    clock.advance(broker, 1)
    await expectEnd(client, 0x8d)
  })

  test('beyond the limit is overruled by Server Keep Alive, which then counts; within it none is sent [MQTT-3.2.2-22] [MQTT-3.1.2-21]', async () => {
    for (const [asked, told, secondsAlive] of [
      [0, 20, 29],
      [21, 20, 29],
      [20, undefined, 29],
      [4, undefined, 5],
    ] as const) {
      const { connect, clock, broker } = await createHarness({ limits: { maximumKeepAliveSeconds: 20 } })
      const client = await connect({ keepAliveSeconds: asked })
      assert.equal(client.connack?.properties?.serverKeepAliveSeconds, told)
      clock.advance(broker, secondsAlive)
      assert.equal(client.transport.ended, false)
      clock.advance(broker, 1)
      await expectEnd(client, 0x8d)
    }
  })

  test('does not run while the broker itself does not read', async () => {
    const { connect, clock, broker, policy } = await createHarness()
    const client = await connect({ keepAliveSeconds: 10 })
    const permit = policy.permits[0]
    assert.ok(permit)
    const judgement = Promise.withResolvers<Decision>()
    permit.publish = () => judgement.promise
    client.publish('a', 'x', { qos: 1 })
    client.send({ type: 'pingreq' })
    clock.advance(broker, 40)
    assert.equal(client.transport.ended, false)
    judgement.resolve({ allowed: true })
    const packets = await everything(client)
    assert.equal(packets[0]?.type, 'puback')
  })
})

describe('PINGREQ', () => {
  both('gets a PINGRESP, each one [MQTT-3.12.4-1] [MQTT311-3.12.4-1]', async ({ connect }, version) => {
    const client = await connect({ protocolVersion: version })
    client.sendBytes(hex('c000 c000 c000'))
    for (let count = 0; count < 3; count += 1) await client.next('pingresp')
    assert.equal(Buffer.concat(client.receivedBytes.slice(-1)).subarray(-2).toString('hex'), 'd000')
    assert.equal(client.unread, 0)
  })

  both('that is malformed ends the connection [MQTT-2.1.3-1] [MQTT311-2.2.2-2]', async ({ connect }, version) => {
    for (const bytes of ['c100', 'c001 00']) {
      const client = await connect({ protocolVersion: version })
      client.sendBytes(hex(bytes))
      await expectEnd(client, 0x81)
    }
  })
})
