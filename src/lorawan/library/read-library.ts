/** Reads a collection of device profiles in whichever of the three layouts it has. */
import { isOfActility, readActility } from './actility-layout.ts'
import { isOfChirpStack, readChirpStack } from './chirpstack-layout.ts'
import { CollectionReader } from './collection-reader.ts'
import { CollectionFault } from './collection-tree.ts'
import type { CollectionTree } from './collection-tree.ts'
import { isOfDeviceRepository, readDeviceRepository } from './device-repository-layout.ts'
import type { Library, LibraryProfile, LibrarySource } from './library-profile.ts'

/** Profiles of a collection. The largest public collection has 1,200. */
const MAXIMUM_PROFILES = 20_000

interface Layout {
  readonly name: string
  readonly isMarkedBy: (path: string) => boolean
  readonly read: (reader: CollectionReader, source: LibrarySource) => LibraryProfile[]
}

const LAYOUTS: readonly Layout[] = [
  { name: 'device repository', isMarkedBy: isOfDeviceRepository, read: readDeviceRepository },
  { name: 'ChirpStack device profiles', isMarkedBy: isOfChirpStack, read: readChirpStack },
  { name: 'Actility catalogue', isMarkedBy: isOfActility, read: readActility },
]

/**
 * Reads all profiles, sorted by vendor, model and firmware. A file that can't be read is a problem
 * of the result, and the others are read all the same. Throws CollectionFault for a collection in
 * none of the layouts, or with too many profiles.
 */
export function readLibrary(tree: CollectionTree): Library {
  const layout = LAYOUTS.find(({ isMarkedBy }) => tree.paths.some(isMarkedBy))
  if (layout === undefined) {
    throw new CollectionFault(
      'The collection has none of the three layouts: it has no vendor/index.yaml, no vendors/*/vendor.toml, and no vendors/*/models/*/model.yaml.',
    )
  }
  const reader = new CollectionReader(tree)
  const source = { name: layout.name, licence: licenceOf(reader), url: '', version: tree.version }
  const profiles = layout.read(reader, source)
  if (profiles.length > MAXIMUM_PROFILES) {
    throw new CollectionFault(`The collection has more than ${MAXIMUM_PROFILES} profiles.`)
  }
  return { layout: layout.name, profiles: profiles.toSorted(byName), problems: reader.problems }
}

/** The first line of the licence that says something. */
function licenceOf(reader: CollectionReader): string {
  const path = reader.tree.paths.find((one) => /^LICEN[CS]E(?:\.md|\.txt)?$/i.test(one))
  const lines = path === undefined ? [] : (reader.text(path) ?? '').split('\n').map((line) => line.trim())
  return (lines.find((line) => line !== '') ?? '').slice(0, 200)
}

function byName(one: LibraryProfile, other: LibraryProfile): number {
  return (
    one.vendor.localeCompare(other.vendor) ||
    one.model.localeCompare(other.model) ||
    one.firmwareVersion.localeCompare(other.firmwareVersion)
  )
}
