import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createHarness, TestPermit } from '../../../test/support/broker-harness.ts'
import type { Harness, TestClient } from '../../../test/support/broker-harness.ts'
import { three } from '../../../test/support/broker-nodes.ts'
import { EXPIRY_TOPIC_NAME, expiryNoticeAt } from './expiry-notice.ts'

const HOUR_SECONDS = 3_600
const METHOD = 'TEST'
const KEPT = { clientId: 'kept', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 86_400 } } as const

describe('the time of the notice before the end of a permit', () => {
  it('is a tenth of its life before the end, but from one to ten minutes', () => {
    const lives = [5, 60, 600, 1_200, HOUR_SECONDS, 86_400, 31_557_600]
    const minutesBefore = lives.map((seconds) => (seconds * 1_000 - expiryNoticeAt(0, seconds * 1_000)) / 60_000)
    assert.deepEqual(minutesBefore, [1, 1, 1, 2, 6, 10, 10])
  })
})

for (const protocolVersion of [4, 5] as const) {
  describe(`a client of version ${protocolVersion} that subscribes to the notice`, () => {
    it('gets it once, alone, and before the end', async () => {
      const harness = await harnessWithLife(HOUR_SECONDS)
      const { connect, clock, broker } = harness
      const client = await connect({ protocolVersion })
      const silent = await connect({ protocolVersion })
      await client.subscribe(EXPIRY_TOPIC_NAME, { qos: 1 })
      await silent.subscribe('#')
      const end = clock.now() + HOUR_SECONDS * 1_000
      clock.advance(broker, HOUR_SECONDS - 361)
      assert.deepEqual(await client.sync(), [])
      clock.advance(broker, 1)
      assert.deepEqual(await notices(client), [{ expiresAt: new Date(end).toISOString(), secondsLeft: 360 }])
      assert.deepEqual(await silent.sync(), [])
      clock.advance(broker, 359)
      assert.deepEqual(await client.sync(), [])
      clock.advance(broker, 1)
      await client.closed()
    })
  })
}

describe('the notice before the end of a permit', () => {
  it('comes at once to a later subscriber, under its Subscription Identifier', async () => {
    const { connect, clock, broker } = await harnessWithLife(HOUR_SECONDS)
    const client = await connect()
    clock.advance(broker, HOUR_SECONDS - 100)
    assert.deepEqual(await client.sync(), [])
    assert.equal(await client.subscribe(EXPIRY_TOPIC_NAME, { qos: 1 }, 7), 1)
    const { payload, properties, qos } = await client.next('publish')
    assert.deepEqual(
      [JSON.parse(payload.toString()).secondsLeft, properties?.subscriptionIdentifiers, qos],
      [100, [7], 0],
    )
    assert.deepEqual(await client.sync(), [])
  })

  it('comes with the next second to a Session that subscribed on an earlier connection', async () => {
    const { connect, clock, broker } = await harnessWithLife(HOUR_SECONDS)
    const first = await connect(KEPT)
    await first.subscribe(EXPIRY_TOPIC_NAME)
    clock.advance(broker, HOUR_SECONDS - 360)
    assert.equal((await notices(first)).length, 1)
    const again = await connect(KEPT)
    assert.equal(again.sessionPresent, true)
    clock.advance(broker, 1)
    assert.deepEqual(
      (await notices(again)).map(({ secondsLeft }) => secondsLeft),
      [359],
    )
  })

  it('does not come again where the Session goes on with another permit', async () => {
    const harness = await harnessWithLife(HOUR_SECONDS)
    const { connect, clock, broker } = harness
    const first = await connect(KEPT)
    await first.subscribe(EXPIRY_TOPIC_NAME, { qos: 1 })
    clock.advance(broker, HOUR_SECONDS - 10)
    assert.equal((await notices(first)).length, 1)
    first.drop()
    harness.begin()
    const again = await connect(KEPT)
    clock.advance(broker, 60)
    assert.deepEqual(await again.sync(), [])
  })

  it('comes at another node to a Session that has gone there', async () => {
    const { a, b, deployment } = await three()
    const { clock } = deployment
    const first = await a.connect(KEPT)
    await first.subscribe(EXPIRY_TOPIC_NAME, { qos: 1 })
    first.drop()
    b.policy.admit = () => ({ allowed: true, permit: permitOf(clock.now(), 300) })
    const again = await b.connect(KEPT)
    assert.equal(again.sessionPresent, true)
    clock.advance(b.broker, 240)
    assert.deepEqual(
      (await notices(again)).map(({ secondsLeft }) => secondsLeft),
      [60],
    )
  })

  it('comes at its time after a renewal by AUTH', async () => {
    const { connect, policy, clock, broker } = await harnessWithLife(HOUR_SECONDS)
    const client = await connect({ properties: { authenticationMethod: METHOD } })
    await client.subscribe(EXPIRY_TOPIC_NAME)
    clock.advance(broker, HOUR_SECONDS - 360)
    assert.equal((await notices(client)).length, 1)
    policy.renew = () => ({ allowed: true, permit: permitOf(clock.now(), HOUR_SECONDS) })
    const properties = { authenticationMethod: METHOD, authenticationData: Buffer.from('fresh') }
    client.send({ type: 'auth', reasonCode: 0x19, properties })
    assert.equal((await client.next('auth')).reasonCode, 0)
    clock.advance(broker, HOUR_SECONDS - 361)
    assert.deepEqual(await client.sync(), [])
    clock.advance(broker, 1)
    assert.equal((await notices(client)).length, 1)
  })

  it('comes at the beginning of a life that is shorter than the time of the notice', async () => {
    const { connect, clock, broker } = await harnessWithLife(30)
    const client = await connect()
    await client.subscribe(EXPIRY_TOPIC_NAME)
    clock.advance(broker, 1)
    assert.deepEqual(
      (await notices(client)).map(({ secondsLeft }) => secondsLeft),
      [29],
    )
    clock.advance(broker, 28)
    assert.deepEqual(await client.sync(), [])
    clock.advance(broker, 1)
    assert.equal((await client.next('disconnect')).reasonCode, 0x87)
  })

  it('waits for a client that takes no bytes', async () => {
    const { connect, clock, broker } = await harnessWithLife(HOUR_SECONDS, { maximumOutgoingBytes: 1_000 })
    const client = await connect()
    await client.subscribe(EXPIRY_TOPIC_NAME)
    await client.subscribe('t')
    clock.advance(broker, HOUR_SECONDS - 362)
    client.transport.stuck = true
    const publisher = await connect()
    publisher.publish('t', 'x'.repeat(2_000))
    await publisher.sync()
    assert.equal((await client.next('publish')).topicName, 't')
    clock.advance(broker, 5)
    assert.deepEqual(client.takeAll(), [])
    client.transport.unstick()
    clock.advance(broker, 1)
    assert.equal((await notices(client)).length, 1)
  })

  it('follows the machine’s clock, and is given once', async () => {
    const { connect, clock, broker } = await harnessWithLife(HOUR_SECONDS)
    const client = await connect()
    await client.subscribe(EXPIRY_TOPIC_NAME)
    clock.step(HOUR_SECONDS - 300)
    clock.advance(broker, 2)
    assert.equal((await notices(client)).length, 1)
    clock.step(100)
    clock.advance(broker, 2)
    assert.deepEqual(await client.sync(), [])
  })
})

