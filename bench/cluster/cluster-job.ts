/**
 * The work of the load generator of a cluster, and its answer. Both go from process to process by
 * structured clone.
 */
import type { FlowJob, FlowResult, Target } from '../load/job.ts'

export interface ClusterRequest {
  /** The nodes. */
  readonly targets: readonly Target[]
  /** The processes of the servers of NATS. */
  readonly serverPids: readonly number[]
  /** The monitoring of one server of NATS. */
  readonly monitor: string
  readonly job: FlowJob
}

/** Writes to one kind of streams within the window. */
export interface StreamWrites {
  readonly log: number
  readonly other: number
}

export interface ClusterResult {
  readonly flow: FlowResult
  /** CPU time within the window: of each node, and of each server of NATS, ns. */
  readonly nodesCpuNs: readonly number[]
  readonly serversCpuNs: readonly number[]
  /** Entries that the streams of NATS took within the window. */
  readonly writes: StreamWrites
  /** Growth of one copy of the streams of messages within the window, bytes. */
  readonly logBytes: number
  /** Resident memory at the end of the window, bytes. */
  readonly nodesBytes: readonly number[]
  readonly serversBytes: readonly number[]
}

export type ClusterAnswer =
  | { readonly kind: 'result'; readonly result: ClusterResult }
  | { readonly kind: 'fault'; readonly text: string }
