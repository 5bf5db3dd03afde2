/**
 * Positions in a file of lines of JSON. A saved position is a line at the end; the last line of a
 * Topic Filter counts. A process that is killed leaves at most a torn last line, which is ignored.
 */
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { MemoryPositionStore, positionOf } from './positions.ts'
import type { Position, PositionStore } from './positions.ts'

/** The file is written anew when it has grown by so many bytes. */
const COMPACT_BYTES = 1_048_576

export interface FileStoreOptions {
  /**
   * True: each position is on the disk before its event is acknowledged, so that a power cut
   * repeats nothing either. Costs a sync for each event. Default: false.
   */
  readonly sync?: boolean
}

/** For one process: a second process with the same session is refused by the service. */
export class FilePositionStore implements PositionStore {
  readonly #path: string
  readonly #sync: boolean
  readonly #positions = new MemoryPositionStore()
  #file: FileHandle | undefined = undefined
  #bytes = 0

  constructor(path: string, { sync = false }: FileStoreOptions = {}) {
    this.#path = path
    this.#sync = sync
  }

  async load(): Promise<readonly Position[]> {
    for (const line of (await this.#text()).split('\n')) {
      const value = parsed(line)
      if (value === undefined) continue
      const position = positionOf(value)
      if (position !== undefined) await this.#positions.save(position)
      else if (typeof value['removed'] === 'string') await this.#positions.remove(value['removed'])
    }
    await this.#rewrite()
    return this.#positions.load()
  }

  async save(position: Position): Promise<void> {
    await this.#positions.save(position)
    await this.#append(JSON.stringify(position))
  }

  async remove(topicFilter: string): Promise<void> {
    await this.#positions.remove(topicFilter)
    await this.#append(JSON.stringify({ removed: topicFilter }))
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#file = undefined
  }

  async #text(): Promise<string> {
    try {
      return await readFile(this.#path, 'utf8')
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'ENOENT') return ''
      throw error
    }
  }

  async #append(line: string): Promise<void> {
    if (this.#file === undefined || this.#bytes > COMPACT_BYTES) {
      await this.#rewrite()
      return
    }
    const { bytesWritten } = await this.#file.write(`${line}\n`)
    this.#bytes += bytesWritten
    if (this.#sync) await this.#file.datasync()
  }

  /** The new file is whole before it takes the place of the old one. */
  async #rewrite(): Promise<void> {
    await this.close()
    await mkdir(dirname(this.#path), { recursive: true })
    const fresh = `${this.#path}.new`
    const file = await open(fresh, 'w', 0o600)
    const lines = (await this.#positions.load()).map((position) => `${JSON.stringify(position)}\n`)
    await file.write(lines.join(''))
    await file.datasync()
    await rename(fresh, this.#path)
    this.#file = file
    this.#bytes = 0
  }
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}
