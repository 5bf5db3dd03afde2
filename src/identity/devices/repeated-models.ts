/** Finds models that a collection has twice. */
import type { LibraryProfileFields } from './library-profile.ts'

/** The refusal of a model that came before in the same collection. */
export const REPEATED = {
  reason: 'library_profile_repeated',
  message: 'the collection has this vendor, model, firmware and region twice',
} as const

/** The models of one collection that came already. */
export class RepeatedModels {
  readonly #seen = new Set<string>()

  /** Notes the model. True where it came already for one of its regions. */
  repeats({ source, vendor, model, firmwareVersion, regions }: LibraryProfileFields): boolean {
    const names = regions.length === 0 ? [''] : regions.map(({ region }) => region)
    const keys = names.map((region) => JSON.stringify([source.name, vendor, model, firmwareVersion, region]))
    const isRepeated = keys.some((key) => this.#seen.has(key))
    for (const key of keys) this.#seen.add(key)
    return isRepeated
  }
}
