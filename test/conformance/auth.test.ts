import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectPacket, createHarness, TestPermit } from '../support/broker-harness.ts'
import { expectEnd, hex, payloads, publishFully } from './both-versions.ts'

const method = 'TEST'

describe('an Authentication Method in CONNECT', () => {
  test('comes back in CONNACK and in each AUTH [MQTT-4.12.0-5]', async () => {
    const { connect } = await createHarness()
    const client = await connect({ properties: { authenticationMethod: method } })
    assert.equal(client.connack?.properties?.authenticationMethod, method)
    const properties = { authenticationMethod: method, authenticationData: Buffer.from('fresh') }
    client.send({ type: 'auth', reasonCode: 0x19, properties })
    const auth = await client.next('auth')
    assert.deepEqual([auth.reasonCode, auth.properties?.authenticationMethod], [0, method])
  })

  test('that is not known is refused, at the first step as at any [MQTT-4.12.0-1] [MQTT-4.12.0-4]', async () => {
    const { open, policy } = await createHarness()
    const seen: unknown[] = []
    policy.admit = ({ authenticationMethod, authenticationData }) => {
      seen.push(authenticationMethod, authenticationData?.toString())
      return { allowed: false, reasonCode: 0x8c, reason: 'no such method', code: 'method', untold: 'close' }
    }
    const client = open()
    const properties = { authenticationMethod: 'OTHER', authenticationData: Buffer.from('d') }
    client.send(connectPacket({ properties }))
    assert.equal((await client.next('connack')).reasonCode, 0x8c)
    await client.closed()
    assert.deepEqual(seen, ['OTHER', 'd'])
  })

  test('that is not there leaves none in CONNACK, and an AUTH is a protocol error [MQTT-4.12.0-6] [MQTT-4.12.0-7]', async () => {
    const { connect } = await createHarness()
    const client = await connect()
    assert.equal(client.connack?.properties?.authenticationMethod, undefined)
    client.send({ type: 'auth', reasonCode: 0x19, properties: { authenticationMethod: method } })
    await expectEnd(client, 0x82)
  })
})

describe('re-authentication', () => {
  test('takes the place of the permit: its rights and its end [MQTT-4.12.1-1]', async () => {
    const { connect, policy, clock, broker } = await createHarness()
    const client = await connect({ properties: { authenticationMethod: method }, userName: 't/u' })
    await client.subscribe('old')
    await client.subscribe('both')
    const renewed = new TestPermit('t', 'u')
    renewed.expiresAtMs = clock.now() + 20_000
    renewed.subscribe = (topicFilter) =>
      topicFilter === 'old'
        ? { allowed: false, reasonCode: 0x87, reason: '', code: 'no', untold: 'close' }
        : { allowed: true }
    policy.renew = (data) => {
      assert.equal(data?.toString(), 'fresh')
      return { allowed: true, permit: renewed }
    }
    const properties = { authenticationMethod: method, authenticationData: Buffer.from('fresh') }
    client.send({ type: 'auth', reasonCode: 0x19, properties })
    assert.equal((await client.next('auth')).reasonCode, 0)
    const publisher = await connect({ userName: 't/u' })
    await publishFully(publisher, 'old', 'x')
    await publishFully(publisher, 'both', 'y')
    assert.deepEqual(await payloads(client), ['y'])
    // The permit with which the client connected no longer counts.
    policy.permits[0]?.changed({ reasonCode: 0x98, reason: '', code: 'gone' })
    clock.advance(broker, 19)
    assert.deepEqual(await client.sync(), [])
    clock.advance(broker, 1)
    await expectEnd(client, 0x87)
  })

  test('takes the place of what the permit lets through to each delivery', async () => {
    const { connect, policy } = await createHarness()
    const client = await connect({ properties: { authenticationMethod: method }, userName: 't/u' })
    await client.subscribe('#')
    const publisher = await connect({ userName: 't/u' })
    for (const [allowed, got] of [
      ['b', ['b']],
      [undefined, ['a', 'b']],
    ] as const) {
      const renewed = new TestPermit('t', 'u')
      if (allowed !== undefined) renewed.mayReceive = ({ name }) => name === allowed
      policy.renew = () => ({ allowed: true, permit: renewed })
      client.send({ type: 'auth', reasonCode: 0x19, properties: { authenticationMethod: method } })
      assert.equal((await client.next('auth')).reasonCode, 0)
      for (const topicName of ['a', 'b']) await publishFully(publisher, topicName, topicName)
      assert.deepEqual(await payloads(client), got)
    }
  })

  test('that fails ends the connection with its reason, in a code that DISCONNECT has [MQTT-4.12.1-2] [MQTT-3.14.2-1]', async () => {
    for (const [given, told] of [
      [0x87, 0x87],
      [0x86, 0x87],
      [0x8c, 0x8c],
      [0x88, 0x89],
      [0x84, 0x80],
    ] as const) {
      const { connect, policy } = await createHarness()
      policy.renew = () => ({ allowed: false, reasonCode: given, reason: 'no', code: 'no', untold: 'close' })
      const client = await connect({ properties: { authenticationMethod: method } })
      client.send({ type: 'auth', reasonCode: 0x19, properties: { authenticationMethod: method } })
      await expectEnd(client, told)
    }
  })

  test('as somebody else ends the connection', async () => {
    const { connect, policy } = await createHarness()
    for (const [tenant, identity] of [
      ['other', 'user'],
      ['tenant', 'other'],
    ]) {
      policy.renew = () => ({ allowed: true, permit: new TestPermit(tenant, identity) })
      const client = await connect({ properties: { authenticationMethod: method } })
      client.send({ type: 'auth', reasonCode: 0x19, properties: { authenticationMethod: method } })
      await expectEnd(client, 0x87)
    }
  })

  test('by another method, by none, or in the middle of nothing is a protocol error [MQTT-4.12.1-1] [MQTT-4.12.0-5] [MQTT-3.15.2-1]', async () => {
    const { connect } = await createHarness()
    for (const [bytes, reasonCode] of [
      ['f0 0a 19 08 15 0005 4f54484552', 0x82],
      ['f0 02 19 00', 0x82],
      ['f0 01 19', 0x81],
      ['f0 00', 0x82],
      ['f0 09 18 07 15 0004 54455354', 0x82],
      ['f0 09 00 07 15 0004 54455354', 0x82],
      ['f1 09 19 07 15 0004 54455354', 0x81],
    ] as const) {
      const client = await connect({ properties: { authenticationMethod: method } })
      client.sendBytes(hex(bytes))
      await expectEnd(client, reasonCode)
    }
  })

  test('is answered without Reason String and User Properties, and what follows it waits for it [MQTT-3.15.2-2] [MQTT-3.15.2-3]', async () => {
    const { connect } = await createHarness()
    const client = await connect({ properties: { authenticationMethod: method } })
    client.send({ type: 'auth', reasonCode: 0x19, properties: { authenticationMethod: method } })
    const answers = await client.sync()
    assert.equal(answers.length, 1)
    const [auth] = answers
    assert.ok(auth?.type === 'auth')
    assert.deepEqual({ ...auth.properties }, { authenticationMethod: method })
  })

  test('does not exist in MQTT 3.1.1 [MQTT311-4.8.0-1]', async () => {
    const { connect } = await createHarness()
    const client = await connect({ protocolVersion: 4 })
    client.sendBytes(hex('f0 00'))
    await expectEnd(client, 0)
  })
})
