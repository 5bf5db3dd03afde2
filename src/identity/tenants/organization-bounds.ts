/** The bounds that administrators have given single organizations. */
import { BOUND_NAMES, ORGANIZATION_BOUNDS } from '../../organization-bounds.ts'
import type { BoundName, BoundOverrides } from '../../organization-bounds.ts'
import { done, notFound, refuse } from '../store/result.ts'
import type { Actor, Refusal, Result } from '../store/result.ts'
import type { Store, Unit } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'
import { findOrganization } from './organizations.ts'

/** New values by bound. `null` takes the override away; bounds that are left out stay. */
export type BoundChanges = { readonly [name in BoundName]?: number | null }

/** The overrides of the organizations. */
export interface OrganizationBoundRecords {
  /** The overrides of one organization; no member where the deployment's bound is in force. */
  of(organizationId: string): Promise<BoundOverrides>
  /** The overrides of each organization that has any, by its id. */
  all(): Promise<ReadonlyMap<string, BoundOverrides>>
  /**
   * Changes all bounds that are given, or none. Refusals: organization_not_found, invalid_bound.
   */
  change(organizationId: string, changes: BoundChanges, actor: Actor): Promise<Result<void>>
}

/** The overrides in a store. */
export function createOrganizationBounds(store: Store): OrganizationBoundRecords {
  const { db } = store
  return {
    of: (organizationId) => overridesOf(db, organizationId),

    async all() {
      const rows = await db.selectFrom('organization_bounds').selectAll().execute()
      const byOrganization = Map.groupBy(rows, ({ organization_id: id }) => String(id))
      return new Map(Array.from(byOrganization, ([id, own]) => [id, readOverrides(own)]))
    },

    change: (organizationId, changes, actor) =>
      store.change(actor, (unit) => changeBounds(unit, organizationId, changes)),
  }
}

async function overridesOf(db: Store['db'], organizationId: string): Promise<BoundOverrides> {
  const rows = await db
    .selectFrom('organization_bounds')
    .select(['name', 'value'])
    .where('organization_id', '=', parseId(organizationId) ?? 0)
    .execute()
  return readOverrides(rows)
}

/** Leaves out names that are no bounds: a later version may have fewer bounds than this one. */
function readOverrides(rows: readonly { readonly name: string; readonly value: number }[]): BoundOverrides {
  const values = new Map(rows.map(({ name, value }) => [name, value]))
  return Object.fromEntries(
    BOUND_NAMES.flatMap((name) => {
      const value = values.get(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

async function changeBounds(unit: Unit, organizationId: string, changes: BoundChanges): Promise<Result<void>> {
  const { trx, audit, emit } = unit
  const organization = await findOrganization(trx, organizationId)
  if (organization === undefined) return notFound('organization_not_found')
  const given = BOUND_NAMES.flatMap((name) => {
    const value = changes[name]
    return value === undefined ? [] : [{ name, value }]
  })
  for (const { name, value } of given) {
    const refusal = value === null ? undefined : refuseValue(name, value)
    if (refusal !== undefined) return refusal
  }
  if (given.length === 0) return done
  for (const { name, value } of given) {
    await trx
      .deleteFrom('organization_bounds')
      .where('organization_id', '=', organization.id)
      .where('name', '=', name)
      .execute()
    if (value === null) continue
    await trx.insertInto('organization_bounds').values({ organization_id: organization.id, name, value }).execute()
  }
  const detail = Object.fromEntries(given.map(({ name, value }) => [name, value]))
  await audit('organization.bounds_changed', organizationId, organizationId, detail)
  const overrides = await overridesOf(trx, organizationId)
  emit({ kind: 'organization_bounds_changed', organizationId, overrides })
  return done
}

function refuseValue(name: BoundName, value: number): Refusal | undefined {
  const { minimum, maximum } = ORGANIZATION_BOUNDS[name]
  if (Number.isInteger(value) && value >= minimum && value <= maximum) return undefined
  const rule = `${name} must be an integer from ${minimum} to ${maximum}`
  return refuse('invalid_argument', 'invalid_bound', rule)
}
