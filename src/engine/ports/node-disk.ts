/** The machine's file system behind the disk port. */
import {
  close,
  constants,
  fdatasync,
  fstat,
  fsync,
  ftruncate,
  mkdir,
  open,
  read,
  readdir,
  readv,
  rename,
  rm,
  write,
  writev,
} from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from './disk.ts'
import type { Disk, DiskFile } from './disk.ts'

/** Only this user can read the files and directories: the log holds tenants' messages. */
const FILE_MODE = 0o600
const DIRECTORY_MODE = 0o700
const NEW_FILE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL
/**
 * True where `O_DSYNC` makes each write as durable as `fdatasync`. It is one call in another thread
 * instead of two. On macOS `O_DSYNC` leaves the bytes in the memory of the disk.
 */
const SYNCS_WRITES = process.platform === 'linux'
/** The most pieces that a system call takes (IOV_MAX of Linux). */
const MAXIMUM_PIECES = 1024

/** Node's file system by callbacks: its promises cost some 10 µs more for each operation. */
export const nodeDisk: Disk = {
  create: async (path) => new NodeFile(await openFile(path, NEW_FILE)),
  createSynced: async (path) =>
    SYNCS_WRITES
      ? new NodeFile(await openFile(path, NEW_FILE | constants.O_DSYNC))
      : new SyncedFile(await openFile(path, NEW_FILE)),
  open: async (path) => new NodeFile(await openFile(path, constants.O_RDWR)),
  list: (directory) =>
    new Promise((resolve, reject) => {
      readdir(directory, (error, names) => {
        if (error === null) resolve(names)
        else if (codeOf(error) === 'ENOENT') resolve([])
        else reject(error)
      })
    }),
  makeDirectory: async (path) => {
    const first = await new Promise<string | undefined>((resolve, reject) => {
      mkdir(path, { recursive: true, mode: DIRECTORY_MODE }, (error, made) =>
        error === null ? resolve(made) : reject(error),
      )
    })
    // Each new name stands in the directory above it. An existing directory may be new as well: a
    // process that was killed may have made it.
    for (let made = path; ; made = dirname(made)) {
      await syncDirectory(dirname(made))
      if (first === undefined || made === first || dirname(made) === made) return
    }
  },
  syncDirectory,
  rename: (from, to) => done((told) => rename(from, to, told)),
  remove: (path) => done((told) => rm(path, { force: true }, told)),
}

class NodeFile implements DiskFile {
  readonly #descriptor: number

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  size(): Promise<number> {
    return new Promise((resolve, reject) => {
      fstat(this.#descriptor, (error, stats) => (error === null ? resolve(stats.size) : reject(error)))
    })
  }

  async write(pieces: readonly Buffer[], position: number): Promise<void> {
    let rest = pieces
    let at = position
    while (rest.length > 0) {
      const some = rest.length > MAXIMUM_PIECES ? rest.slice(0, MAXIMUM_PIECES) : rest
      // A call may write fewer bytes than it was given, for example on a nearly full disk.
      const written = await writeSome(this.#descriptor, some, at)
      at += written
      rest = behind(rest, written)
    }
  }

  datasync(): Promise<void> {
    return done((told) => fdatasync(this.#descriptor, told))
  }

  async read(pieces: readonly Buffer[], position: number): Promise<number> {
    let rest = pieces
    let at = position
    while (rest.length > 0) {
      const some = rest.length > MAXIMUM_PIECES ? rest.slice(0, MAXIMUM_PIECES) : rest
      const bytesRead = await readSome(this.#descriptor, some, at)
      if (bytesRead === 0) break
      at += bytesRead
      rest = behind(rest, bytesRead)
    }
    return at - position
  }

  truncate(length: number): Promise<void> {
    return done((told) => ftruncate(this.#descriptor, length, told))
  }

  close(): Promise<void> {
    return done((told) => close(this.#descriptor, told))
  }
}

/** Syncs each write by a second call. */
class SyncedFile extends NodeFile {
  override async write(pieces: readonly Buffer[], position: number): Promise<void> {
    await super.write(pieces, position)
    await this.datasync()
  }
}

async function syncDirectory(path: string): Promise<void> {
  const descriptor = await openFile(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await done((told) => fsync(descriptor, told))
  } finally {
    await done((told) => close(descriptor, told))
  }
}

function openFile(path: string, flags: number): Promise<number> {
  return new Promise((resolve, reject) => {
    open(path, flags, FILE_MODE, (error, descriptor) => (error === null ? resolve(descriptor) : reject(error)))
  })
}

function done(run: (told: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    run((error) => (error === null || error === undefined ? resolve() : reject(error)))
  })
}

function writeSome(descriptor: number, pieces: readonly Buffer[], position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const told = (error: Error | null, written: number): void => (error === null ? resolve(written) : reject(error))
    const [piece] = pieces
    // Bun ignores the position of a write without a length.
    if (pieces.length === 1 && piece !== undefined) write(descriptor, piece, 0, piece.length, position, told)
    else writev(descriptor, pieces, position, told)
  })
}

function readSome(descriptor: number, pieces: readonly Buffer[], position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const told = (error: Error | null, bytesRead: number): void => (error === null ? resolve(bytesRead) : reject(error))
    const [piece] = pieces
    if (pieces.length === 1 && piece !== undefined) read(descriptor, piece, 0, piece.length, position, told)
    else readv(descriptor, pieces, position, told)
  })
}

/** The rest of the pieces behind the first `bytes` bytes. */
function behind(pieces: readonly Buffer[], bytes: number): readonly Buffer[] {
  let left = bytes
  const rest: Buffer[] = []
  for (const piece of pieces) {
    if (left >= piece.length) left -= piece.length
    else {
      rest.push(left === 0 ? piece : piece.subarray(left))
      left = 0
    }
  }
  return rest
}
