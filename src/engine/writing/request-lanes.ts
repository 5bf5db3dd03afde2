/**
 * The requests that wait for the log, in lanes: a lane for each owner, and one for the service's
 * own requests. While one owner alone is at work, a batch takes everything that waits. While
 * several are at work, a batch takes from their lanes in turn, and no more than a few ms of work.
 * So a request waits for the batch that is on its way, and not for another owner's thousands.
 */
import type { Clock } from '../../clock.ts'
import type { Waiting } from './log-request.ts'

/**
 * The approximate bytes of one batch. Bounds the time that one write and sync take, and the
 * encoding in one turn of the event loop.
 */
const MAXIMUM_BATCH_BYTES = 4_194_304
/**
 * The work of one batch while several owners are at work, ms. A request of another owner waits for
 * that much work, or for the disk.
 */
const BATCH_MS = 4
/**
 * The most work of such a batch, ms, where the disk takes long for a sync. Else the service would
 * idle while the disk works.
 */
const MAXIMUM_BATCH_MS = 16
/** The work that one lane may add to a batch before it is the next lane's turn, ms. */
const TURN_MS = 1
/** Bytes that the disk takes in a ms. A careful guess: large messages wait for the disk. */
const BYTES_PER_MS = 262_144
/**
 * The least work of a request, ms. Bounds the number of requests in a turn, however cheap the
 * owner's requests have been so far.
 */
const LEAST_MS = 1 / 128
/** The work of a request before any was measured, ms. */
const UNMEASURED_MS = 1 / 32
/** Requests over which an owner's work is averaged. The clock counts whole ms. */
const MEASURED_REQUESTS = 64
/** After this time the average is taken over fewer requests: they are expensive, ms. */
const MEASURED_MS = 8
/** An owner counts as at work for this time after its last request, ms. */
const AT_WORK_MS = 1_000

/** The requests of one owner that wait. */
export interface Lane {
  requests: Waiting[]
  /** The number of first requests that were taken already. */
  taken: number
  bytes: number
  /**
   * The work that the lane may add in its present turn, ms. Below 0: it took more than its turn.
   */
  creditMs: number
  readonly work: Work
  /** The work of the requests of all lanes. */
  readonly allWork: Work
  /** When a batch last took requests of the lane. */
  usedAtMs: number
  /** The number of the last batch that took requests of the lane. */
  batch: number
  /** True for the rest of a turn in which a message of the lane was refused. */
  refusesMessages: boolean
  refusesState: boolean
}

/** A measure of the work that requests make, beside the writing of their bytes. */
export interface Work {
  /** The average work of a request, ms; undefined before it is known. */
  requestMs: number | undefined
  measuredMs: number
  measuredRequests: number
}

/** Requests of one lane that stand together in a batch. */
export interface Run {
  readonly lane: Lane
  /** The index of the first request behind the run. */
  readonly end: number
}

export interface Taken {
  readonly requests: readonly Waiting[]
  readonly runs: readonly Run[]
}

export class RequestLanes {
  readonly #clock: Clock
  readonly #allWork: Work = createWork()
  /**
   * The service's own requests. They go before all others: a request of an owner never is owned
   * before a request that the service made earlier.
   */
  readonly own: Lane = createLane(0, this.#allWork)
  /** The lanes of the owners at work. */
  readonly #lanes = new Map<string, Lane>()
  /**
   * Lanes with requests that the last batch had no requests of, in the order of their first
   * request. They go before the lanes that always have requests: whoever sends little does not
   * wait.
   */
  readonly #sparse: Lane[] = []
  /** The other lanes with requests; the lane whose turn is next first. */
  readonly #busy: Lane[] = []
  #lastOwner: string | undefined
  #lastLane: Lane
  #batch = 0
  #sweptAtMs: number = -Infinity
  #count = 0
  #bytes = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#lastLane = this.own
  }

  /** The number of requests that wait. */
  get count(): number {
    return this.#count
  }

  /** The bytes of the requests that wait. */
  get bytes(): number {
    return this.#bytes
  }

  /** The lane of the owner; undefined: the service itself. */
  of(owner: string | undefined): Lane {
    return owner === this.#lastOwner ? this.#lastLane : this.#laneOf(owner)
  }

