/**
 * The directory of an embedded log: `format`, a line that says what wrote it; `log/`, the segments and their indexes; `state/`, the snapshot of the
 * state.
 */
import { readWhole, replaceWhole } from './disk.ts'
import type { Disk } from './disk.ts'
import { segmentNumberOf } from './segment-header.ts'

/** The version of the directory that this program writes; it reads this one and all before. */
const FORMAT_VERSION = 1

/** A data directory that this program can't use. `message` is a sentence for people. */
export class LogDirectoryError extends Error {
  readonly code: 'newer_format' | 'partitions_differ' | 'not_a_log' | 'damaged'

  constructor(code: LogDirectoryError['code'], message: string) {
    super(message)
    this.code = code
  }
}

export function logDirectoryOf(directory: string): string {
  return `${directory}/log`
}

export function stateDirectoryOf(directory: string): string {
  return `${directory}/state`
}

/** Makes what is missing of the directory; durable when resolved. Throws `LogDirectoryError` when it is not this program's to use. */
export async function prepareLogDirectory(disk: Disk, directory: string, partitions: number): Promise<void> {
  for (const path of [directory, logDirectoryOf(directory), stateDirectoryOf(directory)]) await disk.makeDirectory(path)
  const stored = await readFormat(disk, directory)
  // What an earlier process made may stand in the system's memory alone, if it was killed at the wrong moment; all that follows rests on it.
  await disk.syncDirectory(stateDirectoryOf(directory))
  await disk.syncDirectory(directory)
  if (stored === undefined) await writeFormat(disk, directory, partitions)
  else if (stored.partitions !== partitions) {
    throw new LogDirectoryError(
      'partitions_differ',
      `The log in ${directory} has ${stored.partitions} partitions, and can't be used with ${partitions}.`,
    )
  }
}

/** What wrote the directory; undefined: nothing did, it is new. Throws `LogDirectoryError` for what this program can't read. */
export async function readFormat(disk: Disk, directory: string): Promise<{ readonly partitions: number } | undefined> {
  if (!(await disk.list(directory)).includes('format')) {
    const names = await disk.list(logDirectoryOf(directory))
    if (names.every((name) => segmentNumberOf(name) === undefined)) return undefined
    throw new LogDirectoryError(
      'not_a_log',
      `There are segments of a log in ${directory}, but its file "format" is missing: a restore was not finished, or the file was removed.`,
    )
  }
  return { partitions: parsePartitions(await readWhole(disk, `${directory}/format`), directory) }
}

/** The number of partitions that the content of a file `format` speaks of. Throws `LogDirectoryError` for one that this program can't read. */
export function parsePartitions(format: Buffer, directory: string): number {
  const [, version, partitions] = /^fieldgate-log (\d{1,9}) partitions (\d{1,5})\n/.exec(format.toString('utf8')) ?? []
  if (version === undefined || partitions === undefined) {
    throw new LogDirectoryError('not_a_log', `The file "format" in ${directory} is not that of a log of Fieldgate.`)
  }
  if (Number(version) > FORMAT_VERSION) {
    throw new LogDirectoryError(
      'newer_format',
      `The log in ${directory} is of version ${version}, written by a newer Fieldgate; this one reads versions up to ${FORMAT_VERSION}. Use the newer one.`,
    )
  }
  return Number(partitions)
}

/** The content of the file `format`. */
export function formatText(partitions: number): Buffer {
  return Buffer.from(`fieldgate-log ${FORMAT_VERSION} partitions ${partitions}\n`)
}

/** Says what writes the directory; durable when resolved. */
export async function writeFormat(disk: Disk, directory: string, partitions: number): Promise<void> {
  await replaceWhole(disk, directory, 'format', formatText(partitions))
}
