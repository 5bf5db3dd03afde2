import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { JetStreamApiError } from '@nats-io/jetstream'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { systemClock } from '../../clock.ts'
import type { Clock, SteadyMs } from '../../clock.ts'
import { NatsLink } from './nats-link.ts'
import { natsServerProgram } from './nats-server-binary.testing.ts'
import { NatsServers } from './nats-servers.testing.ts'

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

const found = natsServerProgram()

describe('a read of envelopes', () => {
  if ('missing' in found) {
    it('is tested with a server', { skip: found.missing }, () => {})
    return
  }
  const { program } = found
  let servers: NatsServers
  let connection: NatsConnection
  let link: NatsLink

  before(async () => {
    servers = await NatsServers.start({ program, count: 1 })
    connection = await servers.connect()
    link = await NatsLink.over(connection, systemClock)
    await link.addStream({ name: 's', subjects: ['s.>'], allow_direct: true })
    for (const text of ['one', 'two', 'three']) await link.publish('s.a', Buffer.from(text), {}, 5_000)
  })

  after(async () => {
    await servers[Symbol.asyncDispose]()
  })

  const textsFrom = async (sequence: number, count: number): Promise<readonly string[]> =>
    (await link.read('s', sequence, count)).map(({ bytes }) => bytes.toString())

  /** The subscriptions that the server has of all clients. */
  const subscriptions = async (): Promise<number> => {
    // The server has taken all earlier commands when it answers.
    await connection.flush()
    const page = (await (await fetch(`${servers.monitors[0]}/connz`)).json()) as ConnectionsPage
    return page.connections.reduce((sum, one) => sum + one.subscriptions, 0)
  }

  it('gives as many as are asked for, and none after the last one', async () => {
    assert.deepEqual(await textsFrom(1, 2), ['one', 'two'])
    assert.deepEqual(await textsFrom(2, 10), ['two', 'three'])
    assert.deepEqual(await textsFrom(4, 10), [])
    assert.deepEqual(
      (await link.readSince('s', 0, 10)).map(({ sequence }) => sequence),
      [1, 2, 3],
    )
  })

  it('rejects for a stream that does not exist', async () => {
    await assert.rejects(link.read('none', 1, 10), Error)
  })

  it('leaves no subscription at the server', async () => {
    const first = await subscriptions()
    for (let sequence = 1; sequence <= 4; sequence += 1) await link.read('s', sequence, 10)
    assert.equal(await subscriptions(), first)
  })
})

/** The server's answer about its connections, as far as it is read here. */
interface ConnectionsPage {
  readonly connections: readonly { readonly subscriptions: number }[]
}
