import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, test } from 'node:test'
import grpc from '@grpc/grpc-js'
import { apiOf, APPLICATION, FakeChirpStack } from '../../../../test/support/fake-chirpstack.ts'
import { openTestRegistry } from '../../../identity/registry.testing.ts'
import type { Registry } from '../../../identity/registry.ts'
import { syncedRegistry } from '../../../service/synced-registry.ts'
import { describeNetworkServer, TestSink } from '../network-server-contract.testing.ts'
import type { FarSide } from '../network-server-contract.testing.ts'
import type { Downlink, HandOverAnswer } from '../../commands/network-server.ts'
import { SETTLED_MS } from './chirpstack-downlinks.ts'
import { ChirpStackGrpc } from './chirpstack-grpc.ts'
import { ChirpStackSync } from './chirpstack-sync.ts'
import { createCounters } from '../adapter/counters.ts'
import { systemClock } from '../../../clock.ts'
import type { Clock, SteadyMs } from '../../../clock.ts'
import { TestClock } from '../../../clock.testing.ts'
import { silentLogger } from '../../../logger.ts'

const ONE = '0101010101010101'
/** The device to which the contract sends downlinks. */
const CONTRACT_DEVICE = 'a1b2c3d4e5f60001'
const BACKOFF = { minimumMs: 20, maximumMs: 100, random: () => 0 }

function adapterOf(
  chirpStack: FakeChirpStack,
  sink: TestSink,
  registry: Registry,
  clock: Pick<Clock, 'steady' | 'after'> = systemClock,
): ChirpStackGrpc {
  const api = apiOf(chirpStack)
  const parts = {
    name: 'main',
    api,
    registry: syncedRegistry(registry),
    tenants: undefined,
    clock: systemClock,
    log: silentLogger,
  }
  return new ChirpStackGrpc('main', {
    api,
    sync: new ChirpStackSync(parts, [APPLICATION]),
    syncIntervalMs: 3_600_000,
    sink,
    clock,
    backoff: BACKOFF,
    counters: createCounters(),
    log: silentLogger,
  })
}

function noEvents(): Promise<void> {
  return Promise.reject(new Error('no events come by gRPC'))
}

async function openFar(sink: TestSink): Promise<FarSide> {
  const chirpStack = new FakeChirpStack()
  chirpStack.devices.get(APPLICATION)?.set(CONTRACT_DEVICE, { name: 'Meter' })
  await chirpStack.start()
  const opened = await openTestRegistry()
  const adapter = adapterOf(chirpStack, sink, opened.registry)
  return {
    adapter,
    applicationId: APPLICATION,
    sendEvent: noEvents,
    allDealtWith: noEvents,
    sendAgain: noEvents,
    nextDownlink: () => chirpStack.nextDownlink(),
    refuseDownlinks: async () => {
      chirpStack.fault = { code: grpc.status.INVALID_ARGUMENT, details: 'the payload is too long' }
    },
    goAway: async () => chirpStack.stop(),
    comeBack: () => chirpStack.start(),
    close: async () => {
      await adapter.close()
      chirpStack.stop()
      await opened[Symbol.asyncDispose]()
    },
  }
}

describeNetworkServer({
  name: 'ChirpStack v4 by gRPC',
  open: openFar,
  skip: { events: 'its events come over MQTT or as webhooks' },
})

test('an adapter that closes leaves no timer for the next synchronisation', async () => {
  const chirpStack = new FakeChirpStack()
  await chirpStack.start()
  await using opened = await openTestRegistry()
  const clock = new TestClock()
  const adapter = adapterOf(chirpStack, new TestSink(), opened.registry, clock)
  while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
  await adapter.close()
  assert.equal(clock.pending, 0)
  chirpStack.stop()
})

