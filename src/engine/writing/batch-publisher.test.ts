/** A batch becomes part of the log in slices. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOBODY_FOLLOWS } from '../../broker/ports/engine.ts'
import { TestClock } from '../../clock.testing.ts'
import { Accounts } from '../segments/accounts.ts'
import { SegmentIndex } from '../segments/segment-index.ts'
import { Segment } from '../segments/segment.ts'
import { BatchPublisher } from './batch-publisher.ts'
import type { Batch } from './batch-publisher.ts'
import { waitingWrite } from './log-request.ts'
import { RequestLanes } from './request-lanes.ts'
import { StateStore } from './state-store.ts'

const RECORD_BYTES = 10

/** A clock that says when the event loop would turn. */
class TurnClock extends TestClock {
  turned: () => void = () => {}

  override afterTurn(run: () => void): void {
    this.turned()
    super.afterTurn(run)
  }
}

interface Scene {
  readonly clock: TurnClock
  readonly state: StateStore
  readonly segment: Segment
  readonly publish: () => Promise<void>
}

function failed(): void {
  assert.fail('it is owned')
}

/** A batch of as many changes of state; each caller takes `callerMs` to hear of it. */
function setUp(count: number, callerMs: number): Scene {
  const clock = new TurnClock()
  const state = new StateStore()
  const lanes = new RequestLanes(clock)
  const committed = (): void => clock.advance(callerMs)
  for (let number = 0; number < count; number += 1) {
    lanes.add(
      lanes.of('a'),
      waitingWrite({ changes: [{ key: `${number}`, value: Buffer.alloc(0) }], committed, failed }),
    )
  }
  const bases = new Float64Array(1)
  const segment = new Segment({ number: 1, seal: 1, createdAtMs: 0, bases })
  const accounts = new Accounts()
  segment.index = new SegmentIndex(1, 0, accounts)
  const { requests, runs } = lanes.take()
  for (const [index, waiting] of requests.entries()) waiting.position = index * RECORD_BYTES
  const batch: Batch = { requests, runs, segment, end: count * RECORD_BYTES, ownedAtMs: 0 }
  const publisher = new BatchPublisher({ clock, state, tails: new Float64Array(1), accounts, arrivals: NOBODY_FOLLOWS })
  return { clock, state, segment, publish: () => publisher.publish(batch) }
}

test('the event loop turns every few ms, and the log ends where the state does', async () => {
  const { clock, state, segment, publish } = setUp(320, 1)
  const sizes: number[] = []
  clock.turned = () => {
    sizes.push(state.size)
    assert.equal(segment.length, state.size * RECORD_BYTES)
  }
  await publish()
  const first = 32
  const slices = Array.from({ length: (320 - first) / 4 }, (_, slice) => first + 4 * slice)
  assert.deepEqual(sizes, slices, 'once the work of a request is known, a slice has 4 ms of it')
  assert.deepEqual([state.size, segment.length], [320, 3_200])
})

test('a batch with little to do is published at once', async () => {
  const { clock, state, publish } = setUp(1_000, 0)
  clock.turned = () => assert.fail('there is no reason to wait')
  const published = publish()
  assert.equal(state.size, 1_000)
  await published
})
