/**
 * Several files in one stream, with checksums: the format of `fieldgate backup`. Little-endian:
 *
 *     8 bytes  "FGATEARC"; uint32 version
 *     for each file: uint32 bytes of its name, float64 bytes of its content, name, content,
 *         uint32 CRC-32 of all of these
 *     at the end: uint32 0, float64 number of files, uint32 CRC-32 of these two
 */
import { crc32 } from 'node:zlib'

const MAGIC = 'FGATEARC'
const VERSION = 1
const HEAD_BYTES = 12
const ENTRY_HEAD_BYTES = 12
/** The writer chose the names, which are paths; a longer name is damage. */
const MAXIMUM_NAME_BYTES = 1_024
/** The names are relative, and can't lead out of the target directory. */
const NAME = /^[a-z0-9_-][a-z0-9._-]*(\/[a-z0-9_-][a-z0-9._-]*)*$/

/** A file of an archive; `content` gives exactly `size` bytes. */
export interface ArchiveEntry {
  /** Lower-case letters, digits, `-`, `_`, and not first `.`, in parts between `/`. */
  readonly name: string
  readonly size: number
  readonly content: AsyncIterable<Buffer>
}

/** The archive is incomplete, or the bytes are no archive. `message` is a sentence for people. */
export class ArchiveError extends Error {
  readonly code: 'archive_damaged' | 'newer_format'

  constructor(code: ArchiveError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** The bytes of an archive of these files. Throws the errors of the files. */
export async function* archiveOf(entries: AsyncIterable<ArchiveEntry>): AsyncGenerator<Buffer> {
  const head = Buffer.alloc(HEAD_BYTES)
  head.write(MAGIC, 0, 'latin1')
  head.writeUInt32LE(VERSION, 8)
  yield head
  let count = 0
  for await (const { name, size, content } of entries) {
    if (!NAME.test(name)) throw new RangeError(`"${name}" can't be the name of a file in an archive`)
    const entryHead = entryHeadOf(Buffer.byteLength(name), size, name)
    yield entryHead
    let crc = crc32(entryHead)
    let left = size
    for await (const bytes of content) {
      left -= bytes.length
      crc = crc32(bytes, crc)
      yield bytes
    }
    if (left !== 0) throw new Error(`${name} has other than ${size} bytes`)
    yield uint32(crc)
    count += 1
  }
  const end = entryHeadOf(0, count, '')
  yield Buffer.concat([end, uint32(crc32(end))])
}

/**
 * Reads an archive: calls `take` for each file, and `take` reads the file's content to the end.
 * Only when this resolves is it certain that all content is as it was written. Throws
 * `ArchiveError` and the errors of the source and of `take`.
 */
export async function readArchive(
  source: AsyncIterable<Buffer>,
  take: (entry: ArchiveEntry) => Promise<void>,
): Promise<void> {
  const bytes = new ByteSource(source)
  const head = await bytes.exactly(HEAD_BYTES)
  if (head.toString('latin1', 0, 8) !== MAGIC)
    throw new ArchiveError('archive_damaged', 'This is no backup of Fieldgate.')
  if (head.readUInt32LE(8) > VERSION) {
    const message = `The backup is of version ${head.readUInt32LE(8)}, written by a newer Fieldgate; this one reads versions up to ${VERSION}.`
    throw new ArchiveError('newer_format', message)
  }
  for (let count = 0; ; count += 1) {
    const fixed = await bytes.exactly(ENTRY_HEAD_BYTES)
    const nameBytes = fixed.readUInt32LE(0)
    const size = fixed.readDoubleLE(4)
    if (nameBytes === 0) {
      const crc = (await bytes.exactly(4)).readUInt32LE(0)
      if (crc === crc32(fixed) && size === count) return
      throw damaged('its end is not whole')
    }
    if (nameBytes > MAXIMUM_NAME_BYTES) throw damaged('a name is too long')
    const nameOfEntry = await bytes.exactly(nameBytes)
    const name = nameOfEntry.toString('utf8')
    if (!NAME.test(name) || !Number.isSafeInteger(size) || size < 0) throw damaged('a name or a size is none')
    let crc = crc32(nameOfEntry, crc32(fixed))
    let left = size
    const content = async function* (): AsyncGenerator<Buffer> {
      while (left > 0) {
        const piece = await bytes.some(left)
        left -= piece.length
        crc = crc32(piece, crc)
        yield piece
      }
    }
    await take({ name, size, content: content() })
    if (left > 0) throw new Error(`${name} was not read to its end`)
    if ((await bytes.exactly(4)).readUInt32LE(0) !== crc) throw damaged(`${name} is not as it was written`)
  }
}

/** Bytes of a stream, read in pieces of a given size. */
class ByteSource {
  readonly #source: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** At least one byte, at most `maximum` bytes. */
  async some(maximum: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#source.next()
      if (done === true) throw damaged('it ends too early')
      this.#rest = value
    }
    const piece = this.#rest.subarray(0, maximum)
    this.#rest = this.#rest.subarray(piece.length)
    return piece
  }

  async exactly(count: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    for (let left = count; left > 0;) {
      const piece = await this.some(left)
      pieces.push(piece)
      left -= piece.length
    }
    return Buffer.concat(pieces)
  }
}

function entryHeadOf(nameBytes: number, size: number, name: string): Buffer {
  const head = Buffer.alloc(ENTRY_HEAD_BYTES + nameBytes)
  head.writeUInt32LE(nameBytes, 0)
  head.writeDoubleLE(size, 4)
  head.write(name, ENTRY_HEAD_BYTES)
  return head
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function damaged(what: string): ArchiveError {
  return new ArchiveError('archive_damaged', `The backup is damaged: ${what}.`)
}
