/** Reads the heads of a log's segments, and orders the segments to a chain. */
import { readDespiteErrors } from '../ports/disk.ts'
import type { Disk } from '../ports/disk.ts'
import { readSegmentHeader, segmentHeaderBytes, segmentName } from './segment-header.ts'
import type { SegmentHeader } from './segment-header.ts'

/** Heads that are read at a time. */
const HEADS_TOGETHER = 16

/** A segment, known by its head. */
export interface Head {
  readonly number: number
  /** Bytes of its file. */
  readonly size: number
  /** Undefined: the head is damaged. */
  readonly header: SegmentHeader | undefined
}

/**
 * Reads the heads of the segments with these numbers, in this order. Throws `NewerRecordError` and
 * the disk's errors.
 */
export async function readHeads(
  disk: Disk,
  directory: string,
  numbers: readonly number[],
  partitions: number,
): Promise<readonly Head[]> {
  const heads: Head[] = []
  for (let at = 0; at < numbers.length; at += HEADS_TOGETHER) {
    const some = numbers.slice(at, at + HEADS_TOGETHER)
    heads.push(...(await Promise.all(some.map((number) => readHead(disk, directory, number, partitions)))))
  }
  return heads
}

/**
 * Divides the segments into the log and leftovers. A leftover is a segment in which a write failed
 * before it was made part of the log, so its successor follows an older segment. The heads ascend.
 */
export function chainOf(heads: readonly Head[]): {
  readonly chain: readonly Head[]
  readonly leftovers: readonly Head[]
} {
  const chain: Head[] = []
  const leftovers: Head[] = []
  let newest = Infinity
  for (const head of heads.toReversed()) {
    const { number, header } = head
    if (number > newest) leftovers.push(head)
    else {
      chain.push(head)
      if (header !== undefined) newest = header.previous?.number ?? -1
    }
  }
  return { chain: chain.toReversed(), leftovers }
}

async function readHead(disk: Disk, directory: string, number: number, partitions: number): Promise<Head> {
  const file = await disk.open(`${directory}/${segmentName(number)}`)
  try {
    const bytes = Buffer.allocUnsafeSlow(segmentHeaderBytes(partitions, true))
    const bytesRead = await readDespiteErrors(file, [bytes], 0)
    const header = readSegmentHeader(bytes.subarray(0, bytesRead), partitions)
    return { number, size: await file.size(), header: header?.number === number ? header : undefined }
  } finally {
    await file.close()
  }
}
