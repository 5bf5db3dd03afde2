/**
 * Sequences of valid, odd and broken packets of several clients against one broker. The broker
 * never fails, keeps no leftover state, and serves well-behaved clients.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { MemoryEngine } from '../../src/engine/memory/memory.ts'
import { encodePacket } from '../../src/mqtt/encode-packet.ts'
import type { Packet, ProtocolVersion, QoS } from '../../src/mqtt/packet.ts'
import { connectPacket, createHarness } from '../support/broker-harness.ts'
import type { Harness, TestClient } from '../support/broker-harness.ts'
import { publishFully } from '../conformance/both-versions.ts'
import { fuzzRuns } from './fuzz-runs.ts'

const SLOTS = 4
/** The longest life of Sessions in the harness; the sequences end with a longer time. */
const MAXIMUM_EXPIRY_SECONDS = 30

type Action =
  | { readonly do: 'open'; readonly version: ProtocolVersion }
  | { readonly do: 'send'; readonly packet: Packet; readonly cutAt: number }
  | {
      readonly do: 'corrupt'
      readonly packet: Packet
      readonly at: number
      readonly byte: number
      readonly length: number
    }
  | { readonly do: 'bytes'; readonly bytes: Uint8Array }
  | { readonly do: 'answer' }
  | { readonly do: 'drop' }
  | { readonly do: 'stick'; readonly stuck: boolean }
  | { readonly do: 'narrow' }
  | { readonly do: 'wait'; readonly seconds: number }
  | { readonly do: 'turn' }

const topicName = fc.constantFrom('a', 'a/b', 'a/b/c', '/', '$x', 'b')
const topicFilter = fc.constantFrom(
  'a',
  'a/+',
  'a/#',
  '#',
  '+',
  '$x/#',
  '$share/g/a/#',
  '$share/g/+',
  '$share/h/#',
  'a/b',
)
const packetId = fc.integer({ min: 1, max: 6 })
const qos = fc.constantFrom<QoS>(0, 1, 2)
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 2 })

const connect: fc.Arbitrary<Packet> = fc
  .record({
    protocolVersion: fc.constantFrom<ProtocolVersion>(4, 5),
    clientId: fc.constantFrom('one', 'two', 'three', ''),
    cleanStart: fc.boolean(),
    keepAliveSeconds: fc.constantFrom(0, 1, 10),
    will: optional(
      fc.record({
        topicName,
        payload: fc.constant(Buffer.from('will')),
        qos,
        retain: fc.boolean(),
        delayIntervalSeconds: fc.constantFrom(0, 1, 5, 100),
      }),
    ),
    properties: fc.record({
      sessionExpiryIntervalSeconds: optional(fc.constantFrom(0, 1, 5, 0xffff_ffff)),
      receiveMaximum: optional(fc.constantFrom(1, 2, 65_535)),
      maximumPacketSizeBytes: optional(fc.constantFrom(1, 5, 20, 60, 1000)),
      topicAliasMaximum: optional(fc.constantFrom(0, 1, 9)),
      requestProblemInformation: optional(fc.boolean()),
      authenticationMethod: optional(fc.constant('TEST')),
    }),
  })
  .map((fields) => connectPacket(fields))

