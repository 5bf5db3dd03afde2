import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { JetStreamApiError } from '@nats-io/jetstream'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Clock, SteadyMs } from '../../clock.ts'
import { NatsLink } from './nats-link.ts'

const PEER_OFFLINE = { code: 400, err_code: 10_005, description: 'no suitable peers for placement, peer offline' }
const NOT_ALLOWED = { code: 503, err_code: 10_039, description: 'JetStream not enabled for account' }

/**
 * Makes a stream with servers that refuse the first requests. Time passes with each request and
 * each wait.
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
  const connection = { subscribe: () => {} } as unknown as NatsConnection
  const link = new NatsLink(connection, { streams: { add } } as unknown as JetStreamManager, clock)
  return async () => {
    await link.addStream({ name: 's' })
    return requests
  }
}

describe('a stream', () => {
  it('is made as soon as the servers see each other', async () => {
    assert.equal(await streamWithRefusals([PEER_OFFLINE, PEER_OFFLINE])(), 3)
  })

  it('tells the refusal of servers that do not see each other for ten seconds', async () => {
    const prepare = streamWithRefusals(
      Array.from({ length: 20 }, () => PEER_OFFLINE),
      1_000,
    )
    await assert.rejects(prepare, { message: /peer offline$/ })
  })

  it('tells any other refusal at once', async () => {
    await assert.rejects(streamWithRefusals([NOT_ALLOWED])(), { message: NOT_ALLOWED.description })
  })
})
