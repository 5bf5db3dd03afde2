/** A broker of the comparison: how it is started, and how its version is found. */
import type { BrokerCommand } from '../broker-process.ts'
import type { Certificate } from '../certificate.ts'
import type { Deployment } from '../deployment.ts'
import type { Row } from '../scenarios/scenario.ts'

/** The folder with a comparison's files. */
export interface Workspace {
  readonly directory: string
  readonly certificate: Certificate
}

export type BrokerName =
  | 'fieldgate'
  | 'fieldgate-service'
  | 'fieldgate-durable'
  | 'fieldgate-node'
  | 'fieldgate-service-node'
  | 'fieldgate-durable-node'
  | 'mosquitto'
  | 'mosquitto-persistent'
  | 'flashmq'
  | 'nats'
  | 'aedes'
  | 'bare-node'
  | 'bare-bun'

/** The brokers beside which a figure of Fieldgate shows whose cost it is. */
export interface References {
  /** The bare program of the same runtime. */
  readonly bare: BrokerName
  /** The core alone on the same runtime; absent: this is the core. */
  readonly core?: BrokerName
}

export interface BrokerKind {
  readonly name: BrokerName
  /** True in a row in which the broker takes part when the command line does not name it. */
  readonly byDefault: (row: Row) => boolean
  /** True if the comparison goes on without the broker when it is missing. */
  readonly isOptional?: boolean
  /** True if it syncs each message of QoS 1 to the disk before it acknowledges it. */
  readonly isDurable: boolean
  /** Present for Fieldgate, whose figures are held against the bounds. */
  readonly references?: References
  /** The name for people. */
  readonly title: string
  readonly version: () => string
  /** The reason why the broker can't be started here, as a sentence; undefined: it can. */
  readonly missing: () => string | undefined
  /** Called once before the first start; returns the credentials. */
  readonly prepare: (workspace: Workspace) => Deployment
  readonly command: (workspace: Workspace, port: number) => BrokerCommand
}

export const ALWAYS = (): boolean => true
export const NEVER = (): boolean => false
