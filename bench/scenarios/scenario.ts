/**
 * A scenario: rows of the table, each of which makes a job for a broker and reads its figure from
 * the answer.
 */
import type { Deployment } from '../deployment.ts'
import type { Job, JobQoS, JobResult } from '../load/job.ts'

export type ScenarioName = 's1' | 's2' | 's3' | 's4' | 's5' | 's6' | 's7' | 's8' | 's9' | 's10'

/** The duration of each part of a job, and the chosen QoS. */
export interface Timing {
  readonly warmUpMs: number
  readonly measureMs: number
  readonly latencyMs: number
}

/** The bound that the figure of a row must not exceed. */
export type Bound =
  /** A multiple of mosquitto's figure in the same round. */
  | { readonly kind: 'ratio'; readonly maximum: number }
  /** A value in the row's unit. */
  | { readonly kind: 'absolute'; readonly maximum: number }
  /**
   * A multiple of the same broker's figure in another row; `shortName` is that row's name in the
   * tables.
   */
  | { readonly kind: 'row'; readonly row: string; readonly shortName: string; readonly maximum: number }

export interface Row {
  /** The title in the tables: `S1 fan-in 100 → 1, QoS 0`. */
  readonly title: string
  readonly scenario: ScenarioName
  readonly qos: JobQoS | undefined
  readonly unit: string
  /** The publishers whose own rates are compared; absent: only all messages together count. */
  readonly clients?: number
  readonly bound: Bound | undefined
  /**
   * The bound for a broker that has each message on disk before it is acknowledged; absent: the
   * same bound.
   */
  readonly durableBound?: Bound
  /**
   * The most that a durable broker may cost, as a multiple of mosquitto with persistence; absent:
   * they are not compared.
   */
  readonly persistentMaximum?: number
  /** The most runs, where each takes very long; absent: as many as are asked for. */
  readonly maximumRuns?: number
  /** Open files that the broker and the generator need. */
  readonly openFiles: number
  readonly job: (deployment: Deployment, timing: Timing) => Job
  readonly figure: (result: JobResult) => number
}

/** More than a process needs for itself and for a thousand connections, the number of most rows. */
export const USUAL_OPEN_FILES = 2_000

/** The broker's CPU time per delivered message, in µs. */
export function cpuPerDelivery(result: JobResult): number {
  return result.kind === 'flow' ? result.brokerCpuNs / result.deliveries / 1e3 : NaN
}
