/**
 * The layout of ChirpStack's device profiles: `vendors/<vendor>/vendor.toml` names the devices in
 * `devices/`, a device's firmware names `profiles/` and a script in `codecs/`, and the examples of
 * a script are in `codecs/test_decode_<name>.json` and `codecs/test_encode_<name>.json`.
 */
import { objectAt, objectsAt, textAt, textsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import type { CollectionReader } from './collection-reader.ts'
import { folderOf, pathIn } from './collection-tree.ts'
import type { LibraryProfile, LibraryRegion, LibrarySource } from './library-profile.ts'
import { vectorsOf } from './test-vectors.ts'
import type { Example } from './test-vectors.ts'

const VENDOR = /^vendors\/[^/]+\/vendor\.toml$/

/** Whether a file tells that the collection has this layout. */
export function isOfChirpStack(path: string): boolean {
  return VENDOR.test(path)
}

/** Reads the profiles. */
export function readChirpStack(reader: CollectionReader, source: LibrarySource): LibraryProfile[] {
  return reader.tree.paths.filter(isOfChirpStack).flatMap((path) => {
    const vendor = objectAt(reader.toml(path), 'vendor')
    if (vendor === undefined) return []
    const folder = folderOf(path)
    return textsAt(vendor, 'devices').flatMap((name) => {
      const device = objectAt(reader.toml(pathIn(folder, `devices/${name}`)), 'device')
      if (device === undefined) return []
      const url = textAt(objectAt(device, 'metadata'), 'product_url') ?? ''
      const common = {
        vendor: textAt(vendor, 'name') ?? '',
        model: textAt(device, 'name') ?? '',
        description: textAt(device, 'description') ?? '',
        source: { ...source, url },
      }
      return objectsAt(device, 'firmware').map((firmware) => firmwareProfile(reader, folder, firmware, common))
    })
  })
}

function firmwareProfile(
  reader: CollectionReader,
  folder: string,
  firmware: JsonObject,
  common: Pick<LibraryProfile, 'vendor' | 'model' | 'description' | 'source'>,
): LibraryProfile {
  const regions = textsAt(firmware, 'profiles').flatMap((name) => regionsOf(reader, pathIn(folder, `profiles/${name}`)))
  const codec = textAt(firmware, 'codec') ?? ''
  const script = codec === '' ? undefined : reader.text(pathIn(folder, `codecs/${codec}`))
  return {
    ...common,
    firmwareVersion: textAt(firmware, 'version') ?? '',
    regions,
    payloadCodec: script === undefined ? '' : 'CUSTOM_JS',
    payloadDecoderScript: script ?? '',
    payloadEncoderScript: script ?? '',
    testVectors: script === undefined ? [] : examplesOf(reader, pathIn(folder, 'codecs'), codec),
  }
}

function regionsOf(reader: CollectionReader, path: string): LibraryRegion[] {
  const profile = objectAt(reader.toml(path), 'profile')
  if (profile === undefined) return []
  const inClassB = profile['supports_class_b'] === true ? 'B' : 'A'
  return [
    { region: textAt(profile, 'region') ?? '', deviceClass: profile['supports_class_c'] === true ? 'C' : inClassB },
  ]
}

function examplesOf(reader: CollectionReader, folder: string, codec: string) {
  const name = codec.replace(/\.js$/, '')
  const files = [
    { path: pathIn(folder, `test_decode_${name}.json`), direction: 'up' },
    { path: pathIn(folder, `test_encode_${name}.json`), direction: 'down' },
  ] as const
  return files.flatMap(({ path, direction }) => {
    if (!reader.tree.has(path)) return []
    const examples: Example[] = reader.list(path).map((one) => {
      return { direction, name: one['name'], input: one['input'], output: one['expected'] }
    })
    const { vectors, unread } = vectorsOf(examples)
    if (unread > 0) reader.note(path, `has ${unread} examples that can’t be used`)
    return vectors
  })
}
