/**
 * Replay: a subscription asks for older messages, from an event's id or a time on, and then goes on
 * live. In MQTT 5 a client asks by the User Property `replay-from` of SUBSCRIBE, in both versions
 * by a prefix: `$replay/<from>/<Topic Filter>`.
 */
import type { SubscribePacket } from '../../mqtt/packet.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import type { Engine } from '../ports/engine.ts'
import { placeOfId } from '../ports/message.ts'

const PREFIX = '$replay/'
const USER_PROPERTY = 'replay-from'
/**
 * A time of RFC 3339 §5.6, in UTC or with an offset. A Topic Filter can't hold the `+` of an
 * offset, so there the time is in UTC.
 */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i

export interface ReplayFilter {
  /** The Topic Filter without the prefix. */
  readonly topicFilter: string
  /** An id or a time; undefined where no replay is asked for. */
  readonly from: string | undefined
}

/** Takes the prefix, if there is one, off a Topic Filter. */
export function splitReplayFilter(topicFilter: string): ReplayFilter {
  if (!topicFilter.startsWith(PREFIX)) return { topicFilter, from: undefined }
  const end = topicFilter.indexOf('/', PREFIX.length)
  if (end === -1) return { topicFilter, from: undefined }
  return { topicFilter: topicFilter.slice(end + 1), from: topicFilter.slice(PREFIX.length, end) }
}

/**
 * The User Property of a SUBSCRIBE; it holds for all of the packet's Topic Filters. The last one
 * counts.
 */
export function replayProperty(packet: SubscribePacket): string | undefined {
  return packet.properties?.userProperties?.findLast(([name]) => name === USER_PROPERTY)?.[1]
}

/** The offsets to begin at, by partition; or the fault of the request. */
export type ReplayStart =
  | { readonly from: ReadonlyMap<number, number> }
  | { readonly reasonCode: ReasonCode; readonly reason: string }

/**
 * Finds where a replay begins. `partitions` are those of the Topic Filter. A replay by id begins
 * behind its event, which must be of the filter's own branch. Nothing that is older than `sinceMs`
 * is ever sent.
 */
export async function findReplayStart(
  engine: Engine,
  partitions: readonly number[],
  from: string,
  sinceMs: number,
): Promise<ReplayStart> {
  const place = placeOfId(from)
  if (place !== undefined) {
    if (partitions.length === 1 && partitions[0] === place.partition) {
      const first = sinceMs === 0 ? 0 : await engine.offsetAt(place.partition, sinceMs)
      return { from: new Map([[place.partition, Math.max(place.offset + 1, first)]]) }
    }
    return invalid(`replay-from: ${from} is not the id of an event of this Topic Filter`)
  }
  const timeMs = TIME.test(from) ? Date.parse(from) : Number.NaN
  if (Number.isNaN(timeMs)) return invalid('replay-from: is neither the id of an event nor a time as in RFC 3339')
  const starts = new Map<number, number>()
  for (const partition of partitions) {
    starts.set(partition, await engine.offsetAt(partition, Math.max(timeMs, sinceMs)))
  }
  return { from: starts }
}

function invalid(reason: string): ReplayStart {
  return { reasonCode: ReasonCodes.topicFilterInvalid, reason }
}
