/**
 * The directory of an embedded log:
 *
 * - `format`: a line that says which version of the program wrote the log;
 * - `log/`: the segments and their indexes;
 * - `state/`: the newest two snapshots of the state;
 * - `damaged/`: damaged bytes.
 *
 * The head of each segment repeats the content of `format`, so a log whose `format` is damaged or
 * missing can still be read.
 */
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { codeOf, readWhole, replaceWhole } from '../ports/disk.ts'
import type { Disk } from '../ports/disk.ts'
import { readAnySegmentHeader, segmentName, segmentNumberOf } from './segment-header.ts'

/**
 * The version of the directory that this program writes; it reads this version and all earlier
 * ones.
 */
const FORMAT_VERSION = 2
/** A file that exists from the first to the last write of a restore. */
const UNFINISHED = 'restore-unfinished'
/** The most heads that are read, newest first, if `format` does not give the answer. */
const MAXIMUM_HEADS = 64

/** A data directory that this program can't use. `message` is a sentence for people. */
export class LogDirectoryError extends Error {
  readonly code: 'newer_format' | 'partitions_differ' | 'not_a_log'

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

export function damagedDirectoryOf(directory: string): string {
  return `${directory}/damaged`
}

/** The properties that all files of a log share. */
export interface LogFormat {
  readonly partitions: number
  /** The seal of records that are written from now on, and of snapshots (record.ts). */
  readonly seal: number
}

/** The log's properties as its directory tells them. */
export interface StoredFormat {
  readonly partitions: number
  /** Undefined: version 1 wrote all of it. */
  readonly seal: number | undefined
  /** False: the file `format` is missing or damaged, and the head of a segment gave the answer. */
  readonly isWhole: boolean
}

/**
 * Makes the missing parts of the directory; they are durable when it resolves. If the disk accepts
 * no writes, a log that can be read is left as it is. Throws `LogDirectoryError` for a directory
 * that this program must not use.
 */
export async function prepareLogDirectory(disk: Disk, directory: string, partitions: number): Promise<LogFormat> {
  for (const path of [directory, logDirectoryOf(directory), stateDirectoryOf(directory)]) await disk.makeDirectory(path)
  const stored = await readFormat(disk, directory)
  // If an earlier process was killed at the wrong moment, its files may be in the system's memory
  // alone. Everything that follows depends on them.
  await disk.syncDirectory(stateDirectoryOf(directory))
  await disk.syncDirectory(directory)
  if (stored !== undefined && stored.partitions !== partitions) {
    throw new LogDirectoryError(
      'partitions_differ',
      `The log in ${directory} has ${stored.partitions} partitions, and can't be used with ${partitions}.`,
    )
  }
  const format = { partitions, seal: stored?.seal ?? newSeal() }
  if (stored?.isWhole === true && stored.seal !== undefined) return format
  try {
    await writeFormat(disk, directory, format)
  } catch (error) {
    // The heads of new segments repeat the seal; the next start writes the file.
    if (stored === undefined || codeOf(error) === 'unknown') throw error
  }
  return format
}

/**
 * The format that the directory was written with; undefined: the directory is new. Throws
 * `LogDirectoryError` for a log that this program can't read.
 */
export async function readFormat(disk: Disk, directory: string): Promise<StoredFormat | undefined> {
  const names = await disk.list(directory)
  if (names.includes(UNFINISHED)) {
    throw new LogDirectoryError('not_a_log', `There is a part of a log in ${directory}: a restore was not finished.`)
  }
  const format = names.includes('format')
    ? parseFormat(await readWhole(disk, `${directory}/format`), directory)
    : undefined
  if (format?.seal !== undefined) return { ...format, isWhole: true }
  // The line of version 1 has no checksum, so the heads decide.
  const fromHead = await formatOfHeads(disk, directory)
  if (format !== undefined && (fromHead === undefined || fromHead.partitions === format.partitions)) {
    return { partitions: format.partitions, seal: fromHead?.seal, isWhole: true }
  }
  if (fromHead !== undefined) return { ...fromHead, isWhole: false }
  const segments = (await disk.list(logDirectoryOf(directory))).filter((name) => segmentNumberOf(name) !== undefined)
  if (!names.includes('format') && segments.length === 0) return undefined
  const fault = names.includes('format') ? 'is not that of a log of Fieldgate' : 'is missing'
  throw new LogDirectoryError(
    'not_a_log',
    `The file "format" in ${directory} ${fault}, and no segment has a head that says what it did.`,
  )
}

/**
 * Reads the content of a file `format`; undefined: it is damaged. Throws `LogDirectoryError` if a
 * newer version wrote it.
 */
export function parseFormat(
  format: Buffer,
  directory: string,
): { readonly partitions: number; readonly seal: number | undefined } | undefined {
  const text = format.toString('latin1')
  const [, ofVersion1] = /^fieldgate-log 1 partitions (\d{1,5})\n/.exec(text) ?? []
  if (ofVersion1 !== undefined) return { partitions: Number(ofVersion1), seal: undefined }
  const [, line = '', version, check] = /^(fieldgate-log (\d{1,9}) .{1,200}) check ([0-9a-f]{8})\n/.exec(text) ?? []
  if (check === undefined || check !== hexadecimal(crc32(line))) return undefined
  if (Number(version) > FORMAT_VERSION) {
    throw new LogDirectoryError(
      'newer_format',
      `The log in ${directory} is of version ${version}, written by a newer Fieldgate; this one reads versions up to ${FORMAT_VERSION}. Use the newer one.`,
    )
  }
  const [, partitions, seal] = / partitions (\d{1,5}) seal ([0-9a-f]{8})$/.exec(line) ?? []
  if (partitions === undefined || seal === undefined) return undefined
  return { partitions: Number(partitions), seal: Number.parseInt(seal, 16) }
}

/** The content of the file `format`. */
export function formatText({ partitions, seal }: LogFormat): Buffer {
  const line = `fieldgate-log ${FORMAT_VERSION} partitions ${partitions} seal ${hexadecimal(seal)}`
  return Buffer.from(`${line} check ${hexadecimal(crc32(line))}\n`)
}

/** Writes the file `format`; it is durable when this resolves. */
export async function writeFormat(disk: Disk, directory: string, format: LogFormat): Promise<void> {
  await replaceWhole(disk, directory, 'format', formatText(format))
}

/** A seal that nobody can guess. */
export function newSeal(): number {
  // 0 is the seal of version 1.
  return randomBytes(4).readUInt32LE() || 1
}

/** Marks the directory: a log is being restored into it. Durable when this resolves. */
export async function beginRestore(disk: Disk, directory: string): Promise<void> {
  await replaceWhole(disk, directory, UNFINISHED, Buffer.alloc(0))
}

/** Removes the mark of `beginRestore`. Durable when this resolves. */
export async function endRestore(disk: Disk, directory: string): Promise<void> {
  await disk.remove(`${directory}/${UNFINISHED}`)
  await disk.syncDirectory(directory)
}

/**
 * The format from the heads of the segments: from the newest whole head with a seal, else from the
 * newest whole head.
 */
async function formatOfHeads(
  disk: Disk,
  directory: string,
): Promise<{ readonly partitions: number; readonly seal: number | undefined } | undefined> {
  const numbers = (await disk.list(logDirectoryOf(directory))).flatMap((name) => segmentNumberOf(name) ?? [])
  const newestFirst = numbers.toSorted((one, other) => other - one).slice(0, MAXIMUM_HEADS)
  let unsealed: number | undefined
  for (const number of newestFirst) {
    const file = await disk.open(`${logDirectoryOf(directory)}/${segmentName(number)}`)
    try {
      const header = await readAnySegmentHeader(file)
      if (header?.number !== number) continue
      if (header.seal !== 0) return { partitions: header.bases.length, seal: header.seal }
      unsealed ??= header.bases.length
    } finally {
      await file.close()
    }
  }
  return unsealed === undefined ? undefined : { partitions: unsealed, seal: undefined }
}

function hexadecimal(value: number): string {
  return value.toString(16).padStart(8, '0')
}
