/** Chooses the segments that are worth a rewriting. */
import { GREATEST_GAP } from '../segments/segment-indexes.ts'
import type { Segment } from '../segments/segment.ts'

/**
 * A segment is rewritten when at least this part of it can be given back. So the log writes no more
 * bytes again than it gives back.
 */
const WORTH = 1 / 2
/** The same while the log is nearly full. */
const WORTH_UNDER_PRESSURE = 1 / 16
/** The most segments that become one in a single rewriting. Bounds the open files. */
const MAXIMUM_SOURCES = 16
/**
 * The most bytes that are read in a single rewriting, in segments. Bounds the memory for the
 * indexes of these segments.
 */
const MAXIMUM_SEGMENTS_OF_BYTES = 4
/**
 * A neighbour joins if it has at most this many times the bytes of the others. So a byte is copied
 * a few times, however small the segments are that a flood leaves behind.
 */
const JOINS_UP_TO = 4

export interface Choice {
  /** Only segments with lower numbers may be rewritten. */
  readonly below: number
  readonly isUnderPressure: boolean
  /** Bounds of a segment that several segments become. */
  readonly segmentBytes: number
  readonly segmentMs: number
  /** Segments that can't be rewritten, because they are damaged. */
  readonly spoiled: ReadonlySet<Segment>
}

/** Bytes of a segment that its rewriting would give back. */
export function freeableBytes({ length, headBytes, rewritten, shares }: Segment): number {
  if (shares === undefined) return 0
  return rewritten === undefined ? length - headBytes - shares.keptBytes : shares.removedBytes
}

/** The adjacent segments that are to become one; undefined: no segment is worth it. */
export function chooseRewrite(segments: readonly Segment[], choice: Choice): readonly Segment[] | undefined {
  let best = -1
  let most = 0
  for (const [place, segment] of segments.entries()) {
    const freeable = freeableBytes(segment)
    if (freeable <= most || !mayBeRewritten(segment, choice) || !isWorth(segment, choice)) continue
    best = place
    most = freeable
  }
  return best === -1 ? undefined : withNeighbours(segments, best, choice)
}

/**
 * True if a segment with removed messages is worth it, but must wait for a snapshot of the state.
 */
export function waitsForSnapshot(segments: readonly Segment[], choice: Choice): boolean {
  return segments.some((segment) => {
    const { number, isSealed, shares, length } = segment
    // Without removed messages, the next snapshot that is due is early enough.
    const isNeeded = (shares?.removedBytes ?? 0) >= length * WORTH_UNDER_PRESSURE && isWorth(segment, choice)
    return number >= choice.below && isSealed && segment !== segments.at(-1) && isNeeded
  })
}

function mayBeRewritten(segment: Segment, { below, spoiled }: Choice): boolean {
  return segment.isSealed && segment.number < below && segment.shares !== undefined && !spoiled.has(segment)
}

function isWorth(segment: Segment, { isUnderPressure }: Choice): boolean {
  return freeableBytes(segment) >= segment.length * (isUnderPressure ? WORTH_UNDER_PRESSURE : WORTH)
}

function withNeighbours(segments: readonly Segment[], place: number, choice: Choice): readonly Segment[] {
  let first = place
  let last = place
  for (;;) {
    const run = segments.slice(first, last + 1)
    const before = segments[first - 1]
    const after = segments[last + 1]
    if (before !== undefined && joins(before, [before, ...run], choice)) first -= 1
    else if (after !== undefined && joins(after, [...run, after], choice)) last += 1
    else return run
  }
}

/** True if the neighbour may become one with the others of the row, which it begins or ends. */
function joins(neighbour: Segment, row: readonly Segment[], choice: Choice): boolean {
  if (row.length > MAXIMUM_SOURCES || !mayBeRewritten(neighbour, choice)) return false
  if (neighbour.rewritten === undefined && !isWorth(neighbour, choice)) return false
  const bytes = keptBytes(neighbour)
  const all = row.reduce((sum, segment) => sum + keptBytes(segment), 0)
  const read = row.reduce((sum, segment) => sum + segment.length, 0)
  if (all > choice.segmentBytes || read > MAXIMUM_SEGMENTS_OF_BYTES * choice.segmentBytes) return false
  if (bytes > JOINS_UP_TO * Math.max(all - bytes, choice.segmentBytes / 64)) return false
  const times = row.map(({ createdAtMs }) => createdAtMs)
  if (Math.max(...times) - Math.min(...times) > choice.segmentMs) return false
  return (
    row.every((segment, index) => index === 0 || followsDirectly(row[index - 1] as Segment, segment)) && isShort(row)
  )
}

/** True if no offset is skipped between two segments, and both are sealed alike. */
function followsDirectly(before: Segment, after: Segment): boolean {
  return before.seal === after.seal && before.ends.every((end, partition) => end === after.base(partition))
}

/** True if an index can hold the offsets of all these segments. */
function isShort(row: readonly Segment[]): boolean {
  const [first, last] = [row[0] as Segment, row.at(-1) as Segment]
  return last.ends.every((end, partition) => end - first.base(partition) < GREATEST_GAP)
}

function keptBytes({ shares }: Segment): number {
  return shares?.keptBytes ?? 0
}
