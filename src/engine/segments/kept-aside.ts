/**
 * Keeps damaged bytes in files of their own, in `damaged/` of the log's directory, so that people
 * can examine them later.
 */
import type { Logger } from '../../logger.ts'
import { codeOf, readDespiteErrors } from '../ports/disk.ts'
import type { Disk, DiskFile } from '../ports/disk.ts'
import { damagedDirectoryOf } from './log-directory.ts'
import type { Stretch } from './scan-records.ts'

/**
 * The bound on all files together; more damaged bytes are not kept. Without it, a disk that fails
 * over and over would fill itself with damaged bytes.
 */
const MAXIMUM_BYTES = 268_435_456
const MAXIMUM_FILES = 1_000
const PIECE_BYTES = 1_048_576

export class KeptAside {
  readonly #disk: Disk
  readonly #directory: string
  readonly #logger: Logger
  #known: { names: Set<string>; bytes: number } | undefined

  constructor(disk: Disk, directory: string, logger: Logger) {
    this.#disk = disk
    this.#directory = damagedDirectoryOf(directory)
    this.#logger = logger
  }

  /**
   * Copies bytes of a file, if there is room. Bytes that an earlier start copied are not copied
   * again. The disk's failures are only logged.
   */
  async keep(file: DiskFile, name: string, { from, to }: Stretch): Promise<void> {
    await this.#try(`${name}-${String(from).padStart(12, '0')}.bytes`, to - from, async (path) => {
      const copy = await this.#disk.create(path)
      try {
        for (let at = from; at < to;) {
          const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, to - at))
          const bytesRead = await readDespiteErrors(file, [piece], at)
          if (bytesRead === 0) break
          await copy.write([piece.subarray(0, bytesRead)], at - from)
          at += bytesRead
        }
        await copy.datasync()
      } catch (error) {
        await this.#disk.remove(path)
        throw error
      } finally {
        await copy.close()
      }
    })
  }

  /** Moves a whole file into the directory. False: it could not be moved. */
  async move(path: string): Promise<boolean> {
    const name = path.slice(path.lastIndexOf('/') + 1)
    const bytes = await sizeOf(this.#disk, path).catch(() => 0)
    return await this.#try(name, bytes, async (to) => this.#disk.rename(path, to))
  }

  async #try(name: string, bytes: number, run: (path: string) => Promise<void>): Promise<boolean> {
    try {
      const known = (this.#known ??= await this.#look())
      if (known.names.has(name)) return false
      if (known.bytes + bytes > MAXIMUM_BYTES || known.names.size >= MAXIMUM_FILES) {
        this.#logger.warn({ file: name, bytes }, 'log.damage_not_kept')
        return false
      }
      await this.#disk.makeDirectory(this.#directory)
      await run(`${this.#directory}/${name}`)
      known.names.add(name)
      known.bytes += bytes
      await this.#disk.syncDirectory(this.#directory)
      return true
    } catch (error) {
      if (codeOf(error) === 'unknown') throw error
      this.#logger.warn({ file: name, bytes, code: codeOf(error) }, 'log.damage_not_kept')
      return false
    }
  }

  async #look(): Promise<{ names: Set<string>; bytes: number }> {
    const names = await this.#disk.list(this.#directory)
    let bytes = 0
    for (const name of names) bytes += await sizeOf(this.#disk, `${this.#directory}/${name}`)
    return { names: new Set(names), bytes }
  }
}

async function sizeOf(disk: Disk, path: string): Promise<number> {
  const file = await disk.open(path)
  try {
    return await file.size()
  } finally {
    await file.close()
  }
}
