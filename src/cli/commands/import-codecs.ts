/** The work of `fieldgate codecs import`: makes device profiles of the profiles of a collection. */
import type { Command } from 'commander'
import { given } from '../../given.ts'
import { PROFILE_BOUNDS } from '../../identity/devices/profile-rules.ts'
import { objectAt, objectsAt, textAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { ApiRefusal, listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { counted } from '../terminal/counted.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { withClient } from './administration.ts'
import { changesTo, codecChanges, membersOf, planImport } from './codecs-plan.ts'
import type { PlannedProfile } from './codecs-plan.ts'
import { reportImport } from './imported-profiles.ts'
import type { Imported, ImportProgress } from './imported-profiles.ts'
import { chosen, readCollection } from './read-codecs.ts'
import type { ChoiceOptions } from './read-codecs.ts'
import { organizationIdOf } from './references.ts'

/** The options of the command. */
export interface ImportCodecsOptions extends ChoiceOptions {
  readonly organization: string
  /** Changes nothing. */
  readonly look?: true
  /** Changes the device profiles that exist. */
  readonly update?: true
  /** Also where the service refuses a codec or a test vector. */
  readonly force?: true
}

const PATH = '/api/device-profiles'

/**
 * Imports the chosen profiles one after the other, and shows what became of each. Throws
 * CommandFailure when one of them was refused, and, before anything is made, when the organization
 * would have too many device profiles.
 */
export async function importCodecs(
  terminal: Terminal,
  command: Command,
  collection: string,
  options: ImportCodecsOptions,
): Promise<void> {
  const library = readCollection(collection)
  const profiles = chosen(library, options)
  if (profiles.length === 0) {
    throw new CommandFailure('The collection has no such profile; see fieldgate codecs list.')
  }
  const progress = await withClient(terminal, command, async (client) => {
    const organizationID = await organizationIdOf(client, options.organization)
    const { result } = await listPage(client, PATH, { organizationID, limit: PROFILE_BOUNDS.perOrganization })
    const planned = planImport(profiles, result)
    demandRoom(planned, result.length)
    return importAll(terminal, { client, organizationID, options }, planned)
  })
  reportImport(terminal, library, progress, profiles.length, options)
}

function demandRoom(planned: readonly PlannedProfile[], present: number): void {
  const added = planned.filter(({ existing }) => existing === undefined).length
  const { perOrganization } = PROFILE_BOUNDS
  if (present + added <= perOrganization) return
  throw new CommandFailure(
    `The organization has ${counted(present, 'device profile')}, and ${added} would be added; ${perOrganization} are the most. Choose fewer by --search or --region.`,
  )
}

interface Target {
  readonly client: ApiClient
  readonly organizationID: string
  readonly options: ImportCodecsOptions
}

async function importAll(
  terminal: Terminal,
  target: Target,
  planned: readonly PlannedProfile[],
): Promise<ImportProgress> {
  const imported: Imported[] = []
  const showsProgress = terminal.isInteractive
  for (const one of planned) {
    const { vendor, model, firmwareVersion } = one.profile
    try {
      const result = await importOne(target, one)
      imported.push({ name: one.name, vendor, model, firmwareVersion, ...result })
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error
      // 400 and 409 are about this profile. Any other status would meet the next one as well.
      if (error.status !== 400 && error.status !== 409) return { imported, stopped: error.message }
      imported.push({ name: one.name, vendor, model, firmwareVersion, outcome: 'refused', reason: error.message })
    }
    if (showsProgress) terminal.error(`\r${imported.length} of ${planned.length} profiles`)
  }
  if (showsProgress) terminal.error('\n')
  return { imported }
}

async function importOne(
  target: Target,
  planned: PlannedProfile,
): Promise<Pick<Imported, 'outcome' | 'members' | 'breaks'>> {
  const { client, organizationID, options } = target
  const { region, look, update, force } = options
  const { profile, existing, name } = planned
  if (existing === undefined) {
    const deviceProfile = { name, organizationID, ...membersOf(profile, region) }
    if (look !== true) await client.request('POST', PATH, { deviceProfile, ...given({ force }) })
    return { outcome: 'created' }
  }
  const path = `${PATH}/${textAt(existing, 'id') ?? ''}`
  const before = objectAt(await client.request('GET', path), 'deviceProfile') ?? {}
  const changes = changesTo(before, profile, region)
  const members = Object.keys(changes)
  if (members.length === 0) return { outcome: 'unchanged' }
  if (look === true) return { outcome: 'changed', members, breaks: await brokenBy(client, path, changes) }
  if (update !== true) return { outcome: 'kept', members }
  await client.request('PUT', path, { deviceProfile: changes, ...given({ force }) })
  return { outcome: 'changed', members }
}

/** The names of the test vectors of today that the changes break. */
async function brokenBy(client: ApiClient, path: string, changes: JsonObject): Promise<readonly string[]> {
  const deviceProfile = codecChanges(changes)
  if (Object.keys(deviceProfile).length === 0) return []
  const { outcomes } = await client.request('POST', `${path}/test`, { deviceProfile })
  return objectsAt({ outcomes }, 'outcomes')
    .filter(({ ok }) => ok !== true)
    .map((outcome) => textAt(outcome, 'name') ?? '')
}
