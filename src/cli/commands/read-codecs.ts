/** The work of `fieldgate codecs list` and `fieldgate codecs show`. */
import { readFileSync, statSync } from 'node:fs'
import { CollectionFault } from '../../lorawan/library/collection-tree.ts'
import { deviceProfileOf } from '../../lorawan/library/device-profile-text.ts'
import { openFolder } from '../../lorawan/library/folder-tree.ts'
import type { Library, LibraryProfile } from '../../lorawan/library/library-profile.ts'
import { readLibrary } from '../../lorawan/library/read-library.ts'
import { MAXIMUM_ARCHIVE_BYTES, openZip } from '../../lorawan/library/zip-tree.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { counted } from '../terminal/counted.ts'
import { fileFailure } from '../terminal/file-failure.ts'
import { cellText, formatFields, formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { showJson } from './administration.ts'

/** The options that choose profiles. */
export interface ChoiceOptions {
  readonly search?: string
  readonly region?: string
  readonly json?: true
}

/** The options of `fieldgate codecs show`. */
export interface ShowOptions {
  readonly firmware?: string
  readonly region?: string
  readonly json?: true
}

/** Problems that are shown; all are in the JSON. */
const SHOWN_PROBLEMS = 10

/**
 * Reads a collection from a folder or a zip archive. Throws CommandFailure when it can't be read.
 */
export function readCollection(path: string): Library {
  try {
    const state = statSync(path)
    if (state.isDirectory()) return readLibrary(openFolder(path))
    if (state.size > MAXIMUM_ARCHIVE_BYTES) {
      throw new CollectionFault(`The archive has more than ${MAXIMUM_ARCHIVE_BYTES} bytes.`)
    }
    return readLibrary(openZip(readFileSync(path)))
  } catch (error) {
    if (error instanceof CollectionFault) throw new CommandFailure(`${path}: ${error.message}`)
    throw error instanceof Error && 'syscall' in error ? fileFailure(path, error) : error
  }
}

/** The profiles that the options choose. */
export function chosen(library: Library, { search = '', region }: ChoiceOptions): readonly LibraryProfile[] {
  const sought = search.toLowerCase()
  return library.profiles.filter(({ vendor, model, regions }) => {
    if (region !== undefined && !regions.some((one) => one.region === region)) return false
    return `${vendor} ${model}`.toLowerCase().includes(sought)
  })
}

/** Names the files that could not be read, on standard error. */
export function showProblems(terminal: Terminal, { problems }: Library): void {
  for (const { path, reason } of problems.slice(0, SHOWN_PROBLEMS))
    terminal.error(`${cellText(path)} ${cellText(reason)}.\n`)
  const more = problems.length - SHOWN_PROBLEMS
  if (more > 0) terminal.error(`${counted(more, 'more problem')}: --json has all.\n`)
}

/** The columns that name a profile. */
export const nameColumns = [
  { title: 'VENDOR', cell: ({ vendor }: LibraryProfile) => vendor },
  { title: 'MODEL', cell: ({ model }: LibraryProfile) => model },
  { title: 'FIRMWARE', cell: ({ firmwareVersion }: LibraryProfile) => firmwareVersion },
] as const

/** Lists the profiles of a collection. */
export async function listCodecs(terminal: Terminal, collection: string, options: ChoiceOptions): Promise<void> {
  const library = readCollection(collection)
  const profiles = chosen(library, options)
  if (options.json === true) {
    const { layout, problems } = library
    return showJson(terminal, { layout, profiles: profiles.map(listedOf), problems })
  }
  const columns = [
    ...nameColumns,
    { title: 'REGIONS', cell: (profile: LibraryProfile) => regionsText(profile) },
    { title: 'CODEC', cell: ({ payloadCodec }: LibraryProfile) => payloadCodec },
    { title: 'EXAMPLES', cell: ({ testVectors }: LibraryProfile) => String(testVectors.length) },
  ]
  terminal.out(formatTable(columns, profiles))
  const licence = profiles[0]?.source.licence ?? ''
  const told = licence === '' ? 'a collection without a file of its licence' : `licence: ${cellText(licence)}`
  terminal.error(`${counted(profiles.length, 'profile')} of ${library.profiles.length}, ${library.layout}, ${told}.\n`)
  showProblems(terminal, library)
  return undefined
}

/** Shows one profile. */
export async function showCodecs(
  terminal: Terminal,
  collection: string,
  { vendor, model, firmware, region, json }: ShowOptions & Pick<LibraryProfile, 'vendor' | 'model'>,
): Promise<void> {
  const named = readCollection(collection).profiles.filter((one) => one.vendor === vendor && one.model === model)
  if (named.length === 0) {
    throw new CommandFailure(`The collection has no model ${model} of ${vendor}; see fieldgate codecs list.`)
  }
  const inRegion = named.filter(({ regions }) => region === undefined || regions.some((one) => one.region === region))
  if (inRegion.length === 0) {
    throw new CommandFailure(`There is no profile for ${region}, only for ${named.map(regionsText).join(', ')}.`)
  }
  const fitting = inRegion.filter(({ firmwareVersion }) => firmware === undefined || firmwareVersion === firmware)
  const [profile, other] = fitting
  if (profile === undefined || (other !== undefined && firmware === undefined)) {
    const versions = [...new Set(inRegion.map(({ firmwareVersion }) => firmwareVersion || '""'))].join(', ')
    throw new CommandFailure(`Choose a firmware by --firmware: ${versions}.`)
  }
  if (other !== undefined) {
    throw new CommandFailure(`Choose a region by --region: ${fitting.map(regionsText).join(', ')}.`)
  }
  if (json === true) return showJson(terminal, deviceProfileOf(profile, region))
  const { source, payloadCodec, testVectors, payloadDecoderScript, payloadEncoderScript } = profile
  terminal.out(
    formatFields({
      vendor,
      model,
      firmwareVersion: profile.firmwareVersion,
      description: profile.description,
      regions: regionsText(profile),
      payloadCodec,
      decoder: `${payloadDecoderScript.length} characters`,
      encoder: `${payloadEncoderScript.length} characters`,
      examples: testVectors.length,
      source: source.name,
      version: source.version,
      licence: source.licence,
      url: source.url,
    }),
  )
  return undefined
}

/** A profile without its scripts and examples, which may be a hundred times as long. */
function listedOf({
  vendor,
  model,
  description,
  firmwareVersion,
  regions,
  payloadCodec,
  source,
  testVectors,
}: LibraryProfile) {
  return { vendor, model, description, firmwareVersion, regions, payloadCodec, source, examples: testVectors.length }
}

function regionsText({ regions }: LibraryProfile): string {
  return [...new Set(regions.map(({ region }) => region))].join(' ')
}