describe('a downlink to ChirpStack by gRPC', () => {
  let chirpStack: FakeChirpStack
  let sink: TestSink
  let adapter: ChirpStackGrpc
  let opened: Awaited<ReturnType<typeof openTestRegistry>>
  let nowMs: number

  beforeEach(async () => {
    nowMs = 0
    chirpStack = new FakeChirpStack()
    chirpStack.devices.get(APPLICATION)?.set(ONE, { name: 'Meter' })
    await chirpStack.start()
    opened = await openTestRegistry()
    sink = new TestSink()
    adapter = adapterOf(chirpStack, sink, opened.registry, { ...systemClock, steady: () => nowMs as SteadyMs })
    await sink.until('ready', () => sink.readyCount > 0)
  })

  afterEach(async () => {
    await adapter.close()
    chirpStack.stop()
    await opened[Symbol.asyncDispose]()
  })

  const { status } = grpc
  // ChirpStack answers the question for the device at the same time. The last value is the answer's
  // `isInDoubt`.
  const answers: readonly (readonly [number, string, HandOverAnswer['outcome'], boolean?])[] = [
    [status.NOT_FOUND, 'Object does not exist', 'refused'],
    [status.INVALID_ARGUMENT, 'Validation error: FPort must be between 1 - 255', 'refused'],
    [status.FAILED_PRECONDITION, 'no', 'refused'],
    [status.OUT_OF_RANGE, 'no', 'refused'],
    [status.UNIMPLEMENTED, 'no', 'refused'],
    [status.UNAVAILABLE, 'connection lost', 'away', true],
    [status.DEADLINE_EXCEEDED, 'too late', 'away', true],
    [status.RESOURCE_EXHAUSTED, 'too many', 'away', true],
    [status.INTERNAL, 'the database is gone', 'away', true],
    [status.ALREADY_EXISTS, 'Object already exists', 'refused'],
  ]
  for (const [code, details, outcome, isInDoubt] of answers) {
    it(`that is answered ${status[code]} "${details}" is ${outcome}`, async () => {
      chirpStack.faults.set('enqueue', { code, details })
      const answer = await adapter.handOver(downlink())
      assert.equal(answer.outcome, outcome)
      assert.equal(answer.outcome === 'taken' ? '' : answer.reason, details)
      assert.equal(answer.outcome === 'away' ? answer.isInDoubt : undefined, isInDoubt)
    })
  }

  it('waits, and is in no doubt, while ChirpStack can’t be reached', async () => {
    chirpStack.stop()
    const heard: HandOverAnswer[] = []
    // The first call may have been under way when the connection broke.
    for (let ready = sink.readyCount; heard.length < 2; ready = sink.readyCount) {
      heard.push(await adapter.handOver(downlink()))
      await sink.until('ready', () => sink.readyCount > ready)
    }
    assert.deepEqual(
      heard.map(({ outcome }) => outcome),
      ['away', 'away'],
    )
    assert.equal(heard[1]?.outcome === 'away' && heard[1].isInDoubt, false)
  })

  it('waits for an API key that is put right, whatever device it is for', async () => {
    chirpStack.fault = { code: status.UNAUTHENTICATED, details: 'InvalidToken' }
    const answer = await adapter.handOver(downlink())
    assert.deepEqual(answer, { outcome: 'away', reason: 'the API key: InvalidToken' })
  })

  it('is refused for a device that ChirpStack does not have, at once', async () => {
    const gone = { ...downlink(), devEui: '0909090909090909' }
    assert.deepEqual(await adapter.handOver(gone), { outcome: 'refused', reason: 'ChirpStack has no such device' })
    // A tenant's key gets this answer for everything that it may not see.
    const denied = { code: status.UNAUTHENTICATED, details: '' }
    for (const call of ['enqueue', 'device']) chirpStack.faults.set(call, denied)
    assert.deepEqual(await adapter.handOver(gone), { outcome: 'refused', reason: 'ChirpStack has no such device' })
  })

  it('that causes internal errors for a minute is refused, because others wait behind it', async () => {
    chirpStack.faults.set('enqueue', { code: status.INTERNAL, details: 'index out of bounds' })
    const outcomes: string[] = []
    for (nowMs of [0, 100, 200, 300, 59_999, 60_000]) outcomes.push((await adapter.handOver(downlink())).outcome)
    assert.deepEqual(outcomes, ['away', 'away', 'away', 'away', 'away', 'refused'])
  })

  it('never fails because of a database that is away, however long', async () => {
    chirpStack.fault = { code: status.INTERNAL, details: '' }
    for (nowMs of [0, 60_000, 3_600_000]) {
      const ready = sink.readyCount
      const answer = await adapter.handOver(downlink())
      assert.deepEqual(answer, { outcome: 'away', reason: 'no words, but INTERNAL', isInDoubt: true })
      await sink.until('ready', () => sink.readyCount > ready)
    }
  })

  it('is not asked for again until a while after a failure, however often it is offered', async () => {
    chirpStack.fault = { code: status.INTERNAL, details: '' }
    const heard = [await adapter.handOver(downlink())]
    const calls = chirpStack.calls.length
    for (let times = 0; times < 20; times += 1) heard.push(await adapter.handOver(downlink()))
    assert.deepEqual(new Set(heard.map(({ outcome }) => outcome)), new Set(['away']))
    assert.equal(chirpStack.calls.length, calls)
  })

  it('that replaces removes the unsent items from the queue, and lists them', async () => {
    const sent = await takenId(downlink())
    chirpStack.queues.get(ONE)?.[0]?.setIsPending(true)
    const waiting = await takenId(downlink())
    const answer = await adapter.handOver({ ...downlink(), replaces: true })
    assert.deepEqual(answer.outcome === 'taken' && answer.recalledIds, [waiting])
    const left = (chirpStack.queues.get(ONE) ?? []).map((item) => item.getId())
    assert.deepEqual(left, [sent, answer.outcome === 'taken' ? answer.networkServerItemId : ''])
  })

  it('is forgotten by ChirpStack when the queue is flushed, unless it was sent', async () => {
    const sent = await takenId(downlink())
    chirpStack.queues.get(ONE)?.[0]?.setIsPending(true)
    // Nothing can be recalled, and flushing would lose the acknowledgement.
    assert.deepEqual(await adapter.flush(ONE), [])
    assert.deepEqual(chirpStack.flushed, [])
    const waiting = await takenId(downlink())
    assert.deepEqual(await adapter.flush(ONE), [waiting])
    assert.deepEqual([chirpStack.flushed, sent === waiting], [[ONE], false])
  })

  it('with an object goes as it is, and is refused when the device’s profile has no codec', async () => {
    const asObject = { ...downlink(), data: undefined, object: { led: [1, 'on', null, { deep: true }] } }
    await takenId(asObject)
    assert.deepEqual(chirpStack.enqueued.at(-1)?.object, asObject.object)
    chirpStack.hasCodec = false
    const answer = await adapter.handOver(asObject)
    assert.equal(answer.outcome, 'refused')
    assert.match(answer.outcome === 'refused' ? answer.reason : '', /^object: .* has no codec/)
    chirpStack.hasCodec = true
    const details = 'JS error: Error: bad thing\n    at encodeDownlink (main:5:55)'
    chirpStack.faults.set('enqueue', { code: status.INTERNAL, details })
    assert.equal((await adapter.handOver(asObject)).outcome, 'refused')
  })

  describe('in doubt', () => {
    const doubt = { forMs: 60_000, otherIds: new Set<string>(), unclaimedIds: [] }

    it('is found in the queue, and not enqueued again', async () => {
      const expiring = { ...downlink(), expiresAtMs: 1_900_000_000_123 }
      const id = await takenId(expiring)
      assert.equal(await takenId({ ...expiring, doubt }), id)
      assert.equal(chirpStack.enqueued.length, 1)
    })

    it('is not taken for another one that differs in anything, or is known to be another command', async () => {
      const known = await takenId(downlink())
      const others = [{ fPort: 2 }, { confirmed: true }, { data: Buffer.from([2]) }, { expiresAtMs: 1_900_000_000_000 }]
      for (const other of others) await takenId({ ...downlink(), ...other })
      const enqueued = await takenId({ ...downlink(), doubt: { ...doubt, otherIds: new Set([known]) } })
      assert.deepEqual([chirpStack.enqueued.length, chirpStack.enqueued.at(-1)?.id], [6, enqueued])
    })

    it('among equal ones is the one that belongs to no known command', async () => {
      const first = await takenId(downlink())
      const second = await takenId(downlink())
      const otherIds = new Set([first])
      assert.equal(await takenId({ ...downlink(), doubt: { ...doubt, otherIds } }), second)
    })

    it('that is not in the queue is the one that an event has named', async () => {
      const other = await takenId({ ...downlink(), fPort: 2 })
      const unclaimedIds = [other, APPLICATION]
      assert.equal(await takenId({ ...downlink(), doubt: { ...doubt, unclaimedIds } }), APPLICATION)
    })

    it('that is not in the queue waits until a late event would have come, then is enqueued', async () => {
      const answer = await adapter.handOver({ ...downlink(), doubt: { ...doubt, forMs: SETTLED_MS - 1 } })
      assert.deepEqual([answer.outcome, chirpStack.enqueued.length], ['away', 0])
      await takenId({ ...downlink(), doubt: { ...doubt, forMs: SETTLED_MS } })
      assert.equal(chirpStack.enqueued.length, 1)
    })

    it('stays in doubt while the queue can’t be read', async () => {
      chirpStack.fault = { code: status.INTERNAL, details: '' }
      const answer = await adapter.handOver({ ...downlink(), doubt })
      assert.equal(answer.outcome === 'away' && answer.isInDoubt, true)
    })
  })

  async function takenId(offered: Downlink): Promise<string> {
    const answer = await adapter.handOver(offered)
    assert.equal(answer.outcome, 'taken')
    return (answer.outcome === 'taken' && answer.networkServerItemId) || ''
  }
})

function downlink(): Downlink {
  const data = Buffer.from([1])
  return {
    id: APPLICATION,
    applicationId: APPLICATION,
    devEui: ONE,
    confirmed: false,
    fPort: 1,
    data,
    expiresAtMs: undefined,
  }
}
