/**
 * The clients of flaky-delivery.test.ts, and a broker that crashes anywhere. Only messages that its
 * engine did not own are lost. QoS 1 arrives at least once, QoS 2 exactly once, both in order, over
 * any number of crashes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { ProtocolVersion } from '../../src/mqtt/packet.ts'
import { createHarness, ManualClock } from '../support/broker-harness.ts'
import type { Harness } from '../support/broker-harness.ts'
import { SlowDisk } from '../support/slow-engine.ts'
import type { SlowEngine } from '../support/slow-engine.ts'
import { firsts, Publisher, Subscriber } from './flaky-clients.ts'
import { fuzzRuns } from './fuzz-runs.ts'

const MESSAGES = 16

type Action =
  | 'publish'
  | 'publisher reads'
  | 'subscriber reads'
  | 'publisher breaks'
  | 'subscriber breaks'
  | 'sync'
  | 'sync one'
  | 'tick'
  | 'crash'
  | 'close'

const ACTIONS: readonly { readonly weight: number; readonly arbitrary: fc.Arbitrary<Action> }[] = (
  [
    [6, 'publish'],
    [5, 'publisher reads'],
    [8, 'subscriber reads'],
    [1, 'publisher breaks'],
    [1, 'subscriber breaks'],
    [5, 'sync'],
    [5, 'sync one'],
    [2, 'tick'],
    [2, 'crash'],
    [1, 'close'],
  ] as const
).map(([weight, action]) => ({ weight, arbitrary: fc.constant<Action>(action) }))

const schedule = fc.array(fc.oneof(...ACTIONS), { minLength: 20, maxLength: 200, size: 'max' })

const versions = fc.constantFrom<ProtocolVersion>(4, 5)
const receiveMaxima = fc.constantFrom<number>(1, 2, 3, 65_535)

/** Schedules that once lost a message, doubled a message or changed the order. */
const REGRESSIONS: [Action[], ProtocolVersion, number][] = [
  // An order of sending that began again with each process.
  'publish, publish, sync, close, subscriber reads, publish, sync, close, publisher reads, sync, publish, sync, subscriber reads, publisher breaks, tick, sync, sync one, sync, publisher breaks, publisher reads, publish, sync one, publish, publisher breaks, subscriber reads, publish, sync',
  // A QoS 2 message sent again on a new connection before the engine knew its Packet Identifier.
  'publish, subscriber breaks, sync, tick, subscriber reads, publish, sync one, publisher reads, tick, subscriber reads, publisher reads, subscriber breaks, sync one, subscriber reads, publish, publisher reads, sync one, publisher reads, publisher reads, crash, sync, tick',
  // A PUBREL that came again while the engine had not forgotten the Packet Identifier, which then
  // meant another message.
  'publish, sync, sync one, tick, publisher reads, publisher breaks, publish, sync one, publisher reads, publish, crash, publish, sync one, subscriber reads, publish, publish, subscriber reads, publish, publisher breaks, publish, subscriber reads, subscriber breaks, sync one, subscriber reads, publisher reads, subscriber reads, crash, sync one',
  // A message that a member of a group gave back, and that was in the saved state of neither this
  // member nor the next.
  'publish, sync, tick, subscriber breaks, sync, subscriber reads, sync one, subscriber reads, crash, crash, sync, sync one, sync one, publisher reads, sync one, publisher breaks, tick, publisher reads, crash, sync, sync one, subscriber reads, tick, subscriber reads, subscriber reads',
].map((text) => [text.split(', ') as Action[], 4, 1])

interface Clients {
  readonly version: ProtocolVersion
  readonly receiveMaximum: number
  readonly granted: 1 | 2
  readonly members: 1 | 2
}

/** Brokers one after the other on one disk, with clients that move from one to the next. */
class Deployment {
  readonly disk = new SlowDisk()
  readonly clock = new ManualClock()
  engine: SlowEngine
  harness: Harness
  readonly publisher: Publisher
  /** One subscriber with its own subscription, or two that share one. */
  readonly subscribers: readonly Subscriber[]
  #acting = 0

  static async open(clients: Clients): Promise<Deployment> {
    const clock = new ManualClock()
    const disk = new SlowDisk()
    const engine = disk.mount()
    const harness = await createHarness({ engine, clock, limits: { maximumInflight: 5 } })
    return new Deployment(disk, clock, engine, harness, clients)
  }

  private constructor(
    disk: SlowDisk,
    clock: ManualClock,
    engine: SlowEngine,
    harness: Harness,
    { version, receiveMaximum, granted, members }: Clients,
  ) {
    this.disk = disk
    this.clock = clock
    this.engine = engine
    this.harness = harness
    this.publisher = new Publisher(harness, version, 'publisher', 65_535)
    this.subscribers = Array.from(
      { length: members },
      (_, index) => new Subscriber(harness, version, `subscriber ${index}`, receiveMaximum, granted),
    )
  }