describe('the User Property that tells the end of a permit', () => {
  it('is in CONNACK and in the answer to AUTH, for MQTT 5', async () => {
    const { connect, policy, clock } = await harnessWithLife(HOUR_SECONDS)
    const client = await connect({ properties: { authenticationMethod: METHOD } })
    const endOf = (seconds: number): readonly [string, string] => [
      'token-expires-at',
      new Date(clock.now() + seconds * 1_000).toISOString(),
    ]
    assert.deepEqual(client.connack?.properties?.userProperties, [endOf(HOUR_SECONDS)])
    policy.renew = () => ({ allowed: true, permit: permitOf(clock.now(), 2 * HOUR_SECONDS) })
    const properties = { authenticationMethod: METHOD, authenticationData: Buffer.from('fresh') }
    client.send({ type: 'auth', reasonCode: 0x19, properties })
    assert.deepEqual((await client.next('auth')).properties?.userProperties, [endOf(2 * HOUR_SECONDS)])
    const old = await connect({ protocolVersion: 4 })
    assert.equal(old.connack?.properties, undefined)
  })

  it('is left out of a CONNACK that would be too large with it [MQTT-3.2.2-20]', async () => {
    const { connect } = await harnessWithLife(HOUR_SECONDS)
    const client = await connect({ properties: { maximumPacketSizeBytes: 40 } })
    assert.equal(client.connack?.properties?.userProperties, undefined)
  })

  it('is left out of AUTH for a client without Request Problem Information [MQTT-3.1.2-29]', async () => {
    const { connect, policy, clock } = await harnessWithLife(HOUR_SECONDS)
    const client = await connect({ properties: { authenticationMethod: METHOD, requestProblemInformation: false } })
    policy.renew = () => ({ allowed: true, permit: permitOf(clock.now(), HOUR_SECONDS) })
    const properties = { authenticationMethod: METHOD, authenticationData: Buffer.from('fresh') }
    client.send({ type: 'auth', reasonCode: 0x19, properties })
    assert.equal((await client.next('auth')).properties?.userProperties, undefined)
  })

  it('is not there for a permit without an end', async () => {
    const { connect } = await createHarness({ expiryProperty: 'token-expires-at' })
    assert.equal((await connect()).connack?.properties?.userProperties, undefined)
  })
})

/** A broker whose permits live for these seconds, from the last `begin` on. */
async function harnessWithLife(
  seconds: number,
  limits: { readonly maximumOutgoingBytes?: number } = {},
): Promise<Harness & { readonly begin: () => void }> {
  const harness = await createHarness({ expiryProperty: 'token-expires-at', limits })
  const { policy, clock } = harness
  let beganAtMs = clock.now()
  policy.admit = () => ({ allowed: true, permit: permitOf(beganAtMs, seconds) })
  return { ...harness, begin: () => void (beganAtMs = clock.now()) }
}

function permitOf(beganAtMs: number, seconds: number): TestPermit {
  return Object.assign(new TestPermit(), { beganAtMs, expiresAtMs: beganAtMs + seconds * 1_000 })
}

/** The payloads of the notices that came, and of nothing else. */
async function notices(client: TestClient): Promise<{ readonly expiresAt: string; readonly secondsLeft: number }[]> {
  return (await client.sync()).map((packet) => {
    assert.ok(packet.type === 'publish')
    assert.equal(packet.topicName, EXPIRY_TOPIC_NAME)
    return JSON.parse(packet.payload.toString()) as { expiresAt: string; secondsLeft: number }
  })
}
