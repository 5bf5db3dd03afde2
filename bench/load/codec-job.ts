/**
 * The jobs of a load generator for commands and codecs, and its answers. Both go from process to
 * process by structured clone.
 */
import type { Client, Subscriber, Target } from './job.ts'
import type { Percentiles } from './latency-histogram.ts'

/** A connection that sends commands to devices of its organization in turn. */
export interface CommandSender extends Client {
  readonly topicNames: readonly string[]
}

/** Commands at QoS 1 with an object for Cayenne LPP, to a network server that accepts them. */
export interface CommandJob {
  readonly kind: 'commands'
  readonly networkServer: Client
  readonly senders: readonly CommandSender[]
  /**
   * The most commands of one sender that are not acknowledged or have not reached the network
   * server, so that no queue fills.
   */
  readonly window: number
  readonly warmUpMs: number
  /**
   * The time without a limit on the rate. Then follows the same time at `perSecond` in all, or at
   * half of the achieved rate if that is less.
   */
  readonly measureMs: number
  readonly perSecond: number
}

/** Uplinks of applications with and without a script, published by one network server. */
export interface UplinkJob {
  readonly kind: 'uplinks'
  readonly networkServer: Client
  readonly receivers: readonly Subscriber[]
  /**
   * The topics of applications without a codec: this traffic never stops, and its latency is
   * measured.
   */
  readonly plainTopicNames: readonly string[]
  readonly plainPerSecond: number
  /** The topics of applications with a script: this traffic runs in every second phase. */
  readonly decodedTopicNames: readonly string[]
  readonly decodedPerSecond: number
  readonly warmUpMs: number
  /** The number of pairs of phases: one without the scripts, then one with them. */
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
  /** Commands that were acknowledged within the window. */
  readonly accepted: number
  /** The time from PUBLISH to PUBACK. */
  readonly acknowledgement: Percentiles
  /** The time from PUBLISH to the network server. */
  readonly delivery: Percentiles
}

export interface CommandResult {
  readonly kind: 'commands'
  readonly flatOut: CommandFigures
  readonly paced: CommandFigures
  /** PUBACKs that came in another order than their commands. */
  readonly acknowledgedOutOfOrder: number
}

/** The result of one phase: latencies from PUBLISH to the subscriber. */
export interface UplinkPhase extends BrokerCpu {
  readonly plain: Percentiles
  readonly plainUplinks: number
  readonly decoded: Percentiles
  readonly decodedUplinks: number
  /** Uplinks that came without their object, because too many waited, or for too long. */
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