  /** Adds a request behind the lane's others, in the turn in which `of` gave the lane. */
  add(lane: Lane, waiting: Waiting): void {
    if (lane.requests.length === lane.taken && lane !== this.own) {
      if (lane.batch < this.#batch) this.#sparse.push(lane)
      else this.#busy.push(lane)
    }
    lane.requests.push(waiting)
    lane.bytes += waiting.bytes
    this.#count += 1
    this.#bytes += waiting.bytes
  }

  /**
   * Takes the requests of the next batch: at least one, where any waits. `spareMs` is the time for
   * which the last batches waited for the disk alone.
   */
  take(spareMs = 0): Taken {
    const nowMs = this.#clock.steady()
    this.#sweep(nowMs)
    this.#batch += 1
    const batch: Batch = { nowMs, requests: [], runs: [], leftBytes: MAXIMUM_BATCH_BYTES }
    const isContended = this.#lanes.size > 1
    const turnMs = isContended ? TURN_MS : Infinity
    let leftMs = isContended ? Math.min(BATCH_MS + spareMs, MAXIMUM_BATCH_MS) : Infinity
    this.#takeRun(this.own, Infinity, batch)
    while (leftMs > 0 && batch.leftBytes > 0) {
      const lane = this.#sparse.shift() ?? this.#busy.shift()
      if (lane === undefined) break
      lane.creditMs = Math.min(lane.creditMs + turnMs, turnMs)
      if (lane.creditMs > 0) leftMs -= this.#takeRun(lane, lane.creditMs, batch)
      if (lane.requests.length > lane.taken) this.#busy.push(lane)
    }
    return batch
  }

  /** Takes everything that waits, because nothing can be written. */
  takeAll(): readonly Waiting[] {
    const lanes = [this.own, ...this.#lanes.values()]
    const all = lanes.flatMap(({ requests, taken }) => requests.slice(taken))
    for (const lane of lanes) {
      lane.requests = []
      lane.taken = 0
      lane.bytes = 0
    }
    this.#sparse.length = 0
    this.#busy.length = 0
    this.#count = 0
    this.#bytes = 0
    return all
  }

  /**
   * Takes requests of the lane for `creditMs` of work: at least one, where the batch has room for
   * it. Returns the ms of work taken.
   */
  #takeRun(lane: Lane, creditMs: number, batch: Batch): number {
    if (lane.requests.length === lane.taken) return 0
    const { spentMs, bytes, count } =
      creditMs === Infinity && lane.taken === 0 && batch.requests.length === 0 && lane.bytes <= batch.leftBytes
        ? takeAllOf(lane, batch)
        : takeSomeOf(lane, creditMs, batch)
    if (count === 0) return 0
    batch.runs.push({ lane, end: batch.requests.length })
    batch.leftBytes -= bytes
    lane.batch = this.#batch
    lane.usedAtMs = batch.nowMs
    lane.creditMs -= spentMs
    lane.bytes -= bytes
    this.#count -= count
    this.#bytes -= bytes
    return spentMs
  }

  #laneOf(owner: string | undefined): Lane {
    let lane = owner === undefined ? this.own : this.#lanes.get(owner)
    if (lane === undefined) {
      lane = createLane(this.#clock.steady(), this.#allWork)
      this.#lanes.set(owner as string, lane)
    }
    this.#lastOwner = owner
    this.#lastLane = lane
    return lane
  }

  /** Forgets the lanes of owners that are no longer at work. */
  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptAtMs < AT_WORK_MS) return
    this.#sweptAtMs = nowMs
    for (const [owner, { requests, taken, usedAtMs }] of this.#lanes) {
      if (requests.length === taken && nowMs - usedAtMs >= AT_WORK_MS) this.#lanes.delete(owner)
    }
    this.#lastOwner = undefined
    this.#lastLane = this.own
  }
}

/** A batch while requests are taken for it. */
interface Batch {
  readonly nowMs: number
  requests: Waiting[]
  readonly runs: Run[]
  leftBytes: number
}

interface TakenOfLane {
  readonly spentMs: number
  readonly bytes: number
  readonly count: number
}

/** While one owner is alone at work, its requests are not looked at one by one. */
function takeAllOf(lane: Lane, batch: Batch): TakenOfLane {
  const { requests, bytes } = lane
  batch.requests = requests
  lane.requests = []
  return { spentMs: 0, bytes, count: requests.length }
}

function takeSomeOf(lane: Lane, creditMs: number, batch: Batch): TakenOfLane {
  const requestMs = lane.work.requestMs ?? lane.allWork.requestMs ?? UNMEASURED_MS
  let spentMs = 0
  let bytes = 0
  const first = lane.taken
  for (; lane.taken < lane.requests.length && spentMs < creditMs; lane.taken += 1) {
    const waiting = lane.requests[lane.taken] as Waiting
    // A single request may be larger than a batch.
    if (bytes + waiting.bytes > batch.leftBytes && batch.requests.length > 0) {
      batch.leftBytes = bytes
      break
    }
    spentMs += requestMs + waiting.bytes / BYTES_PER_MS
    bytes += waiting.bytes
    batch.requests.push(waiting)
  }
  const count = lane.taken - first
  // The requests move to the front seldom enough to cost little.
  if (lane.taken * 2 >= lane.requests.length) {
    lane.requests = lane.requests.slice(lane.taken)
    lane.taken = 0
  }
  return { spentMs, bytes, count }
}

/** Notes how long the last steps of that many requests of the lane took. */
export function measured({ work, allWork }: Lane, ms: number, requests: number): void {
  note(work, ms, requests)
  note(allWork, ms, requests)
}

function note(work: Work, ms: number, requests: number): void {
  work.measuredMs += ms
  work.measuredRequests += requests
  if (work.measuredRequests < MEASURED_REQUESTS && work.measuredMs < MEASURED_MS) return
  work.requestMs = Math.max(LEAST_MS, work.measuredMs / work.measuredRequests)
  work.measuredMs = 0
  work.measuredRequests = 0
}

function createWork(): Work {
  return { requestMs: undefined, measuredMs: 0, measuredRequests: 0 }
}

function createLane(nowMs: number, allWork: Work): Lane {
  return {
    requests: [],
    taken: 0,
    bytes: 0,
    creditMs: 0,
    work: createWork(),
    allWork,
    usedAtMs: nowMs,
    batch: -1,
    refusesMessages: false,
    refusesState: false,
  }
}
