/**
 * What a scenario is: rows of the table, each of which makes a job for a broker and reads its
 * figure from the answer.
 */
import type { Deployment } from '../deployment.ts'
import type { Job, JobQoS, JobResult } from '../load/job.ts'

export type ScenarioName = 's1' | 's2' | 's3' | 's4' | 's5' | 's6' | 's7'

/** How long each part of a job takes, and which QoS are asked for. */
export interface Timing {
  readonly warmUpMs: number
  readonly measureMs: number
  readonly latencyMs: number
}

/** What the figure of a row must not exceed. */
export type Bound =
  /** That many times mosquitto's in the same round. */
  | { readonly kind: 'ratio'; readonly maximum: number }
  /** That much, in the row's unit. */
  | { readonly kind: 'absolute'; readonly maximum: number }
  /**
   * That many times the same broker's figure of another row; `shortName` is how the tables call it.
   */
  | { readonly kind: 'row'; readonly row: string; readonly shortName: string; readonly maximum: number }

export interface Row {
  /** As in the tables: `S1 fan-in 100 → 1, QoS 0`. */
  readonly title: string
  readonly scenario: ScenarioName
  readonly qos: JobQoS | undefined
  readonly unit: string
  readonly bound: Bound | undefined
  /** The bound where each message is on disk before it is acknowledged; absent: the same. */
  readonly durableBound?: Bound
  /** More runs would tell nothing: what is measured hardly varies, or takes long. */
  readonly maximumRuns: number
  /** Open files that the broker, and the generator, need. */
  readonly openFiles: number
  readonly job: (deployment: Deployment, timing: Timing) => Job
  readonly figure: (result: JobResult) => number
}

/**
 * More than a process needs for itself and for a thousand connections, which is what most rows
 * have.
 */
export const USUAL_OPEN_FILES = 2_000

/** CPU time of the broker by delivered message, in µs. */
export function cpuPerDelivery(result: JobResult): number {
  return result.kind === 'flow' ? result.brokerCpuNs / result.deliveries / 1e3 : NaN
}
