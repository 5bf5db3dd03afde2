/** Reads each segment's shares of the accounts when a log is opened. */
import type { Disk } from '../ports/disk.ts'
import type { Accounts } from '../segments/accounts.ts'
import { adoptShares } from '../segments/segment-indexes.ts'
import { readStoredShares } from '../segments/segment-index-file.ts'
import type { Segment } from '../segments/segment.ts'

/** Segments whose shares are read at a time. */
const TOGETHER = 16

/**
 * Gives the segments their shares. A segment without a valid index has none: the upkeep makes them
 * later from its records.
 */
export async function openShares({
  disk,
  directory,
  segments,
  accounts,
}: {
  readonly disk: Disk
  readonly directory: string
  readonly segments: readonly Segment[]
  readonly accounts: Accounts
}): Promise<void> {
  for (let at = 0; at < segments.length; at += TOGETHER) {
    const some = segments.slice(at, at + TOGETHER)
    await Promise.all(
      some.map(async (segment) => {
        const shares = segment.index?.shares ?? (await readStoredShares(disk, directory, segment, accounts))
        if (shares !== undefined) adoptShares(segment, shares)
      }),
    )
  }
}
