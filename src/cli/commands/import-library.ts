/** The work of `fieldgate codecs import` without an organization: it fills the library. */
import type { Command } from 'commander'
import { given } from '../../given.ts'
import type { LibraryProfileFields } from '../../identity/devices/library-profile.ts'
import { boundedProfile, checkLibraryProfile } from '../../identity/devices/library-rules.ts'
import { REPEATED, RepeatedModels } from '../../identity/devices/repeated-models.ts'
import { objectsAt, textAt, textsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import type { LibraryProfile } from '../../lorawan/library/library-profile.ts'
import { ApiRefusal } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { withClient } from './administration.ts'
import { reportImport } from './imported-profiles.ts'
import type { Imported, ImportProgress, Outcome } from './imported-profiles.ts'
import type { ImportCodecsOptions } from './import-codecs.ts'
import { chosen, readCollection } from './read-codecs.ts'

/** The options of the command. */
export type ImportLibraryOptions = Omit<ImportCodecsOptions, 'organization'>

/** Profiles of one request: their examples take a second or two. */
const BATCH_PROFILES = 10
/** Characters of one request, far below the service's bound for a body. */
const BATCH_CHARACTERS = 2_000_000

const PATH = '/api/device-library/profiles'

/**
 * Imports the chosen profiles into the library, and shows what became of each. Throws
 * CommandFailure when one of them was refused.
 */
export async function importLibrary(
  terminal: Terminal,
  command: Command,
  collection: string,
  options: ImportLibraryOptions,
): Promise<void> {
  const library = readCollection(collection)
  const profiles = chosen(library, options)
  if (profiles.length === 0) {
    throw new CommandFailure('The collection has no such profile; see fieldgate codecs list.')
  }
  const progress = await withClient(terminal, command, (client) => importAll(terminal, client, options, profiles))
  reportImport(terminal, library, progress, profiles.length, options)
}

async function importAll(
  terminal: Terminal,
  client: ApiClient,
  options: ImportLibraryOptions,
  profiles: readonly LibraryProfile[],
): Promise<ImportProgress> {
  const imported: Imported[] = []
  const good: LibraryProfileFields[] = []
  const models = new RepeatedModels()
  for (const told of profiles) {
    const profile = boundedProfile(told)
    const unfit = models.repeats(profile) ? REPEATED : checkLibraryProfile(profile)
    if (unfit === undefined) good.push(profile)
    else imported.push(rowOf(profile, { outcome: 'refused', reason: unfit.message }))
  }
  try {
    for (const batch of batchesOf(good)) {
      imported.push(...(await importBatch(client, options, batch)))
      if (terminal.isInteractive) terminal.error(`\r${imported.length} of ${profiles.length} profiles`)
    }
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error
    return { imported, stopped: error.message }
  } finally {
    if (terminal.isInteractive) terminal.error('\n')
  }
  return { imported }
}

function* batchesOf(profiles: readonly LibraryProfileFields[]): Generator<readonly LibraryProfileFields[]> {
  let batch: LibraryProfileFields[] = []
  let characters = 0
  for (const profile of profiles) {
    const length = JSON.stringify(profile).length
    if (batch.length === BATCH_PROFILES || (batch.length > 0 && characters + length > BATCH_CHARACTERS)) {
      yield batch
      batch = []
      characters = 0
    }
    batch.push(profile)
    characters += length
  }
  if (batch.length > 0) yield batch
}

async function importBatch(
  client: ApiClient,
  { look, update, force }: ImportLibraryOptions,
  profiles: readonly LibraryProfileFields[],
): Promise<readonly Imported[]> {
  const report = await client.request('POST', PATH, { profiles, ...given({ dryRun: look, update, force }) })
  // The report leaves the unchanged ones out, and has the others in their order.
  const told = objectsAt(report, 'profiles')
  let next = 0
  return profiles.map((profile) => {
    const row = told[next]
    if (row === undefined || !isOf(row, profile)) return rowOf(profile, { outcome: 'unchanged' })
    next += 1
    const members = textsAt(row, 'members')
    return rowOf(profile, {
      outcome: textAt(row, 'outcome') as Outcome,
      ...given({ members: members.length === 0 ? undefined : members, reason: textAt(row, 'message') }),
    })
  })
}

function isOf(row: JsonObject, { vendor, model, firmwareVersion, regions }: LibraryProfileFields): boolean {
  if (row['vendor'] !== vendor || row['model'] !== model || row['firmwareVersion'] !== firmwareVersion) return false
  return textsAt(row, 'regions').join('\n') === regions.map(({ region }) => region).join('\n')
}

function rowOf(
  { vendor, model, firmwareVersion }: LibraryProfileFields,
  result: Pick<Imported, 'outcome' | 'members' | 'reason'>,
): Imported {
  const name = [vendor, model, firmwareVersion].filter((part) => part !== '').join(' ')
  return { name, vendor, model, firmwareVersion, ...result }
}
