/**
 * The layout of Actility's catalogue: `vendors/<vendor>/models/<model>/model.yaml` names profiles
 * in `profiles/` and the protocols that it speaks; `drivers/<driver>/driver.yaml` names the
 * protocol that its script reads. A model may speak the protocol of another vendor's driver.
 */
import { memberOf, objectAt, objectsAt, textAt, textsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { versionOf } from './collection-reader.ts'
import type { CollectionReader } from './collection-reader.ts'
import { folderOf, pathIn } from './collection-tree.ts'
import type { LibraryProfile, LibraryRegion, LibrarySource } from './library-profile.ts'
import { vectorsOf } from './test-vectors.ts'
import type { Example } from './test-vectors.ts'

const MODEL = /^(vendors\/[^/]+)\/models\/[^/]+\/model\.ya?ml$/
const DRIVER = /^vendors\/[^/]+\/drivers\/[^/]+\/driver\.ya?ml$/
const PROFILE = /^vendors\/[^/]+\/profiles\/[^/]+\.ya?ml$/

/** Whether a file tells that the collection has this layout. */
export function isOfActility(path: string): boolean {
  return MODEL.test(path)
}

/** Reads the profiles. */
export function readActility(reader: CollectionReader, source: LibrarySource): LibraryProfile[] {
  const { paths } = reader.tree
  const drivers = new Map<string, string>()
  for (const path of paths.filter((one) => DRIVER.test(one))) {
    const protocol = textAt(reader.yaml(path), 'protocolId')
    if (protocol !== undefined && !drivers.has(protocol)) drivers.set(protocol, folderOf(path))
  }
  const regions = new Map<string, LibraryRegion[]>()
  for (const path of paths.filter((one) => PROFILE.test(one))) {
    const profile = reader.yaml(path)
    const id = textAt(profile, 'id')
    if (profile !== undefined && id !== undefined) regions.set(id, regionsOf(profile))
  }
  const scripts = new Map<string, DriverPart>()
  return paths.flatMap((path) => {
    const [, folder] = MODEL.exec(path) ?? []
    const model = folder === undefined ? undefined : reader.yaml(path)
    if (folder === undefined || model === undefined) return []
    const vendorFile = pathIn(folder, 'vendor.yaml')
    const vendor = reader.tree.has(vendorFile) ? reader.yaml(vendorFile) : undefined
    const driver = protocolsOf(model)
      .map((protocol) => drivers.get(protocol))
      .find((known) => known !== undefined)
    const part = driver === undefined ? NO_DRIVER : (scripts.get(driver) ?? driverPart(reader, driver))
    if (driver !== undefined) scripts.set(driver, part)
    return [
      {
        vendor: textAt(vendor, 'name') ?? folder.slice('vendors/'.length),
        model: textAt(model, 'name') ?? '',
        description: textAt(model, 'description') ?? '',
        firmwareVersion: versionOf(objectAt(model, 'product')),
        regions: objectsAt(model, 'deviceProfileIds').flatMap(({ id }) => regions.get(String(id)) ?? []),
        ...part,
        source: { ...source, url: textAt(model, 'specificationURL') ?? '' },
      },
    ]
  })
}

/** One protocol, or a list of them. */
function protocolsOf(model: JsonObject): readonly string[] {
  const one = textAt(model, 'protocolId')
  return one === undefined ? textsAt(model, 'protocolId') : [one]
}

function regionsOf(profile: JsonObject): LibraryRegion[] {
  const named = textAt(profile, 'loRaWANClass')
  const deviceClass = named === 'B' || named === 'C' ? named : 'A'
  const bands = (textAt(profile, 'ISMbands') ?? '').split(',').map((band) => band.trim())
  return bands.filter((band) => band !== '').map((band) => ({ region: band.toUpperCase(), deviceClass }))
}

type DriverPart = Pick<LibraryProfile, 'payloadCodec' | 'payloadDecoderScript' | 'payloadEncoderScript' | 'testVectors'>

const NO_DRIVER: DriverPart = {
  payloadCodec: '',
  payloadDecoderScript: '',
  payloadEncoderScript: '',
  testVectors: [],
}

function driverPart(reader: CollectionReader, folder: string): DriverPart {
  const script = reader.text(mainOf(reader, folder))
  if (script === undefined) return NO_DRIVER
  const files = reader.tree.paths.filter((path) => {
    return (
      path === `${folder}/examples.json` || (path.startsWith(`${folder}/examples/`) && path.endsWith('.examples.json'))
    )
  })
  const testVectors = files.flatMap((path) => {
    const { vectors, unread } = vectorsOf(reader.list(path).flatMap(exampleOf))
    if (unread > 0) reader.note(path, `has ${unread} examples that can’t be used`)
    return vectors
  })
  return { payloadCodec: 'CUSTOM_JS', payloadDecoderScript: script, payloadEncoderScript: script, testVectors }
}

function mainOf(reader: CollectionReader, folder: string): string {
  const described = pathIn(folder, 'package.json')
  const named = reader.tree.has(described) ? textAt(reader.yaml(described), 'main') : undefined
  const files = [named ?? 'index.js', 'index.js', 'main.js'].map((name) => pathIn(folder, name))
  return files.find((path) => reader.tree.has(path)) ?? pathIn(folder, 'index.js')
}

const DIRECTIONS: Readonly<Record<string, Example['direction']>> = {
  uplink: 'up',
  downlink: 'down',
  'downlink-encode': 'down',
}

/** The older form of an example has the members of input and output side by side. */
function exampleOf(one: JsonObject): Example[] {
  const direction = DIRECTIONS[textAt(one, 'type') ?? '']
  if (direction === undefined) return []
  const output = memberOf(one, 'output') ?? (direction === 'down' ? one : { data: one['data'], errors: one['errors'] })
  return [{ direction, name: one['description'], input: memberOf(one, 'input') ?? one, output }]
}
