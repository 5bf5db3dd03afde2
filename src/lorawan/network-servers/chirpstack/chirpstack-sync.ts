/**
 * Brings ChirpStack's tenants, applications and devices into the registry. Each round reads all of
 * them, page by page, and writes the differences.
 *
 * A device that two rounds in a row do not find is disabled, not removed, and gets the variable
 * `chirpstackGoneSince`: a missing right makes a list incomplete, and must not cost anything that
 * can't be brought back. A device that returns is enabled again. Applications and organizations are
 * never removed.
 */
import type { Clock } from '../../../clock.ts'
import type { ChirpStackApi, ChirpStackApplication, ChirpStackDevice, ChirpStackTenant } from './chirpstack-api.ts'
import type { Logger } from '../../../logger.ts'
import { descriptionOf, nameOf } from '../../inventory/registry-texts.ts'
import { deviceFieldsOf, isSame, GONE_SINCE } from './synced-fields.ts'
import type { SyncedRegistry, SyncedDevice } from './synced-registry.ts'

export interface ChirpStackSyncParts {
  /** The name in logs, and in the external ids of organizations. */
  readonly name: string
  readonly api: Pick<ChirpStackApi, 'tenants' | 'applications' | 'devices'>
  readonly registry: SyncedRegistry
  /**
   * Tenants to existing organizations; undefined for all tenants, each with an organization that
   * the synchronisation creates.
   */
  readonly tenants: ReadonlyMap<string, string> | undefined
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

/** The counts of one round. */
export interface SyncReport {
  applications: number
  devices: number
  created: number
  updated: number
  disabled: number
  /** Objects that belong to somebody else here, or that the registry refused. */
  conflicts: number
}

/**
 * More than one deployment has. Beyond these bounds a round ends with an error: they bound its
 * memory and time.
 */
const MAXIMUM_APPLICATIONS = 10_000
const MAXIMUM_DEVICES = 200_000
/** Devices that one transaction creates. */
const BATCH_SIZE = 100

export class ChirpStackSync {
  /** The applications that come from ChirpStack. */
  readonly applications: Set<string>
  readonly #parts: ChirpStackSyncParts
  /** Devices that the last round did not find. */
  #missing: ReadonlySet<string> = new Set()
  #isStopped = false

  /**
   * `applications`: the applications of earlier rounds, so that their commands go the right way
   * before the first round has ended.
   */
  constructor(parts: ChirpStackSyncParts, applications: Iterable<string>) {
    this.#parts = parts
    this.applications = new Set(applications)
  }

  /** Ends a running round at its next step; the round rejects. */
  stop(): void {
    this.#isStopped = true
  }

  /**
   * Runs one round. Rejects when ChirpStack can't be asked; everything read until then has been
   * written.
   */
  async run(): Promise<SyncReport> {
    const report: SyncReport = { applications: 0, devices: 0, created: 0, updated: 0, disabled: 0, conflicts: 0 }
    const missing = new Set<string>()
    for await (const { tenant, organizationId } of this.#organizations(report)) {
      const known = await this.#parts.registry.applicationsOf(organizationId)
      for await (const application of this.#parts.api.applications(tenant.id)) {
        this.#step(report)
        report.applications += 1
        if (!(await this.#syncApplication(application, organizationId, known, report))) continue
        this.applications.add(application.id)
        await this.#syncDevices(application.id, organizationId, report, missing)
      }
    }
    this.#missing = missing
    return report
  }

  async *#organizations(
    report: SyncReport,
  ): AsyncGenerator<{ readonly tenant: Pick<ChirpStackTenant, 'id'>; readonly organizationId: string }> {
    const { tenants, api, registry, name } = this.#parts
    if (tenants !== undefined) {
      for (const [id, organizationId] of tenants) yield { tenant: { id }, organizationId }
      return
    }
    for await (const tenant of api.tenants()) {
      const externalId = `${externalIdPrefix(name)}${tenant.id}`
      const displayName = nameOf(tenant.name, tenant.id)
      const organizationId = await registry.organizationFor({ externalId, displayName })
      if (organizationId === undefined) this.#conflict(report, { tenant: tenant.id })
      else yield { tenant, organizationId }
    }
  }

  async #syncApplication(
    { id, name, description }: ChirpStackApplication,
    organizationId: string,
    known: ReadonlyMap<string, { readonly name: string; readonly description: string }>,
    report: SyncReport,
  ): Promise<boolean> {
    const { registry } = this.#parts
    const wanted = { name: nameOf(name, id), description: descriptionOf(description) }
    const before = known.get(id)
    if (before === undefined) {
      const isCreated = await registry.createApplication({ id, organizationId, ...wanted })
      if (isCreated) report.created += 1
      else this.#conflict(report, { applicationId: id, organizationId })
      return isCreated
    }
    // A name that got a suffix to make it unique stays as it is.
    const isRenamed = before.name !== wanted.name && !isToldApart(before.name, wanted.name, id)
    if (isRenamed || before.description !== wanted.description) {
      await registry.updateApplication(id, wanted)
      report.updated += 1
    }
    return true
  }

