/** Writes small zip archives for tests: good ones, and damaged or hostile ones. */
import { crc32, deflateRawSync } from 'node:zlib'

/** A file of the archive. */
export interface PackedFile {
  readonly path: string
  readonly content: string | Buffer
  /** The Unix mode, 0o100644 by default. */
  readonly mode?: number
  /** False: stored without compression. */
  readonly isDeflated?: boolean
  /** The general purpose bits. */
  readonly flags?: number
}

/** The bytes of an archive with these files. */
export function zipOf(files: readonly PackedFile[], comment = ''): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { path, content, mode = 0o100644, isDeflated = true, flags = 0 } of files) {
    const bytes = Buffer.from(content)
    const packed = isDeflated ? deflateRawSync(bytes) : bytes
    const name = Buffer.from(path)
    const sizes = Buffer.alloc(14)
    sizes.writeUInt32LE(crc32(bytes), 0)
    sizes.writeUInt32LE(packed.length, 4)
    sizes.writeUInt32LE(bytes.length, 8)
    sizes.writeUInt16LE(name.length, 12)
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(isDeflated ? 8 : 0, 8)
    sizes.copy(local, 14)
    const central = Buffer.alloc(46)
    central.writeUInt32LE(0x02014b50, 0)
    central.writeUInt16LE(flags, 8)
    central.writeUInt16LE(isDeflated ? 8 : 0, 10)
    sizes.copy(central, 16)
    central.writeUInt32LE(mode * 0x10000, 38)
    central.writeUInt32LE(offset, 42)
    parts.push(local, name, packed)
    directory.push(central, name)
    offset += local.length + name.length + packed.length
  }
  const list = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(list.length, 12)
  end.writeUInt32LE(offset, 16)
  end.writeUInt16LE(comment.length, 20)
  return Buffer.concat([...parts, list, end, Buffer.from(comment)])
}
