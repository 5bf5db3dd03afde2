/**
 * Verifies a log's directory and changes nothing in it: every byte of every segment, index and
 * snapshot is read. It is the recovery of a start, told to read all, so what it says is what a
 * start serves and misses.
 */
import { silentLogger } from '../../logger.ts'
import type { Disk } from '../ports/disk.ts'
import { bytesOf, damageOf, describeDamage } from './log-damage.ts'
import type { LogDamage } from './log-damage.ts'
import { damagedDirectoryOf, logDirectoryOf, newSeal, readFormat } from '../segments/log-directory.ts'
import { recoverLog } from './recover-log.ts'
import { indexNumberOf, segmentName } from '../segments/segment-header.ts'
import { readStoredIndex } from '../segments/segment-indexes.ts'

export interface LogReport {
  readonly partitions: number
  readonly segments: number
  readonly bytes: number
  readonly records: number
  readonly messages: number
  /** Keys of the state as a start recovers it. */
  readonly stateKeys: number
  /**
   * What a power cut left behind the last record: cut off when the log is opened, and nothing that
   * was acknowledged.
   */
  readonly tornBytes: number
  readonly damages: readonly LogDamage[]
  /** Messages that are lost for sure, */
  readonly lostMessages: number
  /** and so many more at most. */
  readonly furtherAtMost: number
  /** Bytes of the segments and snapshots that are damaged. */
  readonly damagedBytes: number
  /** Files with damaged bytes that a start before this one kept aside. */
  readonly keptAside: number
  /** Sentences for people; none: all is well. */
  readonly problems: readonly string[]
}

/**
 * Reads all of a log that no process has open. Throws `LogDirectoryError` when there is none that
 * this program can read.
 */
export async function checkLog(disk: Disk, directory: string): Promise<LogReport | undefined> {
  const stored = await readFormat(disk, directory)
  if (stored === undefined) return undefined
  const format = { partitions: stored.partitions, seal: stored.seal ?? newSeal() }
  const recovered = await recoverLog({ disk, directory, format, logger: silentLogger, purpose: 'check' })
  const ofFormat = stored.isWhole ? [] : [damageOf('format', 'format')]
  const ofIndexes = await checkIndexes(disk, directory, stored.partitions)
  const damages = [...ofFormat, ...recovered.damages, ...ofIndexes]
  const { segments, records, messages, state, cutBytes } = recovered
  return {
    partitions: stored.partitions,
    segments: segments.length,
    bytes: segments.reduce((sum, { length }) => sum + length, 0),
    records,
    messages,
    stateKeys: state.size,
    tornBytes: cutBytes,
    damages,
    lostMessages: damages.reduce((sum, damage) => sum + damage.lostMessages, 0),
    furtherAtMost: damages.reduce((sum, damage) => sum + damage.furtherAtMost, 0),
    damagedBytes: damages.reduce((sum, damage) => sum + bytesOf(damage), 0),
    keptAside: (await disk.list(damagedDirectoryOf(directory))).length,
    problems: damages.map(describeDamage),
  }
}

/** One that is missing is no damage: a crash leaves none beside the newest segment. */
async function checkIndexes(disk: Disk, directory: string, partitions: number): Promise<LogDamage[]> {
  const damages: LogDamage[] = []
  const names = await disk.list(logDirectoryOf(directory))
  for (const name of names.toSorted()) {
    const number = indexNumberOf(name)
    if (number === undefined || !names.includes(segmentName(number))) continue
    const stored = await readStoredIndex(disk, logDirectoryOf(directory), number, partitions)
    if (stored === undefined) damages.push(damageOf('index', `log/${name}`))
  }
  return damages
}
