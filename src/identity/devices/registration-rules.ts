/** The rules by which devices that nobody has registered become devices of an application. */
import { randomUUID } from 'node:crypto'
import type { Selectable } from 'kysely'
import { applicationIdOf, hasApplicationId } from '../store/application-ids.ts'
import { listPage } from '../store/list-page.ts'
import { done, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Listed, Page, Result } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store, Unit } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'

/** The members of a rule that a person sets. A text that is empty is not set. */
export interface RegistrationRuleSettings {
  /** The devices of network servers of the whole deployment, and not those of the organization. */
  readonly isOfDeployment: boolean
  readonly networkServer: string
  /** The network server's own id of the application. */
  readonly networkServerApplicationId: string
  readonly networkServerApplicationName: string
  /** The device profile that the device has at the network server. */
  readonly networkServerProfileName: string
  /** Lower-case hexadecimal digits. */
  readonly devEuiPrefix: string
  readonly nameTemplate: string
  readonly deviceProfileId: string
  readonly deviceProfileName: string
  readonly tags: Readonly<Record<string, string>>
}

export interface RegistrationRule extends RegistrationRuleSettings {
  readonly id: string
  readonly organizationId: string
  /** The application that the devices come to. */
  readonly applicationId: string
  readonly createdAtMs: number
}

/** The rules of organizations. A rule of another organization is answered like no rule. */
export interface RegistrationRules {
  /** Refusals: application_not_found, too_many_registration_rules. */
  create(
    applicationId: string,
    settings: RegistrationRuleSettings,
    actor: Actor,
  ): Promise<Result<{ readonly id: string }>>
  /** Refusal: registration_rule_not_found. */
  remove(organizationId: string, id: string, actor: Actor): Promise<Result<void>>
  /** In the order in which they are tried. `search` looks into the settings. */
  list(organizationId: string, page: Page): Promise<Listed<RegistrationRule>>
  /** All rules of the deployment, in the order in which they are tried. */
  all(): Promise<readonly RegistrationRule[]>
}

/** Rules of one organization at most. */
const MAXIMUM_RULES = 100

/** The rules of a store. */
export function createRegistrationRules(store: Store): RegistrationRules {
  const rules = store.db
    .selectFrom('registration_rules')
    .innerJoin('applications', 'applications.id', 'registration_rules.application_id')
    .select(['applications.id as applicationNumber', 'applications.uuid as applicationUuid'])
    .selectAll('registration_rules')
    .orderBy('registration_rules.created_at')
    .orderBy('registration_rules.number')
  return {
    create: (applicationId, settings, actor) => store.change(actor, (unit) => insert(unit, applicationId, settings)),

    remove: (organizationId, id, actor) =>
      store.change(actor, async ({ trx, audit, emit }) => {
        const { numDeletedRows } = await trx
          .deleteFrom('registration_rules')
          .where('id', '=', id)
          .where('organization_id', '=', parseId(organizationId) ?? 0)
          .executeTakeFirst()
        if (numDeletedRows === 0n) return notFound('registration_rule_not_found')
        await audit('registration_rule.removed', id, organizationId, {})
        emit({ kind: 'registration_rules_changed', organizationId })
        return done
      }),

    async list(organizationId, page) {
      const scope = store.db
        .selectFrom('registration_rules')
        .where('organization_id', '=', parseId(organizationId) ?? 0)
      const { totalCount, items } = await listPage(scope, page, {
        searched: 'settings',
        sorted: (rows) => rows.select('id').orderBy('created_at').orderBy('number'),
        itemOf: ({ id }: { readonly id: string }) => id,
      })
      if (items.length === 0) return { totalCount, items: [] }
      const rows = await rules.where('registration_rules.id', 'in', items).execute()
      return { totalCount, items: rows.map(ruleOf) }
    },

    async all() {
      return (await rules.execute()).map(ruleOf)
    },
  }
}

type Row = Selectable<Schema['registration_rules']> & {
  readonly applicationNumber: number
  readonly applicationUuid: string | null
}

function ruleOf(row: Row): RegistrationRule {
  return {
    ...(JSON.parse(row.settings) as RegistrationRuleSettings),
    id: row.id,
    organizationId: String(row.organization_id),
    applicationId: applicationIdOf({ id: row.applicationNumber, uuid: row.applicationUuid }),
    createdAtMs: row.created_at,
  }
}

async function insert(
  { trx, nowMs, audit, emit }: Unit,
  applicationId: string,
  settings: RegistrationRuleSettings,
): Promise<Result<{ readonly id: string }>> {
  const application = await trx
    .selectFrom('applications')
    .select(['id', 'organization_id'])
    .where(hasApplicationId(applicationId))
    .where('removed_at', 'is', null)
    .executeTakeFirst()
  if (application === undefined) return notFound('application_not_found')
  const { count, last } = await trx
    .selectFrom('registration_rules')
    .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.coalesce(eb.fn.max('number'), eb.lit(0)).as('last')])
    .where('organization_id', '=', application.organization_id)
    .executeTakeFirstOrThrow()
  if (count >= MAXIMUM_RULES) {
    const message = `there are ${MAXIMUM_RULES} registration rules already`
    return refuse('resource_exhausted', 'too_many_registration_rules', message)
  }
  const id = randomUUID()
  const row = {
    id,
    organization_id: application.organization_id,
    application_id: application.id,
    number: last + 1,
    settings: JSON.stringify(settings),
    created_at: nowMs,
  }
  await trx.insertInto('registration_rules').values(row).execute()
  const organizationId = String(application.organization_id)
  await audit('registration_rule.created', id, organizationId, { applicationId })
  emit({ kind: 'registration_rules_changed', organizationId })
  return granted({ id })
}
