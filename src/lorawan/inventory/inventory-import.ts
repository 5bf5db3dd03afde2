/**
 * Imports the inventory of a network server into an organization: looks first at what would come of
 * it, and then does it. A second import of the same inventory changes nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { changedMembers } from '../../changed-members.ts'
import { readApplications, readInventory } from './inventory.ts'
import type { Inventory, InventoryApplication, InventorySource } from './inventory.ts'
import type { ImportReport, ImportSettings, ReportedApplication, ReportedDevice } from './import-settings.ts'
import type {
  ImportedFields,
  InventoryRegistry,
  KnownDevice,
  NewImportedDevice,
  Outcome,
} from './inventory-registry.ts'
import { importProfiles } from './profile-import.ts'
import type { ProfileHere } from './profile-import.ts'
import { descriptionOf, nameOf, pairsOf } from './registry-texts.ts'

/** The variable of a device with the name of the network server from which it was imported. */
const INVENTORY_OF = 'inventoryOf'

/** Devices that a report names. Further ones are counted. */
const MAXIMUM_TOLD = 1_000
/** Devices that are created together: they hold up the event loop for some 10 ms. */
const BATCH_SIZE = 100
/** Devices that are compared in one turn of the event loop. */
const DEVICES_PER_TURN = 20

export interface InventoryImportParts {
  readonly source: InventorySource
  readonly registry: InventoryRegistry
  readonly networkServer: { readonly name: string; readonly url: string }
  /** Aborted when the time of the reading is over, or the service closes. */
  readonly signal: AbortSignal
  /**
   * Devices to be removed if they are missing; empty for none. They were missing in the run before.
   */
  readonly removable?: ReadonlySet<string>
}

/** Reads the inventory, and imports it. Rejects with an `InventoryUnreadable` before any change. */
export async function importInventory(
  parts: InventoryImportParts,
  settings: ImportSettings,
  { isDryRun }: { readonly isDryRun: boolean },
): Promise<ImportReport> {
  const { source, signal } = parts
  const listed = await readApplications(source, signal)
  const planned = await planApplications(listed, parts.registry, settings)
  const wanted = planned.filter(({ outcome }) => outcome === 'unchanged' || outcome === 'created')
  const withProfiles = settings.profiles === 'IMPORT'
  const inventory = await readInventory(
    source,
    wanted.map(({ id }) => id),
    { withProfiles, signal },
  )
  const run = new ImportRun(parts, settings, isDryRun)
  return run.finish(inventory, await run.applications(planned, listed))
}

/** Where each application goes. Nothing is written. */
async function planApplications(
  listed: readonly InventoryApplication[],
  registry: InventoryRegistry,
  { organizationId, applications, createsApplications }: ImportSettings,
): Promise<readonly ReportedApplication[]> {
  const ours = await registry.applicationsOf(organizationId)
  const isOurs = (applicationId: string): boolean => ours.some(({ id }) => id === applicationId)
  const reports = listed.map(({ id, name: writtenName }): ReportedApplication => {
    const name = nameOf(writtenName, id)
    const report = { id, name, applicationId: '', outcome: 'leftOut', reason: '', message: '' } as const
    if (applications !== undefined) {
      const mapped = Object.hasOwn(applications, id) ? applications[id] : undefined
      if (mapped === undefined) return report
      if (isOurs(mapped)) return { ...report, applicationId: mapped, outcome: 'unchanged' }
      const message = `the organization has no application ${mapped}`
      return { ...report, outcome: 'refused', reason: 'application_not_found', message }
    }
    const found = ours.find((one) => one.id === id) ?? ours.find((one) => one.name === name)
    if (found !== undefined) return { ...report, applicationId: found.id, outcome: 'unchanged' }
    return createsApplications ? { ...report, outcome: 'created' } : report
  })
  const known = new Set(listed.map(({ id }) => id))
  const missing = Object.entries(applications ?? {}).flatMap(([id, mapped]): readonly ReportedApplication[] => {
    if (known.has(id)) return []
    const applicationId = isOurs(mapped) ? mapped : ''
    const message = 'the network server has no application with this id'
    const reason = 'network_server_application_not_found'
    return [{ id, name: nameOf('', id), applicationId, outcome: 'missing', reason, message }]
  })
  return [...reports, ...missing]
}

class ImportRun {
  readonly #parts: InventoryImportParts
  readonly #settings: ImportSettings
  readonly #isDryRun: boolean
  readonly #devices: ReportedDevice[] = []
  #toCreate: { readonly device: NewImportedDevice; readonly joinEui: string }[] = []
  readonly #counts = { created: 0, updated: 0, unchanged: 0, refused: 0, leftOut: 0 }

  constructor(parts: InventoryImportParts, settings: ImportSettings, isDryRun: boolean) {
    this.#parts = parts
    this.#settings = settings
    this.#isDryRun = isDryRun
  }

  /** Makes the applications that are to be made. */
  async applications(
    planned: readonly ReportedApplication[],
    listed: readonly InventoryApplication[],
  ): Promise<readonly ReportedApplication[]> {
    const { organizationId, givesIds } = this.#settings
    const done: ReportedApplication[] = []
    for (const [index, report] of planned.entries()) {
      if (report.outcome !== 'created' || this.#isDryRun) {
        done.push(report)
        continue
      }
      const { id, name } = report
      const description = descriptionOf(listed[index]?.description ?? '')
      const wanted = { organizationId, id: givesIds ? id : undefined, name, description }
      const created = await this.#parts.registry.createApplication(wanted)
      if (created.ok) done.push({ ...report, applicationId: created.id })
      else done.push({ ...report, outcome: 'refused', reason: created.reason, message: created.message })
    }
    return done
  }