const packet: fc.Arbitrary<Packet> = fc.oneof(
  { weight: 4, arbitrary: connect },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('publish' as const),
      topicName: fc.oneof({ weight: 6, arbitrary: topicName }, { weight: 1, arbitrary: fc.constant('') }),
      payload: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      qos,
      retain: fc.boolean(),
      dup: fc.constant(false),
      packetId,
      properties: fc.record({
        topicAlias: optional(fc.integer({ min: 1, max: 3 })),
        messageExpiryIntervalSeconds: optional(fc.constantFrom(0, 1, 5, 1000)),
        payloadFormatIndicator: optional(fc.constantFrom<0 | 1>(0, 1)),
        userProperties: optional(fc.constant([['k', 'v']] as const)),
        correlationData: optional(fc.constant(Buffer.from([1]))),
      }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('subscribe' as const),
      packetId,
      subscriptions: fc.array(
        fc.record({
          topicFilter,
          qos,
          noLocal: fc.boolean(),
          retainAsPublished: fc.boolean(),
          retainHandling: fc.constantFrom<0 | 1 | 2>(0, 1, 2),
        }),
        { minLength: 1, maxLength: 3 },
      ),
      properties: fc.record({ subscriptionIdentifier: optional(fc.constantFrom(1, 268_435_455)) }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('unsubscribe' as const),
      packetId,
      topicFilters: fc.array(topicFilter, { minLength: 1, maxLength: 2 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constantFrom('puback' as const, 'pubrec' as const, 'pubrel' as const, 'pubcomp' as const),
      packetId,
      reasonCode: fc.constantFrom(0, 0, 0, 0x80, 0x92),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'pingreq' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('disconnect' as const),
      reasonCode: fc.constantFrom(0, 4, 0x80),
      properties: fc.record({ sessionExpiryIntervalSeconds: optional(fc.constantFrom(0, 3, 0xffff_ffff)) }),
    }),
  },
)

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('open' as const), version: fc.constantFrom<ProtocolVersion>(4, 5) }),
  },
  { weight: 20, arbitrary: fc.record({ do: fc.constant('send' as const), packet, cutAt: fc.nat(60) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('corrupt' as const),
      packet,
      at: fc.nat(60),
      byte: fc.nat(255),
      length: fc.nat(80),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('bytes' as const), bytes: fc.uint8Array({ maxLength: 50 }) }) },
  { weight: 6, arbitrary: fc.constant({ do: 'answer' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'drop' as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('stick' as const), stuck: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ do: 'narrow' as const }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), seconds: fc.integer({ min: 1, max: 12 }) }) },
  { weight: 4, arbitrary: fc.constant({ do: 'turn' as const }) },
)

const steps = fc.array(fc.record({ slot: fc.nat(SLOTS - 1), action }), {
  minLength: 5,
  maxLength: 150,
  size: 'max',
})

interface Clients {
  /** The present client of each slot. */
  readonly current: (TestClient | undefined)[]
  readonly all: TestClient[]
}

/** A client that sends CONNECT as its first packet, most of the time. */
function opened(harness: Harness, clients: Clients, slot: number, first?: Packet): TestClient {
  const known = clients.current[slot]
  if (known !== undefined && !known.transport.ended) return known
  const version = first?.type === 'connect' ? first.protocolVersion : 5
  const client = harness.open(version)
  clients.current[slot] = client
  clients.all.push(client)
  if (first?.type !== 'connect') {
    const properties = { sessionExpiryIntervalSeconds: 5 }
    client.send(connectPacket({ clientId: `slot-${slot % 2}`, cleanStart: false, properties }))
  }
  return client
}

