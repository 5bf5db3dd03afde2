/**
 * Verifies a log's directory without changing it: reads every byte of every segment, index and
 * snapshot. The check runs the same recovery as a start, but reads everything. So it reports
 * exactly the data that a start would serve, and the data that a start would miss.
 */
import { silentLogger } from '../../logger.ts'
import type { Disk } from '../ports/disk.ts'
import { bytesOf, damageOf, describeDamage } from './log-damage.ts'
import type { LogDamage } from './log-damage.ts'
import { Accounts } from '../segments/accounts.ts'
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
  /** Keys of the state that a start recovers. */
  readonly stateKeys: number
  /**
   * Bytes that a power cut left behind the last record. They are cut off when the log is opened;
   * none of them was acknowledged.
   */
  readonly tornBytes: number
  readonly damages: readonly LogDamage[]
  /** Messages that are certainly lost. */
  readonly lostMessages: number
  /** The largest number of messages that may be lost besides `lostMessages`. */
  readonly furtherAtMost: number
  /** Damaged bytes of segments and snapshots. */
  readonly damagedBytes: number
  /** Files with damaged bytes that an earlier start kept aside. */
  readonly keptAside: number
  /** Sentences for people; empty: all is well. */
  readonly problems: readonly string[]
}

/**
 * Reads the whole of a log that no process has open. Undefined: there is no log. Throws
 * `LogDirectoryError` for a log that this program can't read.
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

/** A missing index is no damage: a crash leaves none beside the newest segment. */
async function checkIndexes(disk: Disk, directory: string, partitions: number): Promise<LogDamage[]> {
  const damages: LogDamage[] = []
  const accounts = new Accounts()
  const names = await disk.list(logDirectoryOf(directory))
  for (const name of names.toSorted()) {
    const number = indexNumberOf(name)
    if (number === undefined || !names.includes(segmentName(number))) continue
    const stored = await readStoredIndex(disk, logDirectoryOf(directory), number, partitions, accounts)
    if (stored === undefined) damages.push(damageOf('index', `log/${name}`))
  }
  return damages
}
