/** The streams of a deployment, and the names in them. */
import { RetentionPolicy, StorageType, DiscardPolicy } from '@nats-io/jetstream'
import type { StreamConfig } from '@nats-io/jetstream'
import type { NatsLink } from './nats-link.ts'

/** How the streams are kept. */
export interface StreamWishes {
  /** Begins all names. */
  readonly prefix: string
  /** The node's name: letters, digits, `-` and `_`. */
  readonly node: string
  readonly partitions: number
  readonly replicas: number
  readonly retentionMs: number
  /** Bytes of all partitions together. */
  readonly retentionBytes: number
}

/** A stream of envelopes as one node uses it. */
export interface NodeStream {
  readonly name: string
  /** The subject of the node's envelopes. */
  readonly subject: string
  /** The subjects of all nodes' envelopes. */
  readonly subjects: string
  /** The subjects on which the stream publishes what it stores. */
  readonly tailSubject: string
}

export interface NodeStreams {
  /** The partitions, and behind them the journal of the node's changes of state. */
  readonly envelopes: readonly NodeStream[]
  readonly state: string
  /** The beginning of the subjects of the node's state. */
  readonly stateSubject: string
}

const NANOSECONDS = 1_000_000
/** Envelopes that come again within this time are known by their ids, ms. */
const DUPLICATES_MS = 120_000

/**
 * Makes the streams that are missing, and gives the others the present retention. Throws the
 * servers' refusals.
 */
export async function prepareStreams(link: NatsLink, wishes: StreamWishes): Promise<NodeStreams> {
  const { prefix, node, partitions, replicas, retentionMs, retentionBytes } = wishes
  const names = namesOf({ prefix, node, partitions })
  const ofLog = names.envelopes.slice(0, partitions)
  const shared = { storage: StorageType.File, num_replicas: replicas, allow_direct: true }
  const ofEnvelopes = ({ name, subjects }: NodeStream): Partial<StreamConfig> & { name: string } => ({
    ...shared,
    name,
    subjects: [subjects],
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    duplicate_window: Math.min(DUPLICATES_MS, retentionMs) * NANOSECONDS,
    republish: { src: subjects, dest: `${name}.tail.>` },
  })
  for (const stream of ofLog) {
    await ensure(link, {
      ...ofEnvelopes(stream),
      max_age: retentionMs * NANOSECONDS,
      max_bytes: Math.ceil(retentionBytes / partitions),
    })
  }
  await ensure(link, ofEnvelopes(names.envelopes[partitions] as NodeStream))
  await prepareSpaces(link, names.state, replicas)
  return names
}

/**
 * Makes a stream of states (see `StateStream`) if it is missing, with subjects that begin with its
 * name. Throws the servers' refusals.
 */
export async function prepareSpaces(link: NatsLink, name: string, replicas: number): Promise<void> {
  const kept = { storage: StorageType.File, num_replicas: replicas, allow_direct: true }
  const written = { max_msgs_per_subject: 1, allow_msg_ttl: true, allow_atomic: true }
  await ensure(link, { ...kept, ...written, name, subjects: [`${name}.>`] })
}

/** The streams as a node uses them. */
export function namesOf({
  prefix,
  node,
  partitions,
}: Pick<StreamWishes, 'prefix' | 'node' | 'partitions'>): NodeStreams {
  const names = Array.from({ length: partitions }, (_, partition) => `${prefix}-log-${partition}`)
  const envelopes = [...names, `${prefix}-journal-${node}`].map((name) => ({
    name,
    subject: `${name}.at.${node}`,
    subjects: `${name}.at.>`,
    tailSubject: `${name}.tail.>`,
  }))
  const state = `${prefix}-state`
  return { envelopes, state, stateSubject: `${state}.${node}` }
}

function differs(known: StreamConfig, wanted: Partial<StreamConfig>): boolean {
  const { max_age = known.max_age, max_bytes = known.max_bytes, num_replicas, allow_atomic: isAtomic } = wanted
  if ((isAtomic ?? false) !== (known.allow_atomic ?? false)) return true
  return known.max_age !== max_age || known.max_bytes !== max_bytes || known.num_replicas !== num_replicas
}

async function ensure(link: NatsLink, config: Partial<StreamConfig> & { name: string }): Promise<void> {
  const { streams } = link.manager
  const known = await streams.info(config.name).catch(() => undefined)
  if (known === undefined) await link.addStream(config)
  else if (differs(known.config, config)) await streams.update(config.name, config)
}
