import assert from 'node:assert/strict'
import { it } from 'node:test'
import { TestPermit, createHarness } from '../../../test/support/broker-harness.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'
import type { AppendRequest, EngineHealth } from '../ports/engine.ts'

/** Keeps messages to itself while it is stalled. */
class StallingEngine extends SurvivingEngine {
  isStalled = false
  readonly #held: [partition: number, request: AppendRequest][] = []

  override append(partition: number, request: AppendRequest): void {
    if (this.isStalled) this.#held.push([partition, request])
    else super.append(partition, request)
  }

  override health(): EngineHealth {
    return { canWrite: !this.isStalled, reason: this.isStalled ? 'No server answers.' : '', isStalled: this.isStalled }
  }

  /** Refuses what it has kept. */
  fail(): void {
    for (const [, request] of this.#held.splice(0)) request.failed({ reasonCode: 0x97, reason: 'No server answers.' })
  }

  goOn(): void {
    this.isStalled = false
    for (const [partition, request] of this.#held.splice(0)) super.append(partition, request)
  }
}

it('a connection ends when the log has not taken its messages for 30 s; others go on', async () => {
  const engine = new StallingEngine()
  const { broker, clock, connect } = await createHarness({ engine })
  const [publisher, idle, short] = [await connect(), await connect(), await connect()]
  engine.isStalled = true
  publisher.publish('a', '1', { qos: 1 })
  clock.advance(broker, 30)
  assert.deepEqual(await publisher.sync(), [])
  short.publish('a', '2', { qos: 1 })
  await short.sync()
  clock.advance(broker, 2)
  assert.equal((await publisher.next('disconnect')).reasonCode, 0x97)
  assert.deepEqual(await idle.sync(), [])
  assert.deepEqual(await short.sync(), [])
  engine.goOn()
  assert.equal((await short.next('puback')).reasonCode, 0x10)
})

it('a client that sends a QoS 2 message again, before the log has refused it, is sent away to do so once more', async () => {
  const engine = new StallingEngine()
  const { connect, policy } = await createHarness({ engine })
  policy.admit = () => {
    const permit = new TestPermit()
    permit.backPressure = 'own'
    return { allowed: true, permit }
  }
  const fields = { clientId: 'publisher', cleanStart: false, properties: { sessionExpiryIntervalSeconds: 3600 } }
  const first = await connect(fields)
  engine.isStalled = true
  const packetId = first.publish('a', '1', { qos: 2 })
  await first.sync()
  first.drop()
  const second = await connect(fields)
  second.publish('a', '1', { qos: 2, packetId, dup: true })
  assert.deepEqual(await second.sync(), [])
  engine.fail()
  assert.equal((await second.next('disconnect')).reasonCode, 0x89)
  const third = await connect(fields)
  third.publish('a', '1', { qos: 2, packetId, dup: true })
  engine.goOn()
  assert.equal((await third.next('pubrec')).packetId, packetId)
})

it('a connection stays when the log takes messages again before', async () => {
  const engine = new StallingEngine()
  const { broker, clock, connect } = await createHarness({ engine })
  const publisher = await connect()
  for (let round = 0; round < 3; round += 1) {
    engine.isStalled = true
    publisher.publish('a', '1', { qos: 1 })
    clock.advance(broker, 20)
    engine.goOn()
    await publisher.next('puback')
    clock.advance(broker, 1)
  }
  assert.deepEqual(await publisher.sync(), [])
})
