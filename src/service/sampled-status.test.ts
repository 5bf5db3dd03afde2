import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCounters } from '../broker/ports/counters.ts'
import type { SteadyMs } from '../clock.ts'
import { SampledStatus } from './sampled-status.ts'
import type { StatusParts } from './sampled-status.ts'

function partsOf(overrides: Partial<StatusParts> = {}) {
  let nowMs = 1_000_000
  const counters = createCounters()
  const parts: StatusParts = {
    version: '1.2.3',
    runtime: 'Bun 1.4.5',
    clock: { now: () => nowMs, steady: () => nowMs as SteadyMs },
    broker: { counters, isClosing: false, isDraining: false },
    engine: {
      health: () => ({ canWrite: true, reason: '' }),
      usage: () => ({ messages: 4, bytes: 500, oldestAtMs: 7 }),
    },
    retention: { days: 7, bytes: 1_000 },
    readRegistry: async () => undefined,
    disk: async () => ({ freeBytes: 1e10, totalBytes: 1e11 }),
    takeEventLoopDelayMs: () => 3,
    memoryBytes: () => 42,
    nearBounds: { nearest: [] },
    readServers: async () => [],
    ...overrides,
  }
  const pass = (status: SampledStatus, seconds: number): void => {
    for (let second = 0; second < seconds; second += 1) {
      nowMs += 1_000
      status.tick()
    }
  }
  return { parts, counters, pass }
}

test('throughput is sampled each five seconds, and kept for a quarter of an hour', async () => {
  const { parts, counters, pass } = partsOf()
  const status = new SampledStatus(parts)
  counters.publishesReceived += 50
  counters.bytesSent += 1_000
  pass(status, 5)
  const [sample, ...more] = (await status.numbers()).load
  assert.deepEqual(more, [])
  assert.deepEqual(sample, {
    atMs: 1_005_000,
    messagesInPerSecond: 10,
    messagesOutPerSecond: 0,
    bytesInPerSecond: 0,
    bytesOutPerSecond: 200,
    connections: 0,
    eventLoopDelayMs: 3,
  })
  pass(status, 3_600)
  const { load } = await status.numbers()
  assert.equal(load.length, 180)
  assert.equal(load.at(-1)?.messagesInPerSecond, 0)
  assert.equal((load.at(-1)?.atMs ?? 0) - (load[0]?.atMs ?? 0), 895_000)
})

test('each part that is not well says why, and a disk that tells nothing is not to blame', async () => {
  const ill = new SampledStatus(
    partsOf({
      broker: { counters: createCounters(), isClosing: true, isDraining: true },
      engine: {
        health: () => ({ canWrite: false, reason: 'the disk is full' }),
        usage: () => ({ messages: 0, bytes: 0, oldestAtMs: undefined }),
      },
      readRegistry: async () => Promise.reject(new Error('SQLITE_IOERR')),
      disk: async () => ({ freeBytes: 3 * 1_048_576, totalBytes: 1e11 }),
    }).parts,
  )
  assert.deepEqual(
    (await ill.health()).map(({ name, isWell, reason }) => [name, isWell, reason]),
    [
      ['broker', false, 'the service is shutting down'],
      ['messages', false, 'the disk is full'],
      ['registry', false, 'the registry can not be read'],
      ['disk', false, 'the data directory has 3 MiB free, which is little'],
    ],
  )
  const silent = new SampledStatus(partsOf({ disk: async () => Promise.reject(new Error('ENOSYS')) }).parts)
  assert.ok((await silent.health()).every(({ isWell }) => isWell))
  assert.equal((await silent.numbers()).disk, undefined)
})