  async subscribe(): Promise<void> {
    const topicFilter = this.subscribers.length === 1 ? 't/+' : '$share/group/t/+'
    for (const subscriber of this.subscribers) {
      const subscribing = (await subscriber.connected()).subscribe(topicFilter, { qos: subscriber.qos })
      await this.sync()
      await subscribing
    }
  }

  /** Lets all clients take a step in turn; true if one of them had something to do. */
  async stepAll(): Promise<boolean> {
    const moved = [await this.publisher.step()]
    for (const subscriber of this.subscribers) moved.push(await subscriber.step())
    return moved.includes(true)
  }

  /** Resolves when the clients have been told about the owned requests. */
  async sync(count?: number): Promise<void> {
    await turn()
    this.engine.sync(count)
    await turn()
  }

  async restart(): Promise<void> {
    this.engine = this.disk.mount()
    this.harness = await createHarness({ engine: this.engine, clock: this.clock, limits: { maximumInflight: 5 } })
    for (const client of [this.publisher, ...this.subscribers]) client.moveTo(this.harness)
  }

  async run(action: Action, sent: string[], published: 1 | 2): Promise<void> {
    const { publisher } = this
    this.#acting += 1
    const subscriber = this.subscribers[this.#acting % this.subscribers.length] as Subscriber
    if (action === 'publish') {
      if (sent.length === MESSAGES) return
      sent.push(String(sent.length))
      await publisher.publish(sent.at(-1) as string, published)
    } else if (action === 'publisher reads') await publisher.step()
    else if (action === 'subscriber reads') await subscriber.step()
    else if (action === 'publisher breaks') publisher.drop()
    else if (action === 'subscriber breaks') subscriber.drop()
    else if (action === 'sync') await this.sync()
    else if (action === 'sync one') await this.sync(1)
    else if (action === 'tick') this.clock.advance(this.harness.broker, 1)
    else if (action === 'crash') {
      this.engine.crash()
      await this.restart()
    } else {
      const closing = this.harness.broker.close()
      for (let turns = 0; turns < 4; turns += 1) await this.sync()
      await closing
      await this.restart()
    }
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * Runs the schedule, then lets the network be good until all is delivered. Returns the sent
 * messages.
 */
async function deliver(deployment: Deployment, actions: readonly Action[], published: 1 | 2): Promise<string[]> {
  await deployment.subscribe()
  const sent: string[] = []
  for (const action of actions) await deployment.run(action, sent, published)
  for (let quiet = 0; quiet < 6;) {
    quiet = (await deployment.stepAll()) ? 0 : quiet + 1
    await deployment.sync()
  }
  assert.ok(deployment.publisher.isDone)
  return sent
}

for (const granted of [1, 2] as const) {
  for (const published of [1, 2] as const) {
    const isOnce = granted === 2 && published === 2
    const times = isOnce ? 'exactly once' : 'at least once'
    test(`published at QoS ${published} and subscribed at QoS ${granted} over crashes of the broker: each message ${times}, in order`, async () => {
      await fc.assert(
        fc.asyncProperty(schedule, versions, receiveMaxima, async (actions, version, receiveMaximum) => {
          const deployment = await Deployment.open({ version, receiveMaximum, granted, members: 1 })
          const sent = await deliver(deployment, actions, published)
          const received = deployment.subscribers.flatMap((subscriber) => subscriber.received)
          assert.deepEqual(firsts(received), sent)
          if (isOnce) assert.deepEqual(received, sent)
        }),
        { ...fuzzRuns(60), examples: REGRESSIONS },
      )
    })

    test(`published at QoS ${published} to a shared subscription at QoS ${granted} over crashes of the broker: each message ${times}`, async () => {
      await fc.assert(
        fc.asyncProperty(schedule, versions, receiveMaxima, async (actions, version, receiveMaximum) => {
          const deployment = await Deployment.open({ version, receiveMaximum, granted, members: 2 })
          const sent = await deliver(deployment, actions, published)
          const received = deployment.subscribers.flatMap((subscriber) => subscriber.received).map(Number)
          const wanted = sent.map(Number)
          assert.deepEqual(
            [...new Set(received)].toSorted((a, b) => a - b),
            wanted,
          )
          if (isOnce)
            assert.deepEqual(
              received.toSorted((a, b) => a - b),
              wanted,
            )
        }),
        { ...fuzzRuns(60), examples: REGRESSIONS },
      )
    })
  }
}
