/**
 * What the figures of commands and codecs ask of a load generator, and what it answers; from
 * process to process by structured clone.
 */
import type { Client, Subscriber, Target } from './job.ts'
import type { Percentiles } from './latency-histogram.ts'

/** A connection that sends commands to devices of its organization in turn. */
export interface CommandSender extends Client {
  readonly topicNames: readonly string[]
}

/** Commands at QoS 1 with an object for Cayenne LPP, to a network server that takes them. */
export interface CommandJob {
  readonly kind: 'commands'
  readonly networkServer: Client
  readonly senders: readonly CommandSender[]
  /**
   * Commands of one sender that are not acknowledged, or not at the network server: no queue fills.
   */
  readonly window: number
  readonly warmUpMs: number
  /**
   * Flat out for so long, then at `perSecond` in all, or at half of what was reached where that is
   * less.
   */
  readonly measureMs: number
  readonly perSecond: number
}

/** Uplinks with and without a script of their application, published by one network server. */
export interface UplinkJob {
  readonly kind: 'uplinks'
  readonly networkServer: Client
  readonly receivers: readonly Subscriber[]
  /**
   * Of applications without a codec: this traffic goes on all the time, and its latency is what is
   * measured.
   */
  readonly plainTopicNames: readonly string[]
  readonly plainPerSecond: number
  /** Of applications with a script: this traffic is there in every second phase. */
  readonly decodedTopicNames: readonly string[]
  readonly decodedPerSecond: number
  readonly warmUpMs: number
  /** Pairs of phases: without the scripts, then with them. */
  readonly pairs: number
  readonly phaseMs: number
}

export type CodecJob = CommandJob | UplinkJob

/** CPU time of the broker within a window. */
export interface BrokerCpu {
  readonly seconds: number
  readonly cpuNs: number
  readonly mainThreadCpuNs: number
}

export interface CommandFigures extends BrokerCpu {
  /** Commands acknowledged within the window. */
  readonly accepted: number
  /** From PUBLISH to PUBACK. */
  readonly acknowledgement: Percentiles
  /** From PUBLISH to the network server. */
  readonly delivery: Percentiles
}

export interface CommandResult {
  readonly kind: 'commands'
  readonly flatOut: CommandFigures
  readonly paced: CommandFigures
  /** PUBACKs that did not come in the order of their commands. */
  readonly acknowledgedOutOfOrder: number
}

/** One phase: latencies from PUBLISH to the subscriber. */
export interface UplinkPhase extends BrokerCpu {
  readonly plain: Percentiles
  readonly plainUplinks: number
  readonly decoded: Percentiles
  readonly decodedUplinks: number
  /** Those of them that came without their object: too many waited, or for too long. */
  readonly notDecoded: number
}

export interface UplinkResult {
  readonly kind: 'uplinks'
  readonly without: readonly UplinkPhase[]
  readonly with: readonly UplinkPhase[]
}

export type CodecAnswer<Result = CommandResult | UplinkResult> =
  | { readonly kind: 'result'; readonly result: Result }
  | { readonly kind: 'fault'; readonly text: string }

export interface CodecRequest {
  readonly target: Target
  readonly job: CodecJob
}