  async finish(inventory: Inventory, applications: readonly ReportedApplication[]): Promise<ImportReport> {
    const { registry, networkServer } = this.#parts
    const settings = this.#settings
    const profiles = await importProfiles(inventory, { registry, settings, networkServer, isDryRun: this.#isDryRun })
    const targets = new Map(applications.map((one) => [one.id, one]))
    const known = new Map<string, KnownDevice>()
    for (const id of new Set(applications.map(({ applicationId }) => applicationId))) {
      if (id !== '') for (const [devEui, device] of await registry.devicesOf(id)) known.set(devEui, device)
    }
    for (const [index, device] of inventory.devices.entries()) {
      // The registry may answer without a turn of the event loop; other tenants want theirs.
      if (index % DEVICES_PER_TURN === 0) await nextTurn()
      const target = targets.get(device.applicationId)
      if (target === undefined || target.outcome === 'refused') continue
      const here = profiles.here.get(device.profileId)
      await this.#take(device, target.applicationId, here, known)
    }
    await this.#createBatch()
    const listed = new Set(inventory.devices.map(({ devEui }) => devEui))
    const missing = Array.from(known.values()).filter(
      ({ devEui, variables }) => variables[INVENTORY_OF] === networkServer.name && !listed.has(devEui),
    )
    const removed = await this.#remove(missing, inventory, applications)
    const { leftOut: _, ...counts } = this.#counts
    return {
      isDryRun: this.#isDryRun,
      ...counts,
      missing: missing.length - removed,
      removed,
      applications,
      profiles: profiles.reports,
      devices: this.#devices,
      missingDevEuis: missing.slice(0, MAXIMUM_TOLD).map(({ devEui }) => devEui),
    }
  }

  async #take(
    device: Inventory['devices'][number],
    applicationId: string,
    profile: ProfileHere | undefined,
    known: ReadonlyMap<string, KnownDevice>,
  ): Promise<void> {
    const { registry } = this.#parts
    const { devEui, joinEui, isDisabled } = device
    const fields = this.#fieldsOf(device, applicationId, profile)
    const before = known.get(devEui) ?? (await registry.device(devEui))
    if (before === undefined) {
      this.#toCreate.push({ device: { devEui, isDisabled, ...fields }, joinEui })
      if (this.#toCreate.length >= BATCH_SIZE) await this.#createBatch()
      return
    }
    const told = { devEui, joinEui, name: fields.name, applicationId }
    if (before.organizationId !== this.#settings.organizationId) {
      const message = 'a device of another organization has this DevEUI'
      this.#tell({ ...told, members: [] }, { ok: false, reason: 'device_exists_elsewhere', message }, 'created')
      return
    }
    const changes = changedMembers<ImportedFields>(fields, before)
    const members = Object.keys(changes)
    if (members.length === 0) {
      this.#counts.unchanged += 1
      return
    }
    const outcome: Outcome = this.#isDryRun ? { ok: true } : await registry.updateDevice(devEui, changes)
    if (!this.#isDryRun) await nextTurn()
    this.#tell({ ...told, members }, outcome, 'updated')
  }

  #fieldsOf(
    { devEui, name, description, profileId, profileName, tags, variables }: Inventory['devices'][number],
    applicationId: string,
    profile: ProfileHere | undefined,
  ): ImportedFields {
    return {
      name: nameOf(name, devEui),
      description: descriptionOf(description),
      applicationId,
      deviceProfileId: profile?.id ?? nameOf(profileId, ''),
      deviceProfileName: profile?.name ?? nameOf(profileName, ''),
      tags: { ...pairsOf(tags), ...this.#settings.tags },
      variables: { ...pairsOf(variables), [INVENTORY_OF]: this.#parts.networkServer.name },
    }
  }

  async #createBatch(): Promise<void> {
    const batch = this.#toCreate
    this.#toCreate = []
    if (batch.length === 0) return
    const outcomes: readonly Outcome[] = this.#isDryRun
      ? batch.map(() => ({ ok: true }))
      : await this.#parts.registry.createDevices(batch.map(({ device }) => device))
    await nextTurn()
    for (const [index, { device, joinEui }] of batch.entries()) {
      const { devEui, name, applicationId } = device
      this.#tell({ devEui, joinEui, name, applicationId, members: [] }, outcomes[index] ?? { ok: true }, 'created')
    }
  }

  #tell(
    device: Omit<ReportedDevice, 'outcome' | 'reason' | 'message'>,
    outcome: Outcome,
    success: 'created' | 'updated',
  ): void {
    this.#counts[outcome.ok ? success : 'refused'] += 1
    if (this.#devices.length >= MAXIMUM_TOLD) return
    if (outcome.ok) this.#devices.push({ ...device, outcome: success, reason: '', message: '' })
    else this.#devices.push({ ...device, outcome: 'refused', reason: outcome.reason, message: outcome.message })
  }

  /**
   * Nothing is removed on the word of a list that is empty, and no device whose application may be
   * one that is missing: a right that was taken away hides devices and applications.
   */
  async #remove(
    missing: readonly KnownDevice[],
    inventory: Inventory,
    applications: readonly ReportedApplication[],
  ): Promise<number> {
    const { registry, removable } = this.#parts
    if (this.#isDryRun || removable === undefined || inventory.devices.length === 0) return 0
    const kept = new Set(applications.flatMap((one) => (one.outcome === 'missing' ? [one.applicationId] : [])))
    let removed = 0
    for (const { devEui, applicationId } of missing) {
      if (!removable.has(devEui) || kept.has(applicationId)) continue
      await nextTurn()
      if ((await registry.removeDevice(devEui)).ok) removed += 1
    }
    return removed
  }
}
