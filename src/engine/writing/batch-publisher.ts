/**
 * The last step of a batch: its records become part of the log, and the callers are told. One
 * caller may have much to do then, for example to send a message to a thousand subscribers. So a
 * batch is published in slices, and the event loop turns between them.
 */
import assert from 'node:assert'
import type { Arrivals } from '../../broker/ports/engine.ts'
import type { Clock } from '../../clock.ts'
import type { Accounts } from '../segments/accounts.ts'
import type { Segment } from '../segments/segment.ts'
import { KnownTopics } from '../segments/topic-branch.ts'
import { tellFailed } from './log-request.ts'
import type { Waiting } from './log-request.ts'
import { measured } from './request-lanes.ts'
import type { Lane, Taken } from './request-lanes.ts'
import type { StateStore } from './state-store.ts'

/** After this time the event loop turns before the batch goes on, ms. */
const SLICE_MS = 4
/** The most requests that are published between two looks at the clock. */
const MAXIMUM_STEP = 32
/**
 * The work between two looks at the clock, as measured for the owner, ms. A message to a thousand
 * subscribers takes longer than a slice, and is then published alone.
 */
const STEP_MS = 1

/** The requests of one batch, and the place in the log that they were written to. */
export interface Batch extends Taken {
  /** The segment of the batch; known when the batch is on disk. */
  segment: Segment | undefined
  end: number
  ownedAtMs: number
}

export interface BatchPublisherOptions {
  readonly clock: Clock
  readonly state: StateStore
  /** By partition: the offset behind the last committed message. The publisher moves it. */
  readonly tails: Float64Array
  /** The accounts of stored bytes. */
  readonly accounts: Accounts
  readonly arrivals: Arrivals
}

export class BatchPublisher {
  readonly #clock: Clock
  readonly #state: StateStore
  readonly #tails: Float64Array
  readonly #topics: KnownTopics
  readonly #arrivals: Arrivals

  constructor({ clock, state, tails, accounts, arrivals }: BatchPublisherOptions) {
    this.#clock = clock
    this.#state = state
    this.#tails = tails
    this.#arrivals = arrivals
    this.#topics = new KnownTopics(accounts)
  }

  /** Publishes a batch that is on disk. Resolves when all callers are told. */
  async publish(batch: Batch): Promise<void> {
    let at = 0
    let beganAtMs = this.#clock.steady()
    let nowMs = beganAtMs
    for (const { lane, end } of batch.runs) {
      while (at < end) {
        if (nowMs - beganAtMs >= SLICE_MS) {
          await new Promise<void>((resolve) => this.#clock.afterTurn(resolve))
          beganAtMs = nowMs = this.#clock.steady()
        }
        const to = Math.min(at + stepOf(lane), end)
        this.#publishStep(batch, at, to)
        const beforeMs = nowMs
        nowMs = this.#clock.steady()
        measured(lane, nowMs - beforeMs, to - at)
        at = to
      }
    }
  }

  #publishStep(batch: Batch, from: number, to: number): void {
    const { requests, segment, ownedAtMs } = batch
    assert(segment?.index !== undefined)
    const { index } = segment
    const { shares } = index
    // Not further: a snapshot of the state, which may begin between two slices, stands for the log
    // before this place.
    segment.length = positionOf(batch, to)
    for (let at = from; at < to; at += 1) {
      const waiting = requests[at] as Waiting
      const { append, write, partition, offset, failure } = waiting
      if (failure !== undefined) tellFailed(waiting, failure)
      else if (append === undefined) {
        this.#state.apply(write.changes)
        write.committed()
      } else {
        const { message, changes } = append
        const { branch, account } = this.#topics.of(message.topicName)
        const number = shares.numberOf(account)
        index.add(partition, offset, waiting.position, ownedAtMs, branch, number)
        shares.add(number, waiting.length)
        segment.sawTime(ownedAtMs)
        this.#tails[partition] = offset + 1
        segment.ends[partition] = offset + 1
        message.partition = partition
        message.offset = offset
        message.ownedAtMs = ownedAtMs
        if (changes !== undefined) this.#state.apply(changes)
        this.#arrivals.arrived(message)
        append.committed(offset)
      }
    }
  }
}

/** The requests of the lane that are published between two looks at the clock. */
function stepOf({ work: { requestMs = 0 } }: Lane): number {
  return requestMs * MAXIMUM_STEP <= STEP_MS ? MAXIMUM_STEP : Math.max(1, Math.floor(STEP_MS / requestMs))
}

/** The place in the segment of the first stored request from this one on. */
function positionOf({ requests, end }: Batch, from: number): number {
  for (let at = from; at < requests.length; at += 1) {
    const { position, failure } = requests[at] as Waiting
    if (failure === undefined) return position
  }
  return end
}
