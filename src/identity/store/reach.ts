/** The applications and devices that a restricted credential reaches, as conditions of lists. */
import { sql } from 'kysely'
import type { RawBuilder, SqlBool } from 'kysely'
import { hasApplicationId } from './application-ids.ts'
import type { Store } from './store.ts'

/**
 * The part of a `Scope` (`tokens/scope.ts`) that limits applications and devices. An absent member
 * is no limit. A device must satisfy all members that are there.
 */
export interface Reach {
  readonly applicationIds?: readonly string[]
  readonly devEuis?: readonly string[]
  /** A device must have each of these tags with this value. */
  readonly tags?: Readonly<Record<string, string>>
}

/** Whether the reach has a limit at all. */
export function isRestricted({ applicationIds, devEuis, tags }: Reach): boolean {
  return applicationIds !== undefined || devEuis !== undefined || tags !== undefined
}

/**
 * SQL for "the credential reaches this row of `applications`"; undefined where it reaches all. An
 * application is reached for its own sake, or for one of its devices that are named. Tags alone
 * reach every application: a device with the tag may be in any, and may come into it at any time.
 */
export function applicationsWithin({ applicationIds, devEuis }: Reach): RawBuilder<SqlBool> | undefined {
  const conditions: RawBuilder<SqlBool>[] = []
  if (applicationIds !== undefined) {
    conditions.push(sql<SqlBool>`(${sql.join(applicationIds.map(hasApplicationId), sql` or `)})`)
  }
  if (devEuis !== undefined) {
    conditions.push(
      sql<SqlBool>`applications.id in (select application_id from devices where dev_eui in (${sql.join(devEuis)}))`,
    )
  }
  return conditions.length === 0 ? undefined : sql<SqlBool>`(${sql.join(conditions, sql` and `)})`
}

/** SQL for "the credential reaches this row of `devices`"; undefined where it reaches all. */
export function devicesWithin(
  { applicationIds, devEuis, tags }: Reach,
  dialect: Store['dialect'],
): RawBuilder<SqlBool> | undefined {
  const conditions: RawBuilder<SqlBool>[] = []
  if (applicationIds !== undefined) {
    const named = sql.join(applicationIds.map(hasApplicationId), sql` or `)
    conditions.push(sql<SqlBool>`devices.application_id in (select id from applications where ${named})`)
  }
  if (devEuis !== undefined) conditions.push(sql<SqlBool>`devices.dev_eui in (${sql.join(devEuis)})`)
  for (const [name, value] of Object.entries(tags ?? {})) {
    conditions.push(
      dialect === 'sqlite'
        ? sql<SqlBool>`exists (select 1 from json_each(devices.tags) as tag where tag.key = ${name} and tag.value = ${value})`
        : sql<SqlBool>`cast(devices.tags as jsonb) ->> ${name} = ${value}`,
    )
  }
  return conditions.length === 0 ? undefined : sql<SqlBool>`(${sql.join(conditions, sql` and `)})`
}
