/**
 * The disk port: the few operations of a file system that the embedded engine rests on, and what it
 * may rely on. A simulated disk stands behind it in the tests, which forgets, tears and reorders
 * whatever was not synced.
 */

/** An open file. Every operation fails with the operating system's code (`ENOSPC`, `EIO`, ...). */
export interface DiskFile {
  /** Bytes. */
  size(): Promise<number>
  /**
   * Writes all of the pieces in one go, one behind the other. After a failure any part of them may
   * have been written.
   */
  write(pieces: readonly Buffer[], position: number): Promise<void>
  /**
   * Resolved: what was written, and the length, survive a power cut. After a failure none of it can
   * be relied on, and asking again proves nothing.
   */
  datasync(): Promise<void>
  /**
   * Fills the pieces one behind the other; answers the bytes read, fewer than asked for at the end
   * of the file.
   */
  read(pieces: readonly Buffer[], position: number): Promise<number>
  truncate(length: number): Promise<void>
  close(): Promise<void>
}

/**
 * Paths are what the caller was given, with `/` between names. A new, renamed or removed name
 * survives a power cut after `syncDirectory`.
 */
export interface Disk {
  /** A new file, for reading and writing; fails with `EEXIST` when there is one. */
  create(path: string): Promise<DiskFile>
  /** For reading and writing; fails with `ENOENT` when there is none. */
  open(path: string): Promise<DiskFile>
  /** The names in a directory, in any order; none when there is no directory. */
  list(directory: string): Promise<readonly string[]>
  /** Makes the directory and those above it, durably; only makes it durable when it is there. */
  makeDirectory(path: string): Promise<void>
  syncDirectory(path: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** Does nothing when there is no such file. */
  remove(path: string): Promise<void>
}

/** Reads a whole file, into memory of its own. */
export async function readWhole(disk: Disk, path: string): Promise<Buffer> {
  const file = await disk.open(path)
  try {
    const bytes = Buffer.allocUnsafeSlow(await file.size())
    return bytes.subarray(0, await file.read([bytes], 0))
  } finally {
    await file.close()
  }
}

/** What a disk that has bad sectors can still read around them. */
const PAGE_BYTES = 4_096

/**
 * As `DiskFile.read`, but for what the disk can't read (`EIO`): zeros stand in its place, page by
 * page, so that what is around a bad sector is not lost with it. The checksums of records tell what
 * is none.
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
 * Puts a whole file in the place of what was there, if anything: after a power cut it is the old
 * one or the new one. Resolved = durable.
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
