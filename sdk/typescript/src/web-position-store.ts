/** Positions in `localStorage` of a browser, or in memory where there is none. */
import { MemoryPositionStore, positionOf } from './positions.ts'
import type { Position, PositionStore } from './positions.ts'

interface WebStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
}

export class WebPositionStore implements PositionStore {
  readonly #key: string
  readonly #storage: WebStorage | undefined
  readonly #positions = new MemoryPositionStore()

  constructor(session: string, storage: WebStorage | undefined = localStorageOf()) {
    this.#key = `fieldgate-sdk:${session}`
    this.#storage = storage
  }

  async load(): Promise<readonly Position[]> {
    for (const value of listOf(this.#storage?.getItem(this.#key))) {
      const position = positionOf(value)
      if (position !== undefined) await this.#positions.save(position)
    }
    return this.#positions.load()
  }

  async save(position: Position): Promise<void> {
    await this.#positions.save(position)
    await this.#write()
  }

  async remove(topicFilter: string): Promise<void> {
    await this.#positions.remove(topicFilter)
    await this.#write()
  }

  async #write(): Promise<void> {
    this.#storage?.setItem(this.#key, JSON.stringify(await this.#positions.load()))
  }
}

function listOf(text: string | null | undefined): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

/** A page may be forbidden to store anything; the access itself throws then. */
function localStorageOf(): WebStorage | undefined {
  try {
    return (globalThis as { readonly localStorage?: WebStorage }).localStorage
  } catch {
    return undefined
  }
}
