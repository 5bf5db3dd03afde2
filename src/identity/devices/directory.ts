import { sql } from 'kysely'
import type { InferResult } from 'kysely'
import { applicationIdOf, hasApplicationId } from '../store/application-ids.ts'
import { BoundedCache } from '../../bounded-cache.ts'
import type { Change, Changes } from '../store/changes.ts'
import type { Store } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'

/** Where a device belongs. */
export interface DevicePlace {
  readonly applicationId: string
  readonly organizationId: string
  readonly isDisabled: boolean
  /** Whether events of the device get tags. */
  readonly hasTags: boolean
}

/**
 * Who owns what, for every packet: answers at once what it has at hand (no Promise), and is kept
 * right by the registry's changes.
 */
export interface Directory {
  /** The ids of the organization's applications; empty for an unknown organization. */
  applicationsOf(organizationId: string): ReadonlySet<string> | Promise<ReadonlySet<string>>
  organizationOf(applicationId: string): string | undefined | Promise<string | undefined>
  /** Takes the DevEUI as `parseDevEui` gives it. */
  device(devEui: string): DevicePlace | undefined | Promise<DevicePlace | undefined>
}

/** Organizations whose applications are remembered, and applications whose organization is. */
const MAXIMUM_ORGANIZATIONS = 2000
const MAXIMUM_APPLICATIONS = 20_000
/** Devices, some 200 bytes each. */
const MAXIMUM_DEVICES = 200_000
/**
 * DevEUIs of nobody have a place of their own: whoever makes them up pushes out only other made-up
 * ones.
 */
const MAXIMUM_UNKNOWN_DEVICES = 20_000
/**
 * Removed applications whose devices may still be remembered. At the bound all devices are
 * forgotten instead.
 */
const MAXIMUM_REMOVED = 10_000
/**
 * Another look when a change came in between; a change at each of them would be an attack, and gets
 * the last look.
 */
const MAXIMUM_LOOKS = 5

/** The directory of a store. */
export function createDirectory({ db }: Store, changes: Changes): Directory {
  const memory = createMemory()
  const findDevice = deviceFinder(db)
  changes.subscribe((change) => memory.apply(change))

  /** Looks, and remembers what was seen unless a change came in between. */
  async function look<T>(query: () => Promise<T>, remember: (seen: T) => void): Promise<T> {
    for (let looks = 1; ; looks += 1) {
      const begun = memory.generation
      const seen = await query()
      if (begun === memory.generation) remember(seen)
      else if (looks < MAXIMUM_LOOKS) continue
      return seen
    }
  }

  return {
    applicationsOf: (organizationId) =>
      memory.applications.get(organizationId) ??
      look(
        () => findApplications(db, organizationId),
        (seen) => memory.applications.set(organizationId, seen),
      ),

    organizationOf: (applicationId) =>
      memory.organizations.get(applicationId) ??
      look(
        () => findOrganization(db, applicationId),
        (seen) => {
          if (seen !== undefined) memory.organizations.set(applicationId, seen)
        },
      ),

    device(devEui) {
      const known = memory.devices.get(devEui)
      if (known !== undefined && !memory.removedApplications.has(known.applicationId)) return known
      if (memory.unknownDevices.get(devEui) !== undefined) return undefined
      return look(
        () => findDevice(devEui),
        (seen) => {
          if (seen === undefined) memory.unknownDevices.set(devEui, true)
          else memory.devices.set(devEui, seen)
        },
      )
    },
  }
}

interface Memory {
  /** Grows with each change that matters here. */
  readonly generation: number
  readonly applications: BoundedCache<ReadonlySet<string>>
  readonly organizations: BoundedCache<string>
  readonly devices: BoundedCache<DevicePlace>
  readonly unknownDevices: BoundedCache<true>
  readonly removedApplications: ReadonlySet<string>
  apply(change: Change): void
}

function createMemory(): Memory {
  const applications = new BoundedCache<ReadonlySet<string>>(MAXIMUM_ORGANIZATIONS)
  const organizations = new BoundedCache<string>(MAXIMUM_APPLICATIONS)
  const devices = new BoundedCache<DevicePlace>(MAXIMUM_DEVICES)
  const unknownDevices = new BoundedCache<true>(MAXIMUM_UNKNOWN_DEVICES)
  const removedApplications = new Set<string>()
  let generation = 0
  return {
    get generation() {
      return generation
    },
    applications,
    organizations,
    devices,
    unknownDevices,
    removedApplications,
    apply(change) {
      switch (change.kind) {
        case 'organization_removed':
          applications.delete(change.organizationId)
          break
        case 'application_created':
          applications.delete(change.organizationId)
          // An id that was asked for may have been another application's before, whose devices must
          // not come back.
          if (removedApplications.delete(change.applicationId)) devices.clear()
          break
        case 'application_changed':
          applications.delete(change.organizationId)
          break
        case 'application_removed':
          applications.delete(change.organizationId)
          organizations.delete(change.applicationId)
          if (removedApplications.size >= MAXIMUM_REMOVED) {
            removedApplications.clear()
            devices.clear()
          }
          removedApplications.add(change.applicationId)
          break
        case 'device_created':
        case 'device_changed':
        case 'device_removed':
          devices.delete(change.devEui)
          unknownDevices.delete(change.devEui)
          break
        case 'devices_changed':
          devices.clear()
          unknownDevices.clear()
          break
        case 'user_changed':
        case 'member_added':
        case 'member_removed':
        case 'token_revoked':
        case 'service_credential_revoked':
          return
      }
      generation += 1
    },
  }
}

async function findApplications(db: Store['db'], organizationId: string): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('applications')
    .select(['id', 'uuid'])
    .where('organization_id', '=', parseId(organizationId) ?? 0)
    .where('removed_at', 'is', null)
    .execute()
  return new Set(rows.map(applicationIdOf))
}

async function findOrganization(db: Store['db'], applicationId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('applications')
    .select('organization_id')
    .where(hasApplicationId(applicationId))
    .where('removed_at', 'is', null)
    .executeTakeFirst()
  return row && String(row.organization_id)
}

/**
 * Looks for one device after the other, by a query that is built and compiled once: when a whole
 * fleet is heard of for the first time after a start, building it each time would be most of the
 * work.
 */
function deviceFinder(db: Store['db']): (devEui: string) => Promise<DevicePlace | undefined> {
  const compiled = db
    .selectFrom('devices')
    .innerJoin('applications', 'applications.id', 'devices.application_id')
    .select(['applications.id', 'applications.uuid', 'devices.organization_id', 'devices.is_disabled'])
    .select(sql<number>`case when devices.tags = '{}' then 0 else 1 end`.as('has_tags'))
    .where('devices.dev_eui', '=', '')
    .where('applications.removed_at', 'is', null)
    .compile()
  type Row = InferResult<typeof compiled>[number]
  return async (devEui) => {
    const { rows } = await db.executeQuery<Row>({ ...compiled, parameters: [devEui] })
    const row = rows[0]
    return (
      row && {
        applicationId: applicationIdOf(row),
        organizationId: String(row.organization_id),
        isDisabled: row.is_disabled === 1,
        hasTags: row.has_tags === 1,
      }
    )
  }
}
