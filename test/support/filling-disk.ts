/** The machine's disk for messages, until a test fills it: then it can only be read. */
import type { Disk, DiskFile } from '../../src/engine/ports/disk.ts'
import { nodeDisk } from '../../src/engine/ports/node-disk.ts'

export class FillingDisk implements Disk {
  isFull = false

  async create(path: string): Promise<DiskFile> {
    if (this.isFull) throw noSpace()
    return this.#filling(await nodeDisk.create(path))
  }

  async createSynced(path: string): Promise<DiskFile> {
    if (this.isFull) throw noSpace()
    return this.#filling(await nodeDisk.createSynced(path))
  }

  async open(path: string): Promise<DiskFile> {
    return this.#filling(await nodeDisk.open(path))
  }

  list(directory: string): Promise<readonly string[]> {
    return nodeDisk.list(directory)
  }

  makeDirectory(path: string): Promise<void> {
    return nodeDisk.makeDirectory(path)
  }

  syncDirectory(path: string): Promise<void> {
    return nodeDisk.syncDirectory(path)
  }

  rename(from: string, to: string): Promise<void> {
    return nodeDisk.rename(from, to)
  }

  remove(path: string): Promise<void> {
    return nodeDisk.remove(path)
  }

  #filling(file: DiskFile): DiskFile {
    return {
      size: () => file.size(),
      write: async (pieces, position) => {
        if (!this.isFull) return file.write(pieces, position)
        // The last block takes the beginning of the write.
        const all = Buffer.concat(pieces)
        await file.write([all.subarray(0, Math.floor(all.length / 2))], position)
        throw noSpace()
      },
      datasync: () => file.datasync(),
      read: (pieces, position) => file.read(pieces, position),
      truncate: (length) => file.truncate(length),
      close: () => file.close(),
    }
  }
}

function noSpace(): Error {
  return Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
}
