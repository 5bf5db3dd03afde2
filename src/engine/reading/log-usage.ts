/** The messages, bytes and age of the whole log, from its segments. */
import type { EngineUsage } from '../../broker/ports/engine.ts'
import { messagesBetween } from '../segments/segment.ts'
import type { Segment } from '../segments/segment.ts'

/** The sums over all segments; the segments come oldest first. */
export function usageOf(segments: readonly Segment[]): EngineUsage {
  let messages = 0
  let bytes = 0
  for (const { bases, ends, length, shares } of segments) {
    if (shares !== undefined) messages += shares.keptMessages
    else for (const [partition, base] of bases.entries()) messages += messagesBetween(base, ends[partition] as number)
    bytes += length
  }
  const oldestAtMs = segments.find(({ firstMs }) => firstMs !== Infinity)?.firstMs
  return { messages, bytes, oldestAtMs }
}
