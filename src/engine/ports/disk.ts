/**
 * The disk port: the few operations of a file system that the embedded engine needs, and the
 * guarantees that it may rely on. In tests, a simulated disk forgets, tears and reorders everything
 * that was not synced.
 */

/** An open file. Every operation fails with the operating system's code (`ENOSPC`, `EIO`, ...). */
export interface DiskFile {
  /** The file's size in bytes. */
  size(): Promise<number>
  /**
   * Writes all pieces in one call, one behind the other. After a failure, any part of them may have
   * been written.
   */
  write(pieces: readonly Buffer[], position: number): Promise<void>
  /**
   * Resolves when the written bytes and the length survive a power cut. After a failure, none of
   * them can be relied on, and a second call proves nothing.
   */
  datasync(): Promise<void>
  /**
   * Fills the pieces one behind the other. Returns the number of bytes read: fewer than asked for
   * at the end of the file.
   */
  read(pieces: readonly Buffer[], position: number): Promise<number>
  truncate(length: number): Promise<void>
  close(): Promise<void>
}

/**
 * Paths are the caller's, with `/` between names. A new, renamed or removed name survives a power
 * cut after `syncDirectory`.
 */
export interface Disk {
  /** Creates a file for reading and writing; fails with `EEXIST` if there is one. */
  create(path: string): Promise<DiskFile>
  /**
   * As `create`, but what is written by `write` is as durable as after `datasync` when the call
   * resolves. A failure means what a failure of `datasync` means.
   */
  createSynced(path: string): Promise<DiskFile>
  /** Opens a file for reading and writing; fails with `ENOENT` if there is none. */
  open(path: string): Promise<DiskFile>
  /** The names in a directory, in any order; empty if there is no directory. */
  list(directory: string): Promise<readonly string[]>
  /**
   * Makes the directory and its parents durably. If the directory exists, only makes it durable.
   */
  makeDirectory(path: string): Promise<void>
  syncDirectory(path: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** Removes a file. Does nothing if there is none. */
  remove(path: string): Promise<void>
}

/** Reads a whole file into new memory. */
export async function readWhole(disk: Disk, path: string): Promise<Buffer> {
  const file = await disk.open(path)
  try {
    const bytes = Buffer.allocUnsafeSlow(await file.size())
    return bytes.subarray(0, await file.read([bytes], 0))
  } finally {
    await file.close()
  }
}

/** The unit that a disk with bad sectors can still read around them. */
const PAGE_BYTES = 4_096

/**
 * Reads as `DiskFile.read`, but puts zeros, page by page, in the place of bytes that the disk can't
 * read (`EIO`): a bad sector must not cost the bytes around it. The checksums of the records show
 * that the zeros are no record.
 */
export async function readDespiteErrors(file: DiskFile, pieces: readonly Buffer[], position: number): Promise<number> {
  try {
    return await file.read(pieces, position)
  } catch (error) {
    if (codeOf(error) !== 'EIO') throw error
  }
  const size = await file.size()
  let at = position
  for (const piece of pieces) {
    for (let start = 0; start < piece.length && at < size;) {
      const page = piece.subarray(start, Math.min(piece.length, start + PAGE_BYTES - (at % PAGE_BYTES)))
      const bytesRead = await file.read([page], at).catch((error: unknown) => {
        if (codeOf(error) !== 'EIO') throw error
        page.fill(0)
        return Math.min(page.length, size - at)
      })
      if (bytesRead === 0) return at - position
      start += bytesRead
      at += bytesRead
    }
  }
  return at - position
}

/**
 * Replaces a whole file: after a power cut, the old or the new content is there. Resolves when the
 * new content is durable.
 */
export async function replaceWhole(disk: Disk, directory: string, name: string, bytes: Buffer): Promise<void> {
  const temporary = `${directory}/${name}.new`
  await disk.remove(temporary)
  const file = await disk.create(temporary)
  try {
    await file.write([bytes], 0)
    await file.datasync()
  } finally {
    await file.close()
  }
  await disk.rename(temporary, `${directory}/${name}`)
  await disk.syncDirectory(directory)
}

/** The operating system's code of a failed operation, or `unknown`. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
}
