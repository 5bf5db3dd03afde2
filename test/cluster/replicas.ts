/**
 * The wait until each server of NATS has what the streams had when the wait began. A server under
 * load is nearly always some messages behind the leader of some stream. So "nothing is missing" may
 * never be true of all streams at one moment, and is not what is waited for.
 */
import { until } from './until.ts'

/** By the name of a stream: the sequence of its last message. */
export type LastSequences = ReadonlyMap<string, number>

export interface ReplicaLooks {
  /** The streams as their leaders have them. Rejects while a stream has no leader. */
  readonly streams: () => Promise<LastSequences>
  /** By the name of a server: the streams as the server itself has them. */
  readonly servers: () => Promise<ReadonlyMap<string, LastSequences>>
}

export interface Replication {
  /** The time that it took, ms; Infinity when the time was over. */
  readonly tookMs: number
  /** The messages that servers still lack, in words; none when all have come. */
  readonly lacking: readonly string[]
}

/** Resolves when each server has the messages that the streams had at the first look. */
export async function untilReplicated({ streams, servers }: ReplicaLooks, longestMs: number): Promise<Replication> {
  let wanted: LastSequences | undefined
  let lacking: readonly string[] = []
  const tookMs = await until(async () => {
    try {
      wanted ??= await streams()
      lacking = lackingOf(wanted, await servers())
    } catch (error) {
      // While servers elect a leader, they may not answer.
      lacking = [String(error)]
    }
    return lacking.length === 0
  }, longestMs)
  return { tookMs, lacking }
}

function lackingOf(wanted: LastSequences, servers: ReadonlyMap<string, LastSequences>): string[] {
  return [...servers].flatMap(([server, held]) =>
    [...wanted]
      .map(([stream, last]) => ({ stream, last, has: held.get(stream) ?? 0 }))
      .filter(({ last, has }) => has < last)
      .map(({ stream, last, has }) => `${server} has ${has} of ${last} of ${stream}`),
  )
}
