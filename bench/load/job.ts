/**
 * What the benchmark asks of a load generator, and what it is told. Both go from process to process
 * by structured clone.
 */
import type { Percentiles } from './latency-histogram.ts'

export type JobQoS = 0 | 1

/** The broker that is loaded. */
export interface Target {
  readonly port: number
  /** The one certificate that is trusted, PEM. */
  readonly certificate: string
  /** Whose CPU time and memory are accounted. */
  readonly pid: number
}

export interface Credentials {
  readonly userName: string
  readonly password: string
}

/** A connection; without credentials it sends neither user name nor password. */
export interface Client {
  readonly credentials: Credentials | undefined
}

export interface Subscriber extends Client {
  readonly topicFilters: readonly string[]
}

/**
 * A numbered sequence of messages of one publisher over its Topic Names in turn, all of which go to
 * the same receivers.
 */
export interface Stream {
  readonly publisher: number
  readonly receivers: readonly number[]
  readonly topicNames: readonly string[]
}

/**
 * Connections that subscribe to what nobody publishes: `subscriptionsEach` DevEUIs each, spread
 * over the applications.
 */
export interface Bystanders extends Client {
  readonly connections: number
  readonly subscriptionsEach: number
  readonly applicationIds: readonly string[]
}

/**
 * At most `window` messages of a publisher are on their way, so that no broker has reason to drop
 * one: as fast as that allows, or at a fixed rate of published messages over all publishers. A
 * broker that can't keep the rate gets fewer, which shows in its throughput.
 */
export interface Pace {
  readonly window: number
  readonly perSecond: number | undefined
}

/** Publishers, receivers, and messages from the ones to the others. */
export interface FlowJob {
  readonly kind: 'flow'
  readonly qos: JobQoS
  readonly publishers: readonly Client[]
  readonly receivers: readonly Subscriber[]
  readonly streams: readonly Stream[]
  readonly bystanders: Bystanders | undefined
  readonly pace: Pace
  /**
   * The warm-up is over after this time and this number of messages: each Topic Name has been seen
   * then.
   */
  readonly warmUpMs: number
  readonly warmUpMessages: number
  readonly measureMs: number
  /**
   * Afterwards, half of the achieved rate for this time, for the latency; 0: the latency is taken
   * while measuring.
   */
  readonly latencyMs: number
}

/** Connections as fast as they come, `concurrency` of them in the making at a time. */
export interface StormJob {
  readonly kind: 'storm'
  readonly connections: number
  readonly warmUpConnections: number
  readonly concurrency: number
  /** With a session ticket of an earlier connection. */
  readonly resumed: boolean
  /** One each, in turn. */
  readonly clients: readonly Client[]
}

/** Connections that do nothing. */
export interface IdleJob {
  readonly kind: 'idle'
  readonly connections: number
  /**
   * The memory at this number of connections is where counting starts: what a broker needs but once
   * is left out.
   */
  readonly firstConnections: number
  readonly settleMs: number
  readonly clients: readonly Client[]
}

export type Job = FlowJob | StormJob | IdleJob

export interface FlowResult {
  readonly kind: 'flow'
  readonly seconds: number
  readonly published: number
  readonly deliveries: number
  /** Of the broker and of this generator, within the measured window. */
  readonly brokerCpuNs: number
  readonly generatorCpuNs: number
  readonly latency: Percentiles & { readonly publishedPerSecond: number }
  /** From PUBLISH to PUBACK, of the same time as the latency; NaN at QoS 0. */
  readonly acknowledgement: Percentiles
}

export interface StormResult {
  readonly kind: 'storm'
  readonly seconds: number
  readonly connections: number
  /** How many of them were resumed. */
  readonly resumed: number
  readonly brokerCpuNs: number
}

export interface IdleResult {
  readonly kind: 'idle'
  /** The growth of resident memory by each connection. */
  readonly bytesPerConnection: number
  readonly connections: number
}

export type JobResult = FlowResult | StormResult | IdleResult

/**
 * `fault`: a message was lost, doubled, late or misdirected, or a connection failed; counts in the
 * text.
 */
export type Answer =
  | { readonly kind: 'result'; readonly result: JobResult }
  | { readonly kind: 'fault'; readonly text: string }

/** The payload's length in every scenario. */
export const PAYLOAD_BYTES = 200
