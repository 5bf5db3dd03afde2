/**
 * The layout of a device repository: `vendor/index.yaml` names the vendors,
 * `vendor/<vendor>/index.yaml` the models, `<model>.yaml` the regions of each firmware, and
 * `<codec>.yaml` the scripts with their examples.
 */
import { isObject, memberOf, objectAt, objectOf, objectsAt, textAt, textsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { versionOf } from './collection-reader.ts'
import type { CollectionReader } from './collection-reader.ts'
import { folderOf, pathIn } from './collection-tree.ts'
import type { LibraryProfile, LibraryRegion, LibrarySource } from './library-profile.ts'
import { vectorsOf } from './test-vectors.ts'

const INDEX = 'vendor/index.yaml'
const MODELS = /^vendor\/([^/]+)\/index\.yaml$/

/** Whether a file tells that the collection has this layout. */
export function isOfDeviceRepository(path: string): boolean {
  return path === INDEX
}

/** Reads the profiles. */
export function readDeviceRepository(reader: CollectionReader, source: LibrarySource): LibraryProfile[] {
  const vendors = new Map(
    objectsAt(reader.yaml(INDEX), 'vendors').map((vendor) => [
      textAt(vendor, 'id') ?? '',
      textAt(vendor, 'name') ?? '',
    ]),
  )
  return reader.tree.paths.flatMap((path) => {
    const [, id] = MODELS.exec(path) ?? []
    if (id === undefined) return []
    const folder = folderOf(path)
    return textsAt(reader.yaml(path), 'endDevices').flatMap((name) => {
      const model = reader.yaml(pathIn(folder, `${name}.yaml`))
      return model === undefined ? [] : modelProfiles(reader, folder, model, { vendor: vendors.get(id) ?? id, source })
    })
  })
}

function modelProfiles(
  reader: CollectionReader,
  folder: string,
  model: JsonObject,
  { vendor, source }: Pick<LibraryProfile, 'vendor' | 'source'>,
): LibraryProfile[] {
  const common = {
    vendor,
    model: textAt(model, 'name') ?? '',
    description: textAt(model, 'description') ?? '',
    source: { ...source, url: textAt(model, 'productURL') ?? '' },
  }
  return objectsAt(model, 'firmwareVersions').flatMap((firmware) => {
    const firmwareVersion = versionOf(firmware)
    const profiles: LibraryProfile[] = []
    for (const { codec, regions } of codecsOf(reader, folder, firmware)) {
      profiles.push({ ...common, firmwareVersion, regions, ...scriptsOf(reader, folder, codec) })
    }
    return profiles
  })
}

/** The codecs of a firmware with their regions: a firmware may have another one in each region. */
function codecsOf(reader: CollectionReader, folder: string, firmware: JsonObject) {
  const regionsOfCodec = new Map<string, LibraryRegion[]>()
  for (const [region, named] of Object.entries(objectOf(memberOf(firmware, 'profiles')) ?? {})) {
    if (!isObject(named)) continue
    const codec = textAt(named, 'codec') ?? ''
    const regions = regionsOfCodec.get(codec) ?? []
    regions.push({ region, deviceClass: classOf(reader, folder, named) })
    regionsOfCodec.set(codec, regions)
  }
  return [...regionsOfCodec].map(([codec, regions]) => ({ codec, regions }))
}

function classOf(reader: CollectionReader, folder: string, named: JsonObject): LibraryRegion['deviceClass'] {
  const id = textAt(named, 'id') ?? ''
  const vendor = textAt(named, 'vendorID')
  const path = pathIn(vendor === undefined ? folder : `vendor/${vendor}`, `${id}.yaml`)
  const profile = id === '' ? undefined : reader.yaml(path)
  if (profile?.['supportsClassC'] === true) return 'C'
  return profile?.['supportsClassB'] === true ? 'B' : 'A'
}

const NO_SCRIPTS = { payloadCodec: '', payloadDecoderScript: '', payloadEncoderScript: '', testVectors: [] } as const

function scriptsOf(reader: CollectionReader, folder: string, codec: string) {
  if (codec === '') return NO_SCRIPTS
  const path = pathIn(folder, `${codec}.yaml`)
  const described = reader.yaml(path)
  if (described === undefined) return NO_SCRIPTS
  const up = sectionOf(reader, path, objectAt(described, 'uplinkDecoder'), 'up')
  const down = sectionOf(reader, path, objectAt(described, 'downlinkEncoder'), 'down')
  return {
    payloadCodec: up.script === '' && down.script === '' ? '' : 'CUSTOM_JS',
    payloadDecoderScript: up.script,
    payloadEncoderScript: down.script,
    testVectors: [...up.vectors, ...down.vectors],
  } as const
}

function sectionOf(
  reader: CollectionReader,
  path: string,
  section: JsonObject | undefined,
  direction: 'up' | 'down',
): Pick<ReturnType<typeof vectorsOf>, 'vectors'> & { readonly script: string } {
  const file = textAt(section, 'fileName')
  const script = file === undefined ? undefined : reader.text(pathIn(folderOf(path), file))
  if (script === undefined) return { script: '', vectors: [] }
  const { vectors, unread } = vectorsOf(
    objectsAt(section, 'examples').map((one) => {
      return { direction, name: one['description'], input: one['input'], output: one['output'] }
    }),
  )
  if (unread > 0) reader.note(path, `has ${unread} examples that can’t be used`)
  return { script, vectors }
}
