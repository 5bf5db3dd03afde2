/**
 * The history of a device in buckets of time, for plots. Events are given from the newest to the
 * oldest, so that one bucket at a time is open, and memory is bounded by the buckets.
 */
import type { StoredEvent } from '../uplinks/event-history.ts'
import { numbersOf, statusFacts, uplinkFacts } from './event-facts.ts'
import type { UplinkFacts } from './event-facts.ts'
import { FrameLoss } from './frame-loss.ts'
import { SpreadSeries } from './spread.ts'
import type { Spread } from './spread.ts'

/** The most paths of values in one answer. */
export const MAXIMUM_PATHS = 50

/** The kinds of event that buckets are made of. */
export const BUCKET_KINDS = ['up', 'join', 'status'] as const

/** The events of one span of time. A spread is undefined where no event has the value. */
export interface Bucket {
  /** The beginning of the span, ms since 1970. */
  readonly startMs: number
  readonly uplinks: number
  /** Uplinks that never arrived, by gaps of the frame counter. */
  readonly lost: number
  readonly joins: number
  /** dBm, and dB, of the best gateway of each uplink. */
  readonly rssi: Spread | undefined
  readonly snr: Spread | undefined
  /** Percent, and dB, of status events. */
  readonly battery: Spread | undefined
  readonly margin: Spread | undefined
  /** The number of uplinks by spreading factor, and by data rate. */
  readonly spreadingFactors: Readonly<Record<string, number>>
  readonly dataRates: Readonly<Record<string, number>>
  /** The decoded numbers, by path. */
  readonly values: Readonly<Record<string, Spread>>
}

type OpenBucket = { -readonly [Member in keyof Bucket]: Bucket[Member] }

/** A device's events on their way into buckets. */
export class HistoryBuckets {
  readonly #bucketMs: number
  readonly #wanted: ReadonlySet<string> | undefined
  readonly #paths = new Set<string>()
  /** The finished buckets, the newest first, and the open one. */
  readonly #buckets: OpenBucket[] = []
  readonly #loss = new FrameLoss<OpenBucket>()
  #series = new BucketSeries()
  #leavesOut = false

  /**
   * Buckets begin at multiples of `bucketMs` since 1970. Without `paths`, the first `MAXIMUM_PATHS`
   * numbers that are found are taken.
   */
  constructor(bucketMs: number, paths: readonly string[] | undefined) {
    this.#bucketMs = bucketMs
    this.#wanted = paths && new Set(paths)
  }

  /** The paths that were found, in the order of the alphabet. */
  get paths(): readonly string[] {
    return [...this.#paths].toSorted()
  }

  /** True when events have more paths than an answer may have. */
  get leavesOutPaths(): boolean {
    return this.#leavesOut
  }

  /** Takes the next older event. The clock may have stepped: the order of the log counts. */
  add({ timeMs, kind, payload }: Pick<StoredEvent, 'timeMs' | 'kind' | 'payload'>): void {
    const bucket = this.#bucketAt(timeMs)
    if (kind === 'join') {
      bucket.joins += 1
      this.#loss.join()
    } else if (kind === 'status') {
      const { battery, margin } = statusFacts(payload)
      this.#series.add('battery', battery)
      this.#series.add('margin', margin)
    } else if (kind === 'up') {
      bucket.uplinks += 1
      const facts = uplinkFacts(payload)
      if (facts !== undefined) this.#addUplink(bucket, facts)
    }
  }

  /** The buckets that have events, the oldest first. Nothing can be added afterwards. */
  finish(): readonly Bucket[] {
    this.#close()
    return this.#buckets.toReversed()
  }

  #bucketAt(timeMs: number): OpenBucket {
    const open = this.#buckets.at(-1)
    const startMs = Math.floor(timeMs / this.#bucketMs) * this.#bucketMs
    if (open !== undefined && startMs >= open.startMs) return open
    this.#close()
    const bucket: OpenBucket = {
      startMs,
      uplinks: 0,
      lost: 0,
      joins: 0,
      rssi: undefined,
      snr: undefined,
      battery: undefined,
      margin: undefined,
      spreadingFactors: {},
      dataRates: {},
      values: {},
    }
    this.#buckets.push(bucket)
    this.#series = new BucketSeries()
    return bucket
  }

  #addUplink(bucket: OpenBucket, facts: UplinkFacts): void {
    const { fCnt, devAddr, rssi, snr, spreadingFactor, dataRate, object } = facts
    if (fCnt !== undefined) this.#loss.uplink(fCnt, devAddr, bucket)
    this.#series.add('rssi', rssi)
    this.#series.add('snr', snr)
    if (spreadingFactor !== undefined) bucket.spreadingFactors = counted(bucket.spreadingFactors, spreadingFactor)
    if (dataRate !== undefined) bucket.dataRates = counted(bucket.dataRates, dataRate)
    numbersOf(object, (path, value) => {
      if (this.#takes(path)) this.#series.addValue(path, value)
    })
  }

  #takes(path: string): boolean {
    if (this.#paths.has(path)) return true
    if (this.#wanted !== undefined && !this.#wanted.has(path)) return false
    if (this.#paths.size >= MAXIMUM_PATHS) {
      this.#leavesOut = true
      return false
    }
    this.#paths.add(path)
    return true
  }

  #close(): void {
    const bucket = this.#buckets.at(-1)
    if (bucket !== undefined) this.#series.writeTo(bucket)
  }
}

const FACTS = ['rssi', 'snr', 'battery', 'margin'] as const

/** The series of the open bucket. */
class BucketSeries {
  readonly #facts = new Map<(typeof FACTS)[number], SpreadSeries>()
  readonly #values = new Map<string, SpreadSeries>()

  add(fact: (typeof FACTS)[number], value: number | undefined): void {
    if (value !== undefined) addTo(this.#facts, fact, value)
  }

  addValue(path: string, value: number): void {
    addTo(this.#values, path, value)
  }

  writeTo(bucket: OpenBucket): void {
    for (const fact of FACTS) bucket[fact] = this.#facts.get(fact)?.spread()
    const values = [...this.#values].flatMap(([path, series]) => {
      const spread = series.spread()
      return spread === undefined ? [] : [[path, spread] as const]
    })
    // Also keeps a path that is called `__proto__`.
    bucket.values = Object.fromEntries(values)
  }
}

function addTo<Name>(series: Map<Name, SpreadSeries>, name: Name, value: number): void {
  const known = series.get(name)
  if (known !== undefined) return known.add(value)
  const added = new SpreadSeries()
  series.set(name, added)
  return added.add(value)
}

function counted(counts: Readonly<Record<string, number>>, value: number): Readonly<Record<string, number>> {
  return { ...counts, [value]: (counts[value] ?? 0) + 1 }
}
