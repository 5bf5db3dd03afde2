import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import grpc from '@grpc/grpc-js'
import { apiOf, APPLICATION, FakeChirpStack } from '../../../test/support/fake-chirpstack.ts'
import { openTestRegistry } from '../../identity/registry.testing.ts'
import type { Registry } from '../../identity/registry.ts'
import { syncedRegistry } from '../../synced-registry.ts'
import { describeNetworkServer, TestSink } from '../network-server-contract.testing.ts'
import type { FarSide } from '../network-server-contract.testing.ts'
import type { Downlink } from '../network-server.ts'
import { ChirpStackGrpc } from './chirpstack-grpc.ts'
import { ChirpStackSync } from './chirpstack-sync.ts'
import { createCounters } from './counters.ts'
import { systemTimers } from './timers.ts'

const ONE = '0101010101010101'
const BACKOFF = { minimumMs: 20, maximumMs: 100, random: () => 0 }
const silent = { info: () => {}, warn: () => {}, error: () => {} }

function adapterOf(chirpStack: FakeChirpStack, sink: TestSink, registry: Registry): ChirpStackGrpc {
  const api = apiOf(chirpStack)
  const parts = {
    name: 'main',
    api,
    registry: syncedRegistry(registry),
    tenants: undefined,
    nowMs: () => 0,
    log: silent,
  }
  return new ChirpStackGrpc('main', {
    api,
    sync: new ChirpStackSync(parts, [APPLICATION]),
    syncIntervalMs: 3_600_000,
    sink,
    timers: systemTimers,
    backoff: BACKOFF,
    counters: createCounters(),
    log: silent,
  })
}

function noEvents(): Promise<void> {
  return Promise.reject(new Error('no events come by gRPC'))
}

async function openFar(sink: TestSink): Promise<FarSide> {
  const chirpStack = new FakeChirpStack()
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

describe('a downlink to ChirpStack by gRPC', () => {
  let chirpStack: FakeChirpStack
  let adapter: ChirpStackGrpc
  let opened: Awaited<ReturnType<typeof openTestRegistry>>

  beforeEach(async () => {
    chirpStack = new FakeChirpStack()
    await chirpStack.start()
    opened = await openTestRegistry()
    const sink = new TestSink()
    adapter = adapterOf(chirpStack, sink, opened.registry)
    await sink.until('ready', () => sink.readyCount > 0)
  })

  afterEach(async () => {
    await adapter.close()
    chirpStack.stop()
    await opened[Symbol.asyncDispose]()
  })

  const { status } = grpc
  const answers: readonly (readonly [number, string, 'taken' | 'away' | 'refused'])[] = [
    [status.NOT_FOUND, 'Object does not exist', 'refused'],
    [status.INVALID_ARGUMENT, 'FPort must be between 1 - 255', 'refused'],
    [status.FAILED_PRECONDITION, 'no', 'refused'],
    [status.OUT_OF_RANGE, 'no', 'refused'],
    [status.UNIMPLEMENTED, 'no', 'refused'],
    [status.UNAVAILABLE, 'connection refused', 'away'],
    [status.DEADLINE_EXCEEDED, 'too late', 'away'],
    [status.RESOURCE_EXHAUSTED, 'too many', 'away'],
    [status.UNAUTHENTICATED, 'invalid token', 'away'],
    [status.PERMISSION_DENIED, 'no', 'away'],
    [status.INTERNAL, 'the database is gone', 'away'],
    [status.ALREADY_EXISTS, 'Object already exists', 'taken'],
    [status.INTERNAL, 'duplicate key value violates unique constraint', 'taken'],
  ]
  for (const [code, details, outcome] of answers) {
    it(`that is answered ${status[code]} "${details}" is ${outcome}`, async () => {
      chirpStack.fault = { code, details }
      const answer = await adapter.handOver(downlink())
      assert.equal(answer.outcome, outcome)
      if (answer.outcome !== 'taken') assert.equal(answer.reason, details)
    })
  }

  it('that brings about an internal error five times is refused, for those behind it wait', async () => {
    chirpStack.fault = { code: status.INTERNAL, details: 'index out of bounds' }
    const outcomes: string[] = []
    for (let times = 0; times < 5; times += 1) outcomes.push((await adapter.handOver(downlink())).outcome)
    assert.deepEqual(outcomes, ['away', 'away', 'away', 'away', 'refused'])
  })

  it('is forgotten by ChirpStack when the queue is flushed', async () => {
    await assert.rejects(adapter.flush(ONE), /no answer is needed/)
    assert.deepEqual(chirpStack.flushed, [ONE])
  })
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
