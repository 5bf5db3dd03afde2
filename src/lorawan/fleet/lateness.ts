/** The rule by which a device is late or silent. */

/** The state of a device that was heard at least once. */
export type HeardState = 'ON_TIME' | 'LATE' | 'SILENT'

/** A device, as far as the rule needs it. */
export interface ExpectedDevice {
  /**
   * From here on the device could be heard: its last sign of life, or the time at which the service
   * or the network server came back. Ms since 1970.
   */
  readonly expectedFromMs: number
  /** `null` when it is not known. */
  readonly intervalSeconds: number | null
  /** Percent; `null` when it is not known. */
  readonly lossPercent: number | null
}

/** The state now, and when to look again. */
export interface Judgement {
  readonly state: HeardState
  /** Ms since 1970; undefined for a silent device: only a sign of life changes its state. */
  readonly dueAtMs: number | undefined
}

/** A device of which too little is known: it may send once a day. */
const UNKNOWN_INTERVAL_SECONDS = 86_400
/** Signs of life of a busy device are written once a minute. */
const MINIMUM_INTERVAL_SECONDS = 60
const LATE_INTERVALS = 2
const SILENT_INTERVALS = 3
/** A device gets more time for the frames that it usually loses: twice the time at most. */
const MAXIMUM_COUNTED_LOSS = 0.5

/** Judges the device at `nowMs`. The times are longer for a device that loses frames. */
export function judge({ expectedFromMs, intervalSeconds, lossPercent }: ExpectedDevice, nowMs: number): Judgement {
  const seconds = Math.max(intervalSeconds ?? UNKNOWN_INTERVAL_SECONDS, MINIMUM_INTERVAL_SECONDS)
  const loss = Math.min((lossPercent ?? 0) / 100, MAXIMUM_COUNTED_LOSS)
  const intervalMs = (seconds * 1000) / (1 - loss)
  const lateAtMs = Math.ceil(expectedFromMs + LATE_INTERVALS * intervalMs)
  const silentAtMs = Math.ceil(expectedFromMs + SILENT_INTERVALS * intervalMs)
  if (nowMs < lateAtMs) return { state: 'ON_TIME', dueAtMs: lateAtMs }
  if (nowMs < silentAtMs) return { state: 'LATE', dueAtMs: silentAtMs }
  return { state: 'SILENT', dueAtMs: undefined }
}
