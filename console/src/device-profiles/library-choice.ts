/** The choice of a profile in the library: vendor, model, firmware, region. */
import type { LibraryProfile } from '../api/device-library.ts'

/** The parts that a person has chosen; null for those that are still open. */
export interface LibraryChoice {
  readonly vendor: string | null
  readonly model: string | null
  /** The id of the profile, which has one firmware and one codec. */
  readonly profileId: string | null
  readonly region: string | null
}

/** An entry of a select. */
export interface Option {
  readonly value: string
  readonly label: string
}

/** The models of a vendor, each once, in their order. */
export function modelsOf(profiles: readonly LibraryProfile[]): readonly string[] {
  return [...new Set(profiles.map(({ model }) => model))]
}

/** The profiles of a model, by firmware; by region as well where a firmware has several codecs. */
export function firmwaresOf(profiles: readonly LibraryProfile[], model: string | null): readonly Option[] {
  const ofModel = profiles.filter((profile) => profile.model === model)
  return ofModel.map(({ id, firmwareVersion, regions, source }) => {
    const name = firmwareVersion === '' ? 'any firmware' : firmwareVersion
    const same = ofModel.filter((other) => other.firmwareVersion === firmwareVersion)
    const isOfSource = new Set(same.map((other) => other.source.name)).size > 1
    const parts = same.length === 1 ? [] : [regions.map(({ region }) => region).join(', ')]
    if (isOfSource) parts.push(source.name)
    return { value: id, label: [name, ...parts].filter((text) => text !== '').join(' · ') }
  })
}

/** The name that a device profile is offered: many models have the name of their vendor in it. */
export function nameOf({ vendor, model, firmwareVersion }: LibraryProfile): string {
  const namesVendor = `${model} `.toLowerCase().startsWith(`${vendor} `.toLowerCase())
  const name = [namesVendor ? '' : vendor, model, firmwareVersion].filter((part) => part !== '').join(' ')
  return name.slice(0, 100).toWellFormed().trim()
}
