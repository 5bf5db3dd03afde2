/** The state of the servers of NATS, as the leaders of the streams see them. */
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream'

/** One server of NATS. */
export interface NatsServerState {
  readonly name: string
  /** Streams that the server leads. */
  readonly leads: number
  /** Streams of which the server keeps a copy. */
  readonly copies: number
  /** Operations that its copies lack, of all streams together. */
  readonly lag: number
  /** Its copies do not follow their leaders at present. */
  readonly isBehind: boolean
  /** The leaders do not reach it. */
  readonly isOffline: boolean
}

/** The lag from which on a copy counts as behind: a busy server always lacks the last few. */
const BEHIND_OPERATIONS = 10_000

/**
 * The servers that keep the streams whose names begin with the prefix, in the order of their names.
 * Rejects when no majority of the servers answers.
 */
export async function readServers(
  { streams }: Pick<JetStreamManager, 'streams'>,
  prefix: string,
): Promise<readonly NatsServerState[]> {
  const found: StreamInfo[] = []
  for await (const info of streams.list()) if (info.config.name.startsWith(`${prefix}-`)) found.push(info)
  return serversOf(found)
}

/** The servers in these descriptions of streams. A single server does not describe itself. */
export function serversOf(streams: readonly Pick<StreamInfo, 'cluster'>[]): readonly NatsServerState[] {
  const byName = new Map<string, NatsServerState>()
  const note = (name: string, seen: Partial<NatsServerState>): void => {
    const known = byName.get(name) ?? { name, leads: 0, copies: 0, lag: 0, isBehind: false, isOffline: false }
    byName.set(name, {
      name,
      leads: known.leads + (seen.leads ?? 0),
      copies: known.copies + 1,
      lag: known.lag + (seen.lag ?? 0),
      isBehind: known.isBehind || seen.isBehind === true,
      isOffline: known.isOffline || seen.isOffline === true,
    })
  }
  for (const { cluster } of streams) {
    if (cluster === undefined) continue
    if (cluster.leader !== undefined && cluster.leader !== '') note(cluster.leader, { leads: 1 })
    for (const { name, current, offline, lag } of cluster.replicas ?? []) {
      const lacks = lag ?? 0
      note(name, { lag: lacks, isBehind: !current || lacks > BEHIND_OPERATIONS, isOffline: offline })
    }
  }
  return [...byName.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1))
}
