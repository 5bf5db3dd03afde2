/**
 * The directory: where each device and application belongs. Permits ask it for every packet, so it
 * answers from memory.
 */
import { sql } from 'kysely'
import type { CompiledQuery, InferResult } from 'kysely'
import { Remembered } from '../../remembered.ts'
import { applicationIdOf, hasApplicationId } from '../store/application-ids.ts'
import type { Changes } from '../store/changes.ts'
import { forgetOnChange } from '../store/remembered-facts.ts'
import type { Store } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'

/** Where a device belongs. */
export interface DevicePlace {
  readonly applicationId: string
  readonly organizationId: string
  readonly isDisabled: boolean
  /** Whether events of the device get tags. */
  readonly hasTags: boolean
  /**
   * The device profile that applies: the device names its id, and it belongs to the device's
   * organization.
   */
  readonly profileId?: string
}

/**
 * Tells where devices and applications belong. It answers at once, without a Promise, when the
 * answer is at hand, and is kept right by the registry's changes.
 */
export interface Directory {
  /**
   * The ids of the organization's applications; empty for an unknown organization. The set is kept
   * right for as long as the organization exists, so that a caller can hold it; when the
   * organization is removed, the set becomes empty.
   */
  applicationsOf(organizationId: string): ReadonlySet<string> | Promise<ReadonlySet<string>>
  organizationOf(applicationId: string): string | undefined | Promise<string | undefined>
  /** Takes the DevEUI as `parseDevEui` gives it. */
  device(devEui: string): DevicePlace | undefined | Promise<DevicePlace | undefined>
  /**
   * Another object after each change of a device or an application. An answer of `device` that is
   * kept elsewhere is right while the version is the one from before the question.
   */
  readonly devicesVersion: object
}

/**
 * A set of application ids may be held by permits, so none is pushed out of memory. Permits and
 * settings ask for existing organizations only: the sets are bounded by the applications of the
 * deployment.
 */
const MAXIMUM_ORGANIZATIONS = Infinity
/** Applications whose organization is remembered. */
const MAXIMUM_APPLICATIONS = 20_000
/** Devices, some 200 bytes each. */
const MAXIMUM_DEVICES = 200_000
/** DevEUIs of no device. Clients can make them up, so they have a bound of their own. */
const MAXIMUM_UNKNOWN_DEVICES = 20_000

/** The directory of a store. */
export function createDirectory(store: Store, changes: Changes): Directory {
  const { db } = store
  const applicationIds = createApplicationIds(db)
  const organizations = new Remembered<string | undefined>({
    look: (applicationId) => findOrganization(db, applicationId),
    maximum: MAXIMUM_APPLICATIONS,
  })
  const devices = new Remembered<DevicePlace | undefined>({
    look: deviceFinder(store),
    maximum: MAXIMUM_DEVICES,
    maximumAbsent: MAXIMUM_UNKNOWN_DEVICES,
    groupOf: ({ applicationId }) => applicationId,
  })
  forgetOnChange(changes, { applicationIds, application: organizations, place: devices })
  return {
    applicationsOf: (organizationId) => applicationIds.of(organizationId),
    organizationOf: (applicationId) => organizations.of(applicationId),
    device: (devEui) => devices.of(devEui),
    get devicesVersion() {
      return devices.version
    },
  }
}

/**
 * The sets of application ids. Callers keep a set, so it stays the same object for as long as its
 * organization exists, also when all is looked up again.
 */
function createApplicationIds(db: Store['db']) {
  /** One set for each organization that was asked for and still exists. */
  const kept = new Map<string, Set<string>>()
  const remembered = new Remembered<Set<string>>({
    async look(organizationId) {
      const found = await findApplications(db, organizationId)
      const known = kept.get(organizationId)
      if (known === undefined) {
        kept.set(organizationId, found)
        return found
      }
      known.clear()
      for (const id of found) known.add(id)
      return known
    },
    maximum: MAXIMUM_ORGANIZATIONS,
  })
  return {
    of: (organizationId: string) => remembered.of(organizationId),
    amend(organizationId: string, apply: (ids: Set<string>) => void) {
      const known = kept.get(organizationId)
      if (known !== undefined) apply(known)
      // A look-up under way may give the state before the change.
      remembered.amend(organizationId, apply)
    },
    forget(organizationId: string) {
      kept.delete(organizationId)
      remembered.forget(organizationId)
    },
    forgetAll: () => remembered.forgetAll(),
  }
}

async function findApplications(db: Store['db'], organizationId: string): Promise<Set<string>> {
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
 * Finds one device after the other by a query that is built and compiled once, and at once where
 * the store can. When a whole fleet is heard of for the first time after a start, each of its
 * events waits for this.
 */
function deviceFinder(store: Store): (devEui: string) => DevicePlace | undefined | Promise<DevicePlace | undefined> {
  const { db } = store
  // Parts of the select, because a join costs five times as much on Bun.
  const compiled = db
    .selectFrom('devices')
    .select((select) => [
      select
        .selectFrom('applications')
        .select('applications.id')
        .whereRef('applications.id', '=', 'devices.application_id')
        .where('applications.removed_at', 'is', null)
        .as('id'),
      select
        .selectFrom('applications')
        .select('applications.uuid')
        .whereRef('applications.id', '=', 'devices.application_id')
        .as('uuid'),
      select
        .selectFrom('device_profiles')
        .select('device_profiles.id')
        .whereRef('device_profiles.id', '=', 'devices.device_profile_id')
        .whereRef('device_profiles.organization_id', '=', 'devices.organization_id')
        .as('profile_id'),
    ])
    .select(['devices.organization_id', 'devices.is_disabled'])
    .select(sql<number>`case when devices.tags = '{}' then 0 else 1 end`.as('has_tags'))
    .where('devices.dev_eui', '=', '')
    .compile()
  type Row = InferResult<typeof compiled>[number]
  const placeOf = (rows: readonly Row[]): DevicePlace | undefined => {
    const row = rows[0]
    if (row === undefined || row.id === null) return undefined
    return {
      applicationId: applicationIdOf({ id: row.id, uuid: row.uuid }),
      organizationId: String(row.organization_id),
      isDisabled: row.is_disabled === 1,
      hasTags: row.has_tags === 1,
      ...(row.profile_id === null ? {} : { profileId: row.profile_id }),
    }
  }
  return (devEui) => {
    const query: CompiledQuery<Row> = { ...compiled, parameters: [devEui] }
    const atOnce = store.readAtOnce(query)
    return atOnce === undefined ? db.executeQuery(query).then(({ rows }) => placeOf(rows)) : placeOf(atOnce)
  }
}
