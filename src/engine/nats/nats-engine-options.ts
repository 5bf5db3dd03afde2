/** The settings of the engine over NATS, with their defaults. */
import type { NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'

export interface NatsEngineOptions {
  /** Opens the connection. The engine closes it. */
  readonly connect: () => Promise<NatsConnection>
  /** Begins the names of all streams. Default: `fieldgate`. */
  readonly prefix?: string
  /** The name of the node. A later engine with the same name takes its place. */
  readonly node: string
  /** Names the process: 16 hexadecimal digits that were drawn for it. Default: drawn here. */
  readonly incarnation?: string
  /**
   * Called once, when another process has written in this node's name: nothing more of this one is
   * owned. Must not throw.
   */
  readonly fenced?: () => void
  /** Default: 2. */
  readonly partitions?: number
  /** Servers that have each message. Default: 3. */
  readonly replicas?: number
  readonly clock?: Clock
  readonly logger?: Logger
  /** How long messages are kept, ms. Default: 7 days. */
  readonly retentionMs?: number
  /** Bytes of messages; beyond them the oldest are removed. Default: 16 GiB. */
  readonly retentionBytes?: number
  /** Memory for the messages that arrived last. Default: 64 MiB. */
  readonly tailBytes?: number
  /** Memory for messages that were read from the servers. Default: 32 MiB. */
  readonly cacheBytes?: number
  /** Memory for requests on their way; beyond it they fail with 0x97. Default: 64 MiB. */
  readonly waitingBytes?: number
  /**
   * Time from one envelope to the next while several publishers are at work, ms; publishers that
   * wait for their acknowledgements may get none. Default: 15.
   */
  readonly gatherMs?: number
}