  async #syncDevices(
    applicationId: string,
    organizationId: string,
    report: SyncReport,
    missing: Set<string>,
  ): Promise<void> {
    const { registry, api } = this.#parts
    const known = new Map(await registry.devicesOf(applicationId))
    const profiles = await registry.profilesOf(organizationId)
    let batch: ChirpStackDevice[] = []
    const createBatch = async (): Promise<void> => {
      await this.#createDevices(batch, applicationId, organizationId, report)
      batch = []
    }
    for await (const device of api.devices(applicationId)) {
      this.#step(report)
      report.devices += 1
      const before = known.get(device.devEui)
      known.delete(device.devEui)
      if (before !== undefined) await this.#updateDevice(device, before, profiles, report)
      else if (batch.push(device) === BATCH_SIZE) await createBatch()
    }
    await createBatch()
    for (const [devEui, device] of known) await this.#disableGone(devEui, device, report, missing)
  }

  async #updateDevice(
    device: ChirpStackDevice,
    before: SyncedDevice,
    profiles: ReadonlySet<string>,
    report: SyncReport,
  ): Promise<void> {
    const { deviceProfileId, deviceProfileName } = before
    // A profile with a codec was given to the device here, by hand or by an import.
    const own = profiles.has(deviceProfileId) ? { deviceProfileId, deviceProfileName } : {}
    const wanted = { ...deviceFieldsOf(device), ...own }
    const { [GONE_SINCE]: goneSince, ...variables } = before.variables
    const back = goneSince === undefined ? {} : { isDisabled: false, variables }
    if (goneSince === undefined && isSame(before, wanted)) return
    const isUpdated = await this.#parts.registry.updateDevice(device.devEui, { ...wanted, ...back })
    if (isUpdated) report.updated += 1
    else this.#conflict(report, { devEui: device.devEui })
  }

  async #createDevices(
    devices: readonly ChirpStackDevice[],
    applicationId: string,
    organizationId: string,
    report: SyncReport,
  ): Promise<void> {
    if (devices.length === 0) return
    const { registry } = this.#parts
    const fields = devices.map((device) => ({ devEui: device.devEui, applicationId, ...deviceFieldsOf(device) }))
    const created = await registry.createDevices(fields)
    for (const [index, isCreated] of created.entries()) {
      const device = fields[index]
      if (device === undefined) continue
      if (isCreated) {
        report.created += 1
        continue
      }
      // The device may have moved here from another application. A device of another organization
      // is not touched.
      if (await registry.moveDevice(device.devEui, { applicationId, organizationId })) report.updated += 1
      else this.#conflict(report, { devEui: device.devEui, applicationId })
    }
  }

  async #disableGone(devEui: string, device: SyncedDevice, report: SyncReport, missing: Set<string>): Promise<void> {
    if (device.variables[GONE_SINCE] !== undefined) return
    missing.add(devEui)
    if (!this.#missing.has(devEui)) return
    const variables = { ...device.variables, [GONE_SINCE]: new Date(this.#parts.clock.now()).toISOString() }
    if (await this.#parts.registry.updateDevice(devEui, { isDisabled: true, variables })) report.disabled += 1
  }

  #step({ applications, devices }: SyncReport): void {
    if (this.#isStopped) throw new Error('the synchronisation was stopped')
    if (applications >= MAXIMUM_APPLICATIONS || devices >= MAXIMUM_DEVICES) {
      throw new Error(`there are more than ${MAXIMUM_APPLICATIONS} applications or ${MAXIMUM_DEVICES} devices`)
    }
  }

  #conflict(report: SyncReport, fields: object): void {
    report.conflicts += 1
    this.#parts.log.warn({ networkServer: this.#parts.name, ...fields }, 'network_server.sync_conflict')
  }
}

/**
 * The beginning of the external ids of organizations that stand for tenants of this network server.
 */
export function externalIdPrefix(name: string): string {
  return `chirpstack/${name}/`
}

/** True when the registry has made the name unique by a suffix from the id. */
function isToldApart(name: string, wanted: string, id: string): boolean {
  const suffix = ` (${id.slice(0, 8)})`
  return name.endsWith(suffix) && wanted.startsWith(name.slice(0, -suffix.length))
}
