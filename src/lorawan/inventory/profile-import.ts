/** The device profiles of a network server become profiles of the organization. */
import type { Inventory, InventoryProfile } from './inventory.ts'
import type { ImportSettings, ReportedProfile } from './import-settings.ts'
import type { ImportedProfile, ImportedSource, InventoryRegistry, KnownProfile } from './inventory-registry.ts'
import { descriptionOf, nameOf, pairsOf } from './registry-texts.ts'

/** The profile here that devices get for a profile there. */
export interface ProfileHere {
  /** Empty for a profile that is only made by the import itself. */
  readonly id: string
  readonly name: string
}

export interface ProfileImportParts {
  readonly registry: InventoryRegistry
  readonly settings: ImportSettings
  /** The name and the address of the network server. */
  readonly networkServer: { readonly name: string; readonly url: string }
  readonly isDryRun: boolean
}

export interface ImportedProfiles {
  readonly reports: readonly ReportedProfile[]
  /** By the ids at the network server; a profile that was refused is missing. */
  readonly here: ReadonlyMap<string, ProfileHere>
}

/** Imports the profiles of the inventory, or in a look says what would come of it. */
export async function importProfiles(inventory: Inventory, parts: ProfileImportParts): Promise<ImportedProfiles> {
  const { registry, settings, networkServer } = parts
  const here = new Map<string, ProfileHere>()
  const reports: ReportedProfile[] = []
  if (settings.profiles === 'NONE') return { reports, here }
  const known = [...(await registry.profilesOf(settings.organizationId))]
  if (settings.profiles === 'BY_NAME') {
    for (const { profileId, profileName } of inventory.devices) {
      const found = known.find(({ name }) => name === profileName)
      if (found !== undefined) here.set(profileId, found)
    }
    return { reports, here }
  }
  for (const profile of inventory.profiles.values()) {
    const before =
      known.find(({ source }) => source?.name === networkServer.name && source.version === profile.id) ??
      known.find(({ name }) => name === nameOf(profile.name, profile.id))
    const report = before === undefined ? await create(profile, parts) : await update(profile, before, parts)
    reports.push(report)
    if (report.outcome === 'refused' && before === undefined) continue
    const one = {
      id: report.deviceProfileId,
      name: before?.source?.name === networkServer.name ? report.name : (before?.name ?? report.name),
    }
    here.set(profile.id, one)
    // Two profiles of one name there: the second one finds the first one here.
    if (before === undefined && one.id !== '') known.push({ ...one, source: sourceOf(profile, parts) })
  }
  return { reports, here }
}

async function create(profile: InventoryProfile, parts: ProfileImportParts): Promise<ReportedProfile> {
  const { registry, settings, isDryRun } = parts
  const fields = fieldsOf(profile)
  const fault = await scriptFaultOf(fields, parts)
  if (fault !== undefined)
    return { ...reportOf(profile), outcome: 'refused', reason: 'script_not_parsed', message: fault }
  if (isDryRun) return { ...reportOf(profile), outcome: 'created' }
  const created = await registry.createProfile(settings.organizationId, fields, sourceOf(profile, parts))
  if (created.ok) return { ...reportOf(profile), outcome: 'created', deviceProfileId: created.id }
  return { ...reportOf(profile), outcome: 'refused', reason: created.reason, message: created.message }
}

/** A profile that did not come from this network server stays as it is; devices get it. */
async function update(
  profile: InventoryProfile,
  before: KnownProfile,
  parts: ProfileImportParts,
): Promise<ReportedProfile> {
  const { registry, networkServer, isDryRun } = parts
  const report = { ...reportOf(profile), deviceProfileId: before.id }
  if (before.source?.name !== networkServer.name || before.source.version !== profile.id) {
    const message = 'a device profile of this name is here already, and stays as it is'
    return { ...report, outcome: 'unchanged', reason: 'device_profile_exists', message }
  }
  const changes = await registry.profileChanges(before.id, fieldsOf(profile))
  const members = Object.keys(changes)
  if (members.length === 0) return { ...report, outcome: 'unchanged' }
  const fault = await scriptFaultOf(changes, parts)
  if (fault !== undefined)
    return { ...report, outcome: 'refused', members, reason: 'script_not_parsed', message: fault }
  const updated = isDryRun ? { ok: true as const } : await registry.updateProfile(before.id, changes)
  if (updated.ok) return { ...report, outcome: 'updated', members }
  return { ...report, outcome: 'refused', members, reason: updated.reason, message: updated.message }
}

async function scriptFaultOf(
  { payloadDecoderScript = '', payloadEncoderScript = '' }: Partial<ImportedProfile>,
  { registry, settings }: ProfileImportParts,
): Promise<string | undefined> {
  for (const script of new Set([payloadDecoderScript, payloadEncoderScript])) {
    if (script.trim() === '') continue
    const fault = await registry.scriptFault(settings.organizationId, script)
    if (fault !== undefined) return fault
  }
  return undefined
}

function reportOf({ id, name }: InventoryProfile): ReportedProfile {
  const shown = nameOf(name, id)
  return { id, name: shown, deviceProfileId: '', outcome: 'unchanged', members: [], reason: '', message: '' }
}

function sourceOf({ id }: InventoryProfile, { networkServer }: ProfileImportParts): ImportedSource {
  return { name: networkServer.name, licence: '', url: networkServer.url.slice(0, 200), version: id }
}

/** The members within the rules of the registry. */
function fieldsOf({ id, ...profile }: InventoryProfile): ImportedProfile {
  return {
    ...profile,
    name: nameOf(profile.name, id),
    description: descriptionOf(profile.description),
    vendor: nameOf(profile.vendor, ''),
    model: nameOf(profile.model, ''),
    firmwareVersion: nameOf(profile.firmwareVersion, ''),
    tags: pairsOf(profile.tags),
  }
}
