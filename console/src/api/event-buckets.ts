/** The history of a device in buckets of time. */
import { request } from './request.ts'

/** The spread of numbers in a bucket. */
export interface Spread {
  readonly min: number
  readonly median: number
  readonly max: number
  readonly count: number
}

/** The events of one span of time. A spread is left out where no event has the value. */
export interface EventBucket {
  /** RFC 3339: the beginning of the span. */
  readonly time: string
  readonly uplinks: number
  readonly lost: number
  readonly rssi?: Spread
  readonly snr?: Spread
  readonly battery?: Spread
  /** The number of uplinks by spreading factor. */
  readonly spreadingFactors: Readonly<Record<string, number>>
  /** The decoded numbers by path. */
  readonly values: Readonly<Record<string, Spread>>
}

/** The buckets that have events, the oldest first. */
export interface EventBuckets {
  readonly from: string
  readonly to: string
  readonly completeFrom: string
  readonly truncated: readonly string[]
  readonly values: readonly string[]
  readonly result: readonly EventBucket[]
}

/** The buckets from a time on, ms since 1970; undefined: of all stored events. */
export function eventBuckets(devEui: string, fromMs: number | undefined): Promise<EventBuckets> {
  const from = fromMs === undefined ? undefined : new Date(fromMs).toISOString()
  return request<EventBuckets>('GET', `/api/devices/${devEui}/events/buckets`, { query: { from } })
}
