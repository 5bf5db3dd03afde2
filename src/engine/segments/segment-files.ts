/**
 * The open files of the segments that are being read: opened when needed, shared by their readers,
 * bounded in number.
 */
import type { Disk, DiskFile } from '../ports/disk.ts'
import { segmentName } from './segment-header.ts'
import type { Segment } from './segment.ts'

/** Files that are kept open for reading; files in use are not counted. Bounds the descriptors. */
const MAXIMUM_OPEN = 32

interface OpenFile {
  readonly opening: Promise<DiskFile>
  users: number
}

export class SegmentFiles {
  readonly #disk: Disk
  readonly #directory: string
  /** The open files by the ids of their segments; the first is the one used longest ago. */
  readonly #files = new Map<number, OpenFile>()

  constructor(disk: Disk, directory: string) {
    this.#disk = disk
    this.#directory = directory
  }

  /** Opens the segment's file for the duration of `run`. */
  async use<Result>({ id, number }: Segment, run: (file: DiskFile) => Promise<Result>): Promise<Result> {
    const open: OpenFile = this.#files.get(id) ?? {
      opening: this.#disk.open(`${this.#directory}/${segmentName(number)}`),
      users: 0,
    }
    this.#files.delete(id)
    this.#files.set(id, open)
    open.users += 1
    try {
      return await run(await open.opening)
    } catch (error) {
      this.#files.delete(id)
      throw error
    } finally {
      open.users -= 1
      if (open.users === 0 && this.#files.get(id) !== open) await closeQuietly(open)
      else await this.#closeBeyond(MAXIMUM_OPEN)
    }
  }

  /** Closes the segment's file once nobody uses it. */
  async forget({ id }: Segment): Promise<void> {
    const open = this.#files.get(id)
    this.#files.delete(id)
    if (open?.users === 0) await closeQuietly(open)
  }

  /** Closes all files that nobody uses. */
  close(): Promise<void> {
    return this.#closeBeyond(0)
  }

  async #closeBeyond(maximum: number): Promise<void> {
    for (const [id, open] of this.#files) {
      if (this.#files.size <= maximum) return
      if (open.users > 0) continue
      this.#files.delete(id)
      await closeQuietly(open)
    }
  }
}

/** A file that was only read has no data to lose, and a file that never opened needs no closing. */
async function closeQuietly({ opening }: OpenFile): Promise<void> {
  await opening.then((file) => file.close()).catch(() => {})
}
