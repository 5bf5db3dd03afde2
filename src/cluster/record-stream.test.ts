import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { JetStreamApiError } from '@nats-io/jetstream'
import type { Clock, SteadyMs } from '../clock.ts'
import type { NatsLink } from '../engine/nats/nats-link.ts'
import { RecordStream } from './record-stream.ts'

const PEER_OFFLINE = { code: 400, err_code: 10_005, description: 'no suitable peers for placement, peer offline' }
const NOT_ALLOWED = { code: 503, err_code: 10_039, description: 'JetStream not enabled for account' }

/**
 * A stream whose servers refuse the first requests. Time passes with each request and each wait.
 */
function streamWithRefusals(refusals: readonly (typeof PEER_OFFLINE)[], msOfARequest = 1): () => Promise<number> {
  let nowMs = 0
  let requests = 0
  const pass = (ms: number, run: () => void): void => {
    nowMs += ms
    queueMicrotask(run)
  }
  const clock = { steady: () => nowMs as SteadyMs, after: pass } as unknown as Clock
  const add = (): Promise<void> => {
    const refusal = refusals[requests]
    requests += 1
    nowMs += msOfARequest
    return refusal === undefined ? Promise.resolve() : Promise.reject(new JetStreamApiError(refusal))
  }
  const link = { manager: { streams: { add } } } as unknown as NatsLink
  const stream = new RecordStream({ link, clock, stream: 's', replicas: 3, incarnation: 'i' })
  return async () => {
    await stream.prepare()
    return requests
  }
}

describe('the stream of records', () => {
  it('is made as soon as the servers see each other', async () => {
    assert.equal(await streamWithRefusals([PEER_OFFLINE, PEER_OFFLINE])(), 3)
  })

  it('tells the refusal of servers that do not see each other for ten seconds', async () => {
    const prepare = streamWithRefusals(
      Array.from({ length: 20 }, () => PEER_OFFLINE),
      1_000,
    )
    await assert.rejects(prepare, { name: 'RecordsUnreachableError', message: /peer offline$/ })
  })

  it('tells any other refusal at once', async () => {
    await assert.rejects(streamWithRefusals([NOT_ALLOWED])(), { message: NOT_ALLOWED.description })
  })
})
