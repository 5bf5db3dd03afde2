/**
 * Copies a log while it is in use, and makes a log from such a copy. The copy holds everything that
 * was committed when it was begun: the snapshot of the state, and the segments up to their last
 * committed records. In the restored log, offsets go on far behind the last one. So a place
 * (partition, offset) that the lost log gave away after the backup never names another message.
 */
import { silentLogger } from '../../logger.ts'
import { Accounts } from '../segments/accounts.ts'
import { NewSegments } from '../segments/active-segment.ts'
import { readArchive } from './archive.ts'
import type { ArchiveEntry } from './archive.ts'
import type { Disk, DiskFile } from '../ports/disk.ts'
import type { EmbeddedEngine } from '../embedded.ts'
import {
  LogDirectoryError,
  beginRestore,
  endRestore,
  formatText,
  logDirectoryOf,
  newSeal,
  parseFormat,
  readFormat,
  stateDirectoryOf,
  writeFormat,
} from '../segments/log-directory.ts'
import type { LogFormat } from '../segments/log-directory.ts'
import { recoverLog } from '../opening/recover-log.ts'
import { segmentName } from '../segments/segment-header.ts'
import { GAP_UNIT } from '../segments/segment.ts'

const PIECE_BYTES = 1_048_576
/**
 * Bounds the random gap of offsets. Two copies restored from one backup almost certainly go on at
 * different offsets.
 */
const MAXIMUM_GAP_UNITS = 256
const LOG_FILE = /^log\/\d{20}\.log$/
const STATE_FILE = /^state\/\d{20}-\d{12}\.snapshot$/

/**
 * The files of a log that is in use, for an archive. Retention waits until the files have been read
 * or the generator was ended.
 */
export async function* backupEntries(engine: EmbeddedEngine): AsyncGenerator<ArchiveEntry> {
  const { files, release } = await engine.pinFiles()
  const { disk, directory, partitions, seal, segments, snapshot } = files
  try {
    const format = formatText({ partitions, seal })
    yield { name: 'format', size: format.length, content: once(format) }
    if (snapshot !== undefined) yield* fileEntry(disk, directory, `state/${snapshot}`, undefined)
    for (const { number, length } of segments) yield* fileEntry(disk, directory, `log/${segmentName(number)}`, length)
  } finally {
    release()
  }
}

/** True for the names that `backupEntries` gives to its files. */
export function isLogEntry(name: string): boolean {
  return name === 'format' || LOG_FILE.test(name) || STATE_FILE.test(name)
}

/**
 * Makes a log in a new directory from the entries of a backup. The log can be opened only after
 * `finish` has resolved.
 */
export class LogRestore {
  readonly #disk: Disk
  readonly #directory: string
  readonly #random: () => number
  #format: LogFormat | undefined

  /** `random` gives numbers from 0 to 1. */
  constructor(disk: Disk, directory: string, random: () => number) {
    this.#disk = disk
    this.#directory = directory
    this.#random = random
  }

  /** Makes the directory. Throws `LogDirectoryError` if there is a log in it. */
  async begin(): Promise<void> {
    if ((await readFormat(this.#disk, this.#directory)) !== undefined) {
      const message = `There is a log in ${this.#directory} already. A backup is restored into a new directory.`
      throw new LogDirectoryError('not_a_log', message)
    }
    await this.#disk.makeDirectory(this.#directory)
    // This comes first: a directory whose restore did not end is never taken for a log.
    await beginRestore(this.#disk, this.#directory)
    await this.#disk.makeDirectory(logDirectoryOf(this.#directory))
    await this.#disk.makeDirectory(stateDirectoryOf(this.#directory))
  }

  /**
   * Writes a file of the log. Returns false, without reading it, for a file that is no part of a
   * log.
   */
  async take({ name, content }: ArchiveEntry): Promise<boolean> {
    if (name === 'format') {
      const pieces: Buffer[] = []
      for await (const bytes of content) pieces.push(bytes)
      const format = parseFormat(Buffer.concat(pieces), this.#directory)
      if (format === undefined)
        throw new LogDirectoryError('not_a_log', 'The description of the log in the backup is damaged.')
      this.#format = { partitions: format.partitions, seal: format.seal ?? newSeal() }
      return true
    }
    if (!LOG_FILE.test(name) && !STATE_FILE.test(name)) return false
    const file = await this.#disk.create(`${this.#directory}/${name}`)
    try {
      let position = 0
      for await (const bytes of content) {
        await file.write([bytes], position)
        position += bytes.length
      }
      await file.datasync()
    } finally {
      await file.close()
    }
    return true
  }

  /**
   * Makes the directory a log; durable when it resolves. Call it after the whole backup was read
   * and was valid.
   */
  async finish(nowMs: number): Promise<void> {
    const disk = this.#disk
    const directory = logDirectoryOf(this.#directory)
    const format = this.#format
    if (format === undefined) throw new LogDirectoryError('not_a_log', 'The backup holds no log.')
    await disk.syncDirectory(stateDirectoryOf(this.#directory))
    const options = { disk, directory: this.#directory, format, logger: silentLogger, purpose: 'open' } as const
    const recovered = await recoverLog(options)
    const { segments, tails, lastNumber } = recovered
    const gap = GAP_UNIT * (1 + Math.floor(this.#random() * MAXIMUM_GAP_UNITS))
    const newSegments = new NewSegments({
      disk,
      directory,
      segments,
      lastNumber,
      seal: format.seal,
      gap: gap + recovered.gap,
      segmentBytes: 0,
      segmentMs: 0,
      accounts: new Accounts(),
    })
    const bases = tails.map((tail) => tail + gap)
    const active = await newSegments.begin(bases, nowMs)
    newSegments.link(active)
    await active.append(active.head === undefined ? [] : [active.head])
    await newSegments.made(active)
    await active.close()
    await writeFormat(disk, this.#directory, format)
    await endRestore(disk, this.#directory)
  }
}

/**
 * Restores a backup that holds only a log. Throws `ArchiveError`, `LogDirectoryError` and the
 * errors of the disk and the source.
 */
export async function restoreLog(
  disk: Disk,
  directory: string,
  source: AsyncIterable<Buffer>,
  world: { readonly random: () => number; readonly nowMs: number },
): Promise<void> {
  const restore = new LogRestore(disk, directory, world.random)
  await restore.begin()
  await readArchive(source, async (entry) => {
    if (await restore.take(entry)) return
    throw new LogDirectoryError('not_a_log', `The backup holds "${entry.name}", which is no part of a log.`)
  })
  await restore.finish(world.nowMs)
}

/** The first `length` bytes of one file. */
async function* fileEntry(
  disk: Disk,
  directory: string,
  name: string,
  length: number | undefined,
): AsyncGenerator<ArchiveEntry> {
  const file = await disk.open(`${directory}/${name}`)
  try {
    const size = length ?? (await file.size())
    yield { name, size, content: contentOf(file, size) }
  } finally {
    await file.close()
  }
}

async function* contentOf(file: DiskFile, size: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < size;) {
    const bytes = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, size - position))
    const bytesRead = await file.read([bytes], position)
    if (bytesRead === 0) return
    position += bytesRead
    yield bytes.subarray(0, bytesRead)
  }
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
