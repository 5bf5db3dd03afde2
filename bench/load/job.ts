/**
 * The jobs of a load generator, and its answers. Both go from process to process by structured
 * clone.
 */
import type { Percentiles } from './latency-histogram.ts'

export type JobQoS = 0 | 1

/** The broker under load. */
export interface Target {
  readonly port: number
  /** The one trusted certificate, PEM. */
  readonly certificate: string
  /** The process whose CPU time and memory are measured. */
  readonly pid: number
}

export interface Credentials {
  readonly userName: string
  readonly password: string
}

/** The login of a connection; without credentials it sends neither user name nor password. */
export interface Client {
  readonly credentials: Credentials | undefined
  /** The number of the node to which it connects, where the target is a cluster. Default: 0. */
  readonly target?: number
}

export interface Subscriber extends Client {
  readonly topicFilters: readonly string[]
  /** True: its Session outlives the connection. */
  readonly keepsSession?: boolean
}

/**
 * A numbered sequence of messages of one publisher, over its Topic Names in turn. All of them go to
 * the same receivers.
 */
export interface Stream {
  readonly publisher: number
  readonly receivers: readonly number[]
  readonly topicNames: readonly string[]
}

/**
 * Connections that subscribe to topics to which nobody publishes: `subscriptionsEach` DevEUIs each,
 * spread over the applications.
 */
export interface Bystanders extends Client {
  readonly connections: number
  readonly subscriptionsEach: number
  readonly applicationIds: readonly string[]
}

/**
 * At most `window` messages of a publisher are on their way, so that no broker has reason to drop
 * one. Within this window, publishers send as fast as possible, or at a fixed rate over all
 * publishers. A broker that can't keep the rate gets fewer messages, which shows in its throughput.
 */
export interface Pace {
  readonly window: number
  readonly perSecond: number | undefined
}

/** Publishers, receivers, and the streams of messages between them. */
export interface FlowJob {
  readonly kind: 'flow'
  readonly qos: JobQoS
  readonly publishers: readonly Client[]
  readonly receivers: readonly Subscriber[]
  readonly streams: readonly Stream[]
  readonly bystanders: Bystanders | undefined
  /** True: messages of different applications may be acknowledged in another order. */
  readonly hasSeveralLogs?: boolean
  readonly pace: Pace
  /**
   * The warm-up ends after this time and this number of messages: each Topic Name was used by then.
   */
  readonly warmUpMs: number
  readonly warmUpMessages: number
  readonly measureMs: number
  /**
   * After the window, half of the achieved rate runs for this time, for the latency; 0: the latency
   * is taken within the window.
   */
  readonly latencyMs: number
}

/** Connections as fast as possible; `concurrency` of them are being opened at a time. */
export interface StormJob {
  readonly kind: 'storm'
  readonly connections: number
  readonly warmUpConnections: number
  readonly concurrency: number
  /** True: connections use a session ticket of an earlier connection. */
  readonly resumed: boolean
  /** The logins of the connections, one each, in turn. */
  readonly clients: readonly Client[]
}

/** A connection that does nothing after it has subscribed. */
export interface IdleClient extends Client {
  /** Absent: it does not subscribe. */
  readonly topicFilters?: readonly string[]
}

/** Connections that do nothing. */
export interface IdleJob {
  readonly kind: 'idle'
  readonly connections: number
  /**
   * The number of connections at which the count of memory begins, which leaves out memory that a
   * broker needs only once.
   */
  readonly firstConnections: number
  readonly settleMs: number
  /** The logins and subscriptions of the connections, in turn. */
  readonly clients: readonly IdleClient[]
}

/** Connections that are all cut, and come back all at once, while other clients send messages. */
export interface ReturnJob {
  readonly kind: 'return'
  readonly connections: number
  /** The logins of the connections, in turn. */
  readonly clients: readonly Client[]
  /** The messages meanwhile, at a fixed rate; their window ends when all connections are back. */
  readonly others: FlowJob
}

export type Job = FlowJob | StormJob | IdleJob | ReturnJob

export interface FlowResult {
  readonly kind: 'flow'
  readonly seconds: number
  readonly published: number
  readonly deliveries: number
  /** The CPU time of the broker and of this generator within the window. */
  readonly brokerCpuNs: number
  readonly generatorCpuNs: number
  readonly latency: Percentiles & { readonly publishedPerSecond: number }
  /** The time from PUBLISH to PUBACK, measured together with the latency; NaN at QoS 0. */
  readonly acknowledgement: Percentiles
}

export interface StormResult {
  readonly kind: 'storm'
  readonly seconds: number
  readonly connections: number
  /** The number of resumed TLS sessions. */
  readonly resumed: number
  readonly brokerCpuNs: number
}

export interface IdleResult {
  readonly kind: 'idle'
  /** The growth of resident memory per connection. */
  readonly bytesPerConnection: number
  readonly connections: number
}

export interface ReturnResult {
  readonly kind: 'return'
  /** From the cut to the last CONNACK. */
  readonly seconds: number
  readonly connections: number
  /** Attempts that the broker did not answer with CONNACK; their clients tried again. */
  readonly failedAttempts: number
  readonly brokerCpuNs: number
  /** The latency of the other clients' messages meanwhile. */
  readonly latency: Percentiles
}

export type JobResult = FlowResult | StormResult | IdleResult | ReturnResult

/**
 * `fault`: a message was lost, doubled, late or misdirected, or a connection failed; the text has
 * counts.
 */
export type Answer =
  | { readonly kind: 'result'; readonly result: JobResult }
  | { readonly kind: 'fault'; readonly text: string }

/** The payload's length in every scenario. */
export const PAYLOAD_BYTES = 200
