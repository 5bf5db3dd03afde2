/** The rules of API keys: which members they may have, and who may make them. */
import { sql } from 'kysely'
import { given } from '../../given.ts'
import { API_KEY_RIGHTS, coversRight, unrestrictable } from '../store/api-key-rights.ts'
import type { ApiKeyRight } from '../store/api-key-rights.ts'
import { hasApplicationId } from '../store/application-ids.ts'
import { notFound, refuse } from '../store/result.ts'
import type { Refusal } from '../store/result.ts'
import type { Unit } from '../store/store.ts'
import { isName, parseId } from '../store/text-rules.ts'
import { makerRolesOf, readRights } from './api-key-standing.ts'
import type { MakerRow } from './api-key-standing.ts'
import type { Scope } from './scope.ts'

/** The longest name of a key, in characters. */
export const MAXIMUM_API_KEY_NAME = 100
/** The longest overlap of two secrets: 30 days. */
export const MAXIMUM_OVERLAP_SECONDS = 2_592_000
/** Some ten years. No clock and no client has trouble with such a time. */
const MAXIMUM_LIFE_MS = 315_360_000_000

/** Refuses a name, rights or a restriction that no key of this owner may have. */
export function refuseMembers(
  {
    name,
    rights,
    scope,
  }: { readonly name: string; readonly rights: readonly ApiKeyRight[]; readonly scope: Scope | undefined },
  organizationId: string | null,
): Refusal | undefined {
  if (!isName(name, MAXIMUM_API_KEY_NAME)) {
    const rule = `name must have 1 to ${MAXIMUM_API_KEY_NAME} characters on one line`
    return refuse('invalid_argument', 'invalid_name', rule)
  }
  if (rights.length === 0 || new Set(rights).size !== rights.length) {
    return refuse('invalid_argument', 'api_key_rights_invalid', `rights: must be some of ${API_KEY_RIGHTS.join(', ')}`)
  }
  if (organizationId !== null && rights.includes('metrics.read')) {
    const rule = 'rights: metrics.read is for keys of the deployment, since the metrics tell of all organizations'
    return refuse('invalid_argument', 'api_key_rights_invalid', rule)
  }
  return refuseScope(rights, scope)
}

function refuseScope(rights: readonly ApiKeyRight[], scope: Scope | undefined): Refusal | undefined {
  if (scope === undefined) return undefined
  if (Object.keys(scope).some((member) => !['applicationIds', 'devEuis', 'tags'].includes(member))) {
    const rule = 'an API key is restricted to applications, devices and tags alone; its rights say the rest'
    return refuse('invalid_argument', 'scope_invalid', rule)
  }
  const { applicationIds, devEuis, tags } = scope
  const devices = devEuis !== undefined || tags !== undefined
  const right = unrestrictable(rights, { applications: applicationIds !== undefined, devices })
  if (right === undefined) return undefined
  const rule = devices
    ? `a key with ${right} can’t be restricted to devices or tags`
    : `a key with ${right} can’t be restricted`
  return refuse('invalid_argument', 'api_key_not_restrictable', rule)
}

/** Refuses an expiry that is over, or later than anybody can mean. */
export function refuseExpiry(expiresAtMs: number | null, nowMs: number): Refusal | undefined {
  if (expiresAtMs === null) return undefined
  if (Number.isSafeInteger(expiresAtMs) && expiresAtMs > nowMs && expiresAtMs <= nowMs + MAXIMUM_LIFE_MS) {
    return undefined
  }
  const rule = 'expiresAt: must be a time in the future, at most ten years from now'
  return refuse('invalid_argument', 'api_key_expiry_invalid', rule)
}

/**
 * Refuses a maker who may not do all that the key may. Nobody hands out a right that they have not.
 */
export async function refuseMaker(
  trx: Unit['trx'],
  makerUserId: string | null,
  organizationId: string | null,
  rights: readonly ApiKeyRight[],
): Promise<Refusal | undefined> {
  const ownerId = organizationId === null ? null : (parseId(organizationId) ?? 0)
  if (ownerId !== null) {
    const owner = trx.selectFrom('organizations').select('id').where('id', '=', ownerId).where('removed_at', 'is', null)
    if ((await owner.executeTakeFirst()) === undefined) return notFound('organization_not_found')
  }
  const { rows } = await sql<MakerRow>`
    select ${ownerId === null ? sql`null` : sql`${sql.lit(ownerId)}`} as organization_id, 1 as has_organization,
      users.is_active as is_active, users.is_admin as is_global_admin,
      case when members.user_id is not null then 1 else 0 end as is_member, members.is_admin as is_admin,
      members.is_device_admin as is_device_admin, members.is_read_only as is_read_only
    from users left join members on members.user_id = users.id and members.organization_id = ${ownerId ?? 0}
    where users.id = ${parseId(makerUserId ?? '') ?? 0}`.execute(trx)
  const [row] = rows
  const roles = row && makerRolesOf(row)
  if (
    roles !== undefined &&
    (roles.isGlobalAdmin || (roles.isAdmin && !roles.isReadOnly)) &&
    rights.every((right) => coversRight(roles, right))
  ) {
    return undefined
  }
  const owner = organizationId === null ? 'a global admin' : 'an admin of the organization'
  const rule = `the maker of the API key must be ${owner}, for the key stands with the rights of its maker`
  return refuse('failed_precondition', 'api_key_maker', rule)
}

/**
 * Refuses a restriction to things that are not the owner's. A thing of another organization answers
 * like one that does not exist.
 */
export async function refuseForeignThings(
  trx: Unit['trx'],
  organizationId: string | null,
  scope: Scope | undefined,
): Promise<Refusal | undefined> {
  const owner = given({ organization_id: organizationId === null ? undefined : (parseId(organizationId) ?? 0) })
  for (const id of scope?.applicationIds ?? []) {
    const found = await trx
      .selectFrom('applications')
      .select('id')
      .where(hasApplicationId(id))
      .where('removed_at', 'is', null)
      .where((eb) => eb.and(owner))
      .executeTakeFirst()
    if (found === undefined) return notFound('object_not_found')
  }
  const devEuis = scope?.devEuis ?? []
  if (devEuis.length === 0) return undefined
  const found = await trx
    .selectFrom('devices')
    .select('id')
    .where('dev_eui', 'in', devEuis)
    .where((eb) => eb.and(owner))
    .execute()
  return found.length === devEuis.length ? undefined : notFound('object_not_found')
}

/** The rights of a row, in the order of the list of rights. */
export function sortedRights(text: string): readonly ApiKeyRight[] {
  const rights = readRights(text)
  return API_KEY_RIGHTS.filter((right) => rights.includes(right))
}
