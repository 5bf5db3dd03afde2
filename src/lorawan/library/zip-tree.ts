/**
 * A collection of device profiles in a zip archive (PKWARE APPNOTE 6.3.10). The archive is foreign:
 * sizes that it tells are not believed, and a file is unpacked only when it is read.
 */
import { crc32, inflateRawSync } from 'node:zlib'
import {
  CollectionFault,
  createTree,
  isReadable,
  MAXIMUM_DEPTH,
  MAXIMUM_FILE_BYTES,
  MAXIMUM_FILES,
  tooLong,
} from './collection-tree.ts'
import type { CollectionProblem, CollectionTree } from './collection-tree.ts'

/** Bytes of an archive. */
export const MAXIMUM_ARCHIVE_BYTES = 256 * 1024 * 1024

/** §4.3.16: the end of the central directory. Its comment has at most 65,535 bytes. */
const END = { signature: 0x06054b50, length: 22, longestComment: 65_535 }
/** §4.3.12: one file of the central directory. */
const FILE = { signature: 0x02014b50, length: 46 }
/** §4.3.7: the header in front of the bytes of a file. */
const LOCAL = { signature: 0x04034b50, length: 30 }
const STORED = 0
const DEFLATED = 8
/** §4.4.4, bit 0. */
const ENCRYPTED = 1
/** The type of a file in the upper half of the external attributes of Unix: a symbolic link. */
const LINK_TYPE = 0o120000
const TYPE_MASK = 0o170000

interface ZipFile {
  readonly method: number
  /** CRC-32 of the unpacked bytes (§4.4.7). */
  readonly checksum: number
  readonly packedBytes: number
  readonly offset: number
}

const COMMIT = /^[0-9a-f]{40}$/

/**
 * Reads the names in an archive. Names that leave the archive, links and encrypted files are left
 * out. The folder around all files, which GitHub's archives have, is taken away. `archive` is not
 * copied. Throws CollectionFault.
 */
export function openZip(archive: Buffer): CollectionTree {
  if (archive.length > MAXIMUM_ARCHIVE_BYTES) {
    throw new CollectionFault(`The archive has more than ${MAXIMUM_ARCHIVE_BYTES} bytes.`)
  }
  const end = findEnd(archive)
  const count = archive.readUInt16LE(end + 10)
  const start = archive.readUInt32LE(end + 16)
  if (count === 0xffff || start === 0xffffffff) throw new CollectionFault('The archive is a Zip64, which is not read.')
  if (count > MAXIMUM_FILES) throw new CollectionFault(`The archive has more than ${MAXIMUM_FILES} files.`)
  const files = new Map<string, ZipFile>()
  const left: CollectionProblem[] = []
  let at = start
  for (let number = 0; number < count; number += 1) {
    if (at + FILE.length > end || archive.readUInt32LE(at) !== FILE.signature) throw brokenArchive()
    const nameEnd = at + FILE.length + archive.readUInt16LE(at + 28)
    if (nameEnd > end) throw brokenArchive()
    const path = archive.toString('utf8', at + FILE.length, nameEnd)
    const fault = faultOf(path, archive.readUInt16LE(at + 8), archive.readUInt32LE(at + 38) >>> 16)
    if (fault !== undefined) left.push({ path, reason: fault })
    else if (files.has(path)) left.push({ path, reason: 'is in the archive twice' })
    else if (!path.endsWith('/')) {
      files.set(path, {
        method: archive.readUInt16LE(at + 10),
        checksum: archive.readUInt32LE(at + 16),
        packedBytes: archive.readUInt32LE(at + 20),
        offset: archive.readUInt32LE(at + 42),
      })
    }
    at = nameEnd + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
  const around = folderAround([...files.keys()])
  const readable = [...files.keys()].filter(isReadable).map((path) => path.slice(around.length))
  const comment = archive.toString('latin1', end + END.length)
  return createTree(readable, (path) => unpack(archive, path, files.get(around + path)), {
    left,
    version: COMMIT.test(comment) ? comment : '',
  })
}

function findEnd(archive: Buffer): number {
  const last = archive.length - END.length
  for (let at = last; at >= Math.max(0, last - END.longestComment); at -= 1) {
    if (archive.readUInt32LE(at) === END.signature) return at
  }
  throw new CollectionFault('The file is no zip archive.')
}

function faultOf(path: string, flags: number, mode: number): string | undefined {
  const folders = path.split('/')
  if (path.startsWith('/') || path.includes('\\') || path.includes('\0') || folders.includes('..')) {
    return 'has a path that leaves the archive'
  }
  if (folders.length > MAXIMUM_DEPTH + 2) return `is more than ${MAXIMUM_DEPTH} folders deep`
  if ((mode & TYPE_MASK) === LINK_TYPE) return 'is a symbolic link, which is not followed'
  return (flags & ENCRYPTED) === 0 ? undefined : 'is encrypted'
}

/** The first folder of all paths, with its `/`; empty when they have none in common. */
function folderAround(paths: readonly string[]): string {
  const first = paths[0] ?? ''
  const folder = first.slice(0, first.indexOf('/') + 1)
  return paths.every((path) => path.startsWith(folder)) && !/^vendors?\/$/.test(folder) ? folder : ''
}

function unpack(archive: Buffer, path: string, file: ZipFile | undefined): Buffer {
  if (file === undefined) throw new CollectionFault(`${path} is not in the archive.`)
  const { offset, packedBytes, method, checksum } = file
  if (packedBytes > MAXIMUM_FILE_BYTES) throw tooLong(path)
  if (offset + LOCAL.length > archive.length || archive.readUInt32LE(offset) !== LOCAL.signature) throw brokenArchive()
  if (method !== STORED && method !== DEFLATED) {
    throw new CollectionFault(`${path} is packed by method ${method}, which is not read.`)
  }
  const start = offset + LOCAL.length + archive.readUInt16LE(offset + 26) + archive.readUInt16LE(offset + 28)
  const packed = archive.subarray(start, start + packedBytes)
  const bytes = method === STORED ? packed : inflate(packed, path)
  if (crc32(bytes) !== checksum) throw damaged(path)
  return bytes
}

function inflate(packed: Buffer, path: string): Buffer {
  try {
    return inflateRawSync(packed, { maxOutputLength: MAXIMUM_FILE_BYTES })
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLong(path) : damaged(path)
  }
}

function damaged(path: string): CollectionFault {
  return new CollectionFault(`${path} can’t be unpacked: the archive is damaged.`)
}

function brokenArchive(): CollectionFault {
  return new CollectionFault('The archive is damaged: its list of files can’t be read.')
}