/** Answers packets as the protocol requires. */
function answer(client: TestClient): void {
  for (const received of client.takeAll()) {
    if (received.type === 'publish' && received.qos > 0)
      client.acknowledge(received.qos === 1 ? 'puback' : 'pubrec', received.packetId)
    else if (received.type === 'pubrec' && received.reasonCode < 0x80) client.acknowledge('pubrel', received.packetId)
    else if (received.type === 'pubrel') client.acknowledge('pubcomp', received.packetId)
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

function encodeFor(client: TestClient, sent: Packet): Buffer {
  return encodePacket(client.version === 4 && sent.type === 'auth' ? { type: 'pingreq' } : sent, client.version)
}

async function act(harness: Harness, clients: Clients, slot: number, step: Action): Promise<void> {
  const { broker, clock, policy } = harness
  switch (step.do) {
    case 'open':
      clients.current[slot] = harness.open(step.version)
      clients.all.push(clients.current[slot])
      return
    case 'send': {
      // A second CONNECT ends the connection. Now and then it is sent; mostly it goes to a new
      // connection.
      if (step.packet.type === 'connect' && step.cutAt % 8 !== 0) clients.current[slot] = undefined
      const client = opened(harness, clients, slot, step.packet)
      const { packet: sent } = step
      const bytes = encodeFor(client, sent.type === 'connect' ? { ...sent, protocolVersion: client.version } : sent)
      client.sendBytes(bytes.subarray(0, step.cutAt))
      if (step.cutAt < bytes.length) client.sendBytes(bytes.subarray(step.cutAt))
      return
    }
    case 'corrupt': {
      const client = opened(harness, clients, slot, step.packet)
      const bytes = Buffer.from(encodeFor(client, step.packet).subarray(0, step.length))
      if (step.at < bytes.length) bytes[step.at] = step.byte
      client.readsNoMore = true
      client.sendBytes(bytes)
      return
    }
    case 'bytes':
      opened(harness, clients, slot).sendBytes(Buffer.from(step.bytes))
      return
    case 'answer':
      await turn()
      answer(opened(harness, clients, slot))
      return
    case 'drop':
      clients.current[slot]?.drop()
      return
    case 'stick': {
      const client = opened(harness, clients, slot)
      if (step.stuck) client.transport.stuck = true
      else client.transport.unstick()
      return
    }
    case 'narrow': {
      const permit = policy.permits[slot]
      if (permit === undefined || permit.identity === 'bystander') return
      permit.subscribe = (asked) =>
        asked === 'a'
          ? { allowed: true }
          : { allowed: false, reasonCode: 0x87, reason: 'no', code: 'no', untold: 'discard' }
      permit.changed()
      return
    }
    case 'wait':
      clock.advance(broker, step.seconds)
      return
    case 'turn':
      await turn()
  }
}

test('any sequence of packets leaves the broker whole, empty and at the service of others', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const errors: unknown[] = []
      const log = {
        debug: () => {},
        info: () => {},
        warn: () => {},
        error: (fields: object, message: string) => errors.push([message, fields]),
      }
      const engine = new MemoryEngine({ partitions: 3 })
      const limits = {
        maximumSessionExpirySeconds: MAXIMUM_EXPIRY_SECONDS,
        maximumOutgoingBytes: 500,
        maximumInflight: 3,
        receiveMaximum: 4,
        maximumRetainedMessages: 5,
      }
      const harness = await createHarness({ engine, limits, log })
      const { broker, clock } = harness
      const bystander = await harness.connect({ clientId: 'bystander', userName: 'tenant/bystander' })
      await bystander.subscribe('by/#', { qos: 1 })
      const publisher = await harness.connect({ clientId: 'publisher', userName: 'tenant/bystander' })
      let served = 0
      const serve = async (): Promise<void> => {
        await publishFully(publisher, 'by/stander', String((served += 1)), { qos: (served % 3) as QoS })
        const message = await bystander.next('publish')
        assert.equal(message.payload.toString(), String(served))
        if (message.qos === 1) bystander.acknowledge('puback', message.packetId)
        assert.deepEqual(await bystander.sync(), [])
      }
      const clients: Clients = { current: [], all: [] }
      for (const [index, { slot, action: step }] of sequence.entries()) {
        await act(harness, clients, slot, step)
        if (index % 10 === 0) await serve()
      }
      await serve()
      for (const client of clients.all) client.drop()
      clock.advance(broker, MAXIMUM_EXPIRY_SECONDS + 2)
      await turn()
      await serve()
      assert.deepEqual(errors, [])
      const { connections, sessions, subscriptions } = broker.counters
      assert.deepEqual({ connections, sessions, subscriptions }, { connections: 2, sessions: 2, subscriptions: 1 })
      for (let partition = 0; partition < engine.partitions; partition += 1)
        assert.equal(
          broker.delivery.readers.lowestNeeded(partition),
          Infinity,
          'somebody who is gone still reads the log',
        )
      assert.ok(broker.retained.count <= limits.maximumRetainedMessages)
    }),
    fuzzRuns(250),
  )
})
