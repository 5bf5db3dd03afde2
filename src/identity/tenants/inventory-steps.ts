/** The organizations that are kept in step with the inventories of network servers. */
import type { Selectable } from 'kysely'
import { done, notFound, refuse } from '../store/result.ts'
import type { Actor, Result } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'

type Json = Readonly<Record<string, unknown>>

/** The wish of an organization to be kept in step with a network server. */
export interface StoredInventoryStep {
  readonly networkServer: string
  readonly organizationId: string
  /** The registry does not read them. They have no secret. */
  readonly settings: Json
  /** Null: there was no run yet. */
  readonly ranAtMs: number | null
  /** The outcome of the last run. The registry does not read it. */
  readonly outcome: Json | null
}

/** The steps of all organizations: at most one for each network server and organization. */
export interface InventoryStepStore {
  /** Sets the settings. Refusals: organization_not_found, too_many_inventory_steps. */
  put(
    step: Pick<StoredInventoryStep, 'networkServer' | 'organizationId' | 'settings'>,
    actor: Actor,
  ): Promise<Result<void>>
  /** Refusal: inventory_step_not_found. */
  remove(step: Pick<StoredInventoryStep, 'networkServer' | 'organizationId'>, actor: Actor): Promise<Result<void>>
  /** The steps of an organization; of all organizations, where none is given. */
  list(organizationId?: string): Promise<readonly StoredInventoryStep[]>
  /** Notes the outcome of a run. A step that has ended meanwhile is passed over. */
  ran(step: Required<StoredInventoryStep>): Promise<void>
}

/** Network servers of one organization that are kept in step. */
const MAXIMUM_STEPS = 100

/** The steps of a store. */
export function createInventorySteps(store: Store): InventoryStepStore {
  const { db } = store
  return {
    put: ({ networkServer, organizationId, settings }, actor) =>
      store.change(actor, async ({ trx, nowMs, audit }) => {
        const organization = await trx
          .selectFrom('organizations')
          .select('id')
          .where('id', '=', parseId(organizationId) ?? 0)
          .where('removed_at', 'is', null)
          .executeTakeFirst()
        if (organization === undefined) return notFound('organization_not_found')
        const known = await trx
          .selectFrom('inventory_steps')
          .select('network_server')
          .where('organization_id', '=', organization.id)
          .execute()
        const isKnown = known.some(({ network_server: name }) => name === networkServer)
        if (!isKnown && known.length >= MAXIMUM_STEPS) {
          const message = `the organization is kept in step with ${MAXIMUM_STEPS} network servers already`
          return refuse('resource_exhausted', 'too_many_inventory_steps', message)
        }
        const text = JSON.stringify(settings)
        await trx
          .insertInto('inventory_steps')
          .values({
            network_server: networkServer,
            organization_id: organization.id,
            settings: text,
            ran_at: null,
            outcome: null,
            created_at: nowMs,
          })
          // The next run is due at once.
          .onConflict((conflict) =>
            conflict.columns(['network_server', 'organization_id']).doUpdateSet({ settings: text, ran_at: null }),
          )
          .execute()
        await audit('inventory_step.set', networkServer, organizationId, {})
        return done
      }),

    remove: ({ networkServer, organizationId }, actor) =>
      store.change(actor, async ({ trx, audit }) => {
        const { numDeletedRows } = await trx
          .deleteFrom('inventory_steps')
          .where('network_server', '=', networkServer)
          .where('organization_id', '=', parseId(organizationId) ?? 0)
          .executeTakeFirst()
        if (numDeletedRows === 0n) return notFound('inventory_step_not_found')
        await audit('inventory_step.removed', networkServer, organizationId, {})
        return done
      }),

    async list(organizationId) {
      const all = db.selectFrom('inventory_steps').selectAll().orderBy('organization_id').orderBy('network_server')
      const rows = organizationId === undefined ? all : all.where('organization_id', '=', parseId(organizationId) ?? 0)
      return (await rows.execute()).map(stepOf)
    },

    async ran({ networkServer, organizationId, ranAtMs, outcome, settings }) {
      await store.note((noted) =>
        noted
          .updateTable('inventory_steps')
          .set({ ran_at: ranAtMs, outcome: JSON.stringify(outcome) })
          .where('network_server', '=', networkServer)
          .where('organization_id', '=', parseId(organizationId) ?? 0)
          // Settings that were changed meanwhile want a run of their own.
          .where('settings', '=', JSON.stringify(settings))
          .execute(),
      )
    },
  }
}

function stepOf(row: Selectable<Schema['inventory_steps']>): StoredInventoryStep {
  return {
    networkServer: row.network_server,
    organizationId: String(row.organization_id),
    settings: JSON.parse(row.settings) as Json,
    ranAtMs: row.ran_at,
    outcome: row.outcome === null ? null : (JSON.parse(row.outcome) as Json),
  }
}
