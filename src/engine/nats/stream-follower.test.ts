import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Msg } from '@nats-io/transport-node'
import { headers } from '@nats-io/transport-node'
import { TestClock } from '../../clock.testing.ts'
import type { StoredEnvelope } from './nats-link.ts'
import { StreamFollower } from './stream-follower.ts'
import type { FollowedLink } from './stream-follower.ts'

/** A look comes at the latest after this time, ms. */
const LOOK_MS = 250

/** A stream whose envelopes reach the follower when the test says so. */
class TestStream {
  readonly clock = new TestClock()
  readonly arrived: number[] = []
  readonly reads: number[] = []
  readonly follower: StreamFollower
  isAway = false
  isSubscribed = true
  #stored: readonly number[] = []
  #callback: (error: Error | null, message: Msg) => void = () => {}

  constructor() {
    const link: FollowedLink = {
      connection: {
        subscribe: (_subject, { callback }) => {
          this.#callback = callback
          return {
            unsubscribe: () => {
              this.isSubscribed = false
            },
          }
        },
      },
      read: (_stream, from) => {
        this.reads.push(from)
        if (this.isAway) return Promise.reject(new Error('nobody answers'))
        return Promise.resolve(this.#stored.filter((sequence) => sequence >= from).map(envelope))
      },
    }
    const arrived = ({ sequence }: StoredEnvelope): void => {
      this.arrived.push(sequence)
    }
    this.follower = new StreamFollower({ link, clock: this.clock, stream: 's', tailSubject: 's.tail.>', arrived })
  }

  /** The stream has exactly these envelopes. */
  store(...sequences: readonly number[]): void {
    this.#stored = sequences
  }

  /** The stream's leader publishes these again. */
  publish(...sequences: readonly number[]): void {
    for (const sequence of sequences) this.#callback(null, republished(sequence))
  }

  /** Lets time pass, and everything that is due happen. */
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms)
    await new Promise(setImmediate)
  }
}

function envelope(sequence: number): StoredEnvelope {
  return { sequence, subject: 's.at.a', ownedAtMs: 0, bytes: Buffer.alloc(0) }
}

function republished(sequence: number): Msg {
  const head = headers()
  head.set('Nats-Sequence', `${sequence}`)
  head.set('Nats-Subject', 's.at.a')
  head.set('Nats-Time-Stamp', '2026-01-01T00:00:00.000000001Z')
  return { headers: head, data: new Uint8Array() } as unknown as Msg
}

describe('a follower of a stream', () => {
  test('gives envelopes on as they come', () => {
    const stream = new TestStream()
    stream.follower.begin(4)
    stream.publish(5, 6, 7)
    assert.deepEqual(stream.arrived, [5, 6, 7])
  })

  test('keeps those that come before it begins, and leaves out what is known', () => {
    const stream = new TestStream()
    stream.publish(3, 4, 5)
    assert.deepEqual(stream.arrived, [])
    stream.follower.begin(4)
    assert.deepEqual(stream.arrived, [5])
  })

  test('puts them in order, each once', () => {
    const stream = new TestStream()
    stream.follower.begin(0)
    stream.publish(3, 2, 3)
    assert.deepEqual(stream.arrived, [])
    stream.publish(1, 1, 2)
    assert.deepEqual(stream.arrived, [1, 2, 3])
  })

  test('reads what got lost on the way', async () => {
    const stream = new TestStream()
    stream.follower.begin(0)
    stream.store(1, 2, 3)
    stream.publish(1, 3)
    assert.deepEqual(stream.arrived, [1])
    await stream.pass(LOOK_MS)
    assert.deepEqual(stream.reads, [2])
    assert.deepEqual(stream.arrived, [1, 2, 3])
  })

  test('reads an acknowledged envelope that did not come', async () => {
    const stream = new TestStream()
    stream.follower.begin(0)
    stream.store(1)
    stream.follower.expect(1)
    await stream.pass(LOOK_MS)
    assert.deepEqual(stream.arrived, [1])
  })

  test('asks the stream when nothing has come for a while', async () => {
    const stream = new TestStream()
    stream.follower.begin(0)
    await stream.pass(LOOK_MS)
    assert.deepEqual(stream.arrived, [])
    stream.store(1)
    await stream.pass(LOOK_MS)
    assert.deepEqual(stream.arrived, [1])
  })

  test('goes on behind envelopes that retention took', async () => {
    const stream = new TestStream()
    stream.follower.begin(0)
    stream.store(8, 9)
    stream.publish(9)
    await stream.pass(LOOK_MS)
    assert.deepEqual(stream.arrived, [8, 9])
    stream.publish(10)
    assert.deepEqual(stream.arrived, [8, 9, 10])
  })

  test('tries again while no server answers', async () => {
    const stream = new TestStream()
    stream.isAway = true
    stream.follower.begin(0)
    stream.publish(2)
    await stream.pass(LOOK_MS)
    assert.deepEqual(stream.arrived, [])
    stream.isAway = false
    stream.store(1, 2)
    await stream.pass(LOOK_MS)
    assert.deepEqual(stream.arrived, [1, 2])
  })

  test('ends with its owner', async () => {
    const stream = new TestStream()
    stream.follower.begin(0)
    stream.follower.close()
    stream.publish(1)
    stream.store(1)
    await stream.pass(LOOK_MS)
    assert.deepEqual(stream.arrived, [])
    assert.equal(stream.isSubscribed, false)
    assert.equal(stream.clock.pending, 0)
  })
})
