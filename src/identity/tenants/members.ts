/** The memberships of users in organizations, with their roles. */
import { findOrganization } from './organizations.ts'
import type { ExpressionBuilder, Selectable } from 'kysely'
import { given } from '../../given.ts'
import { listPage } from '../store/list-page.ts'
import { alreadyExists, done, notFound } from '../store/result.ts'
import type { Actor, Listed, Page, Result, Viewer } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store, Unit } from '../store/store.ts'
import { tellKeysOfMaker } from '../store/keys-of-maker.ts'
import { parseId } from '../store/text-rules.ts'

/** The rights of a member in its organization beyond reading. */
export interface MemberRoles {
  readonly isAdmin: boolean
  readonly isDeviceAdmin: boolean
  readonly isGatewayAdmin: boolean
  /**
   * Reads only, whatever the other roles say: sends no commands and changes nothing. Absent: as it
   * is; a new member is not read-only.
   */
  readonly isReadOnly?: boolean
}

/** A user's place in an organization. */
export interface Member extends MemberRoles {
  readonly organizationId: string
  readonly organizationName: string
  readonly userId: string
  readonly email: string
  readonly isReadOnly: boolean
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** The memberships of users in organizations. */
export interface Members {
  /** Refusals: organization_not_found, user_not_found, member_exists. */
  add(organizationId: string, userId: string, roles: MemberRoles, actor: Actor): Promise<Result<void>>
  /** Refusal: member_not_found. */
  update(organizationId: string, userId: string, roles: MemberRoles, actor: Actor): Promise<Result<void>>
  /**
   * Also removes the user's broker-access tokens for the organization. Refusal: member_not_found.
   */
  remove(organizationId: string, userId: string, actor: Actor): Promise<Result<void>>
  /** Sorted by email; `search` looks into email. */
  list(organizationId: string, page: Page): Promise<Listed<Member>>
  /** The memberships of one user, sorted by the organization's name. */
  listOfUser(userId: string, page: Page): Promise<Listed<Member>>
  get(organizationId: string, userId: string): Promise<Member | undefined>
  /** True for members, and for a global admin if the organization exists. */
  isMember(viewer: Viewer, organizationId: string): Promise<boolean>
}

/** The memberships of a store. */
export function createMembers(store: Store): Members {
  const { db } = store

  /** The members of an organization, or the memberships of a user. */
  async function listBy(column: 'organization_id' | 'user_id', id: string, page: Page): Promise<Listed<Member>> {
    const isOfUser = column === 'user_id'
    return listPage(joined(db).where(`members.${column}`, '=', parseId(id) ?? 0), page, {
      searched: isOfUser ? 'organizations.search_text' : 'users.email_key',
      sorted: (rows) => rows.select(memberColumns).orderBy(isOfUser ? 'organizations.name_key' : 'users.email_key'),
      itemOf: memberOf,
    })
  }

  return {
    add: (organizationId, userId, roles, actor) =>
      store.change(actor, (unit) => addMember(unit, organizationId, userId, roles)),

    update: (organizationId, userId, roles, actor) =>
      store.change(actor, async ({ trx, nowMs, audit, emit }) => {
        const { numUpdatedRows } = await trx
          .updateTable('members')
          .set({ ...columnsOf(roles), updated_at: nowMs })
          .where(isAt(organizationId, userId))
          .executeTakeFirst()
        if (numUpdatedRows === 0n) return notFound('member_not_found')
        await audit('member.updated', userId, organizationId, { ...roles })
        emit({ kind: 'member_changed', organizationId, userId })
        await tellKeysOfMaker({ trx, emit }, userId, organizationId)
        return done
      }),

    remove: (organizationId, userId, actor) =>
      store.change(actor, async ({ trx, audit, emit }) => {
        const { numDeletedRows } = await trx
          .deleteFrom('members')
          .where(isAt(organizationId, userId))
          .executeTakeFirst()
        if (numDeletedRows === 0n) return notFound('member_not_found')
        await trx
          .deleteFrom('broker_tokens')
          .where('user_id', '=', parseId(userId) ?? 0)
          .where('organization_id', '=', parseId(organizationId) ?? 0)
          .execute()
        await audit('member.removed', userId, organizationId)
        emit({ kind: 'member_removed', organizationId, userId })
        await tellKeysOfMaker({ trx, emit }, userId, organizationId)
        return done
      }),

    list: (organizationId, page) => listBy('organization_id', organizationId, page),
    listOfUser: (userId, page) => listBy('user_id', userId, page),

    async get(organizationId, userId) {
      const row = await joined(db)
        .select(memberColumns)
        .where('members.organization_id', '=', parseId(organizationId) ?? 0)
        .where('members.user_id', '=', parseId(userId) ?? 0)
        .executeTakeFirst()
      return row && memberOf(row)
    },

    async isMember(viewer, organizationId) {
      const row = viewer.isAdmin
        ? await findOrganization(db, organizationId)
        : await db
            .selectFrom('members')
            .select('organization_id')
            .where(isAt(organizationId, viewer.userId))
            .executeTakeFirst()
      return row !== undefined
    },
  }
}

type Row = Selectable<Schema['members']> & { readonly email: string; readonly organization_name: string }

const memberColumns = [
  'members.organization_id',
  'members.user_id',
  'members.is_admin',
  'members.is_device_admin',
  'members.is_gateway_admin',
  'members.is_read_only',
  'members.created_at',
  'members.updated_at',
  'users.email',
  'organizations.name as organization_name',
] as const

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the query builder's type
function joined(db: Store['db']) {
  return db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .innerJoin('organizations', 'organizations.id', 'members.organization_id')
}

function memberOf(row: Row): Member {
  return {
    organizationId: String(row.organization_id),
    organizationName: row.organization_name,
    userId: String(row.user_id),
    email: row.email,
    isAdmin: row.is_admin === 1,
    isDeviceAdmin: row.is_device_admin === 1,
    isGatewayAdmin: row.is_gateway_admin === 1,
    isReadOnly: row.is_read_only === 1,
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
  }
}

/** The columns of the roles. A role that is absent has no column here. */
export function columnsOf(roles: MemberRoles): RoleColumns {
  return {
    is_admin: Number(roles.isAdmin),
    is_device_admin: Number(roles.isDeviceAdmin),
    is_gateway_admin: Number(roles.isGatewayAdmin),
    ...given({ is_read_only: roles.isReadOnly === undefined ? undefined : Number(roles.isReadOnly) }),
  }
}

interface RoleColumns {
  readonly is_admin: number
  readonly is_device_admin: number
  readonly is_gateway_admin: number
  readonly is_read_only?: number
}

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the query builder's type
function isAt(organizationId: string, userId: string) {
  return (eb: ExpressionBuilder<Schema, 'members'>) =>
    eb.and({ organization_id: parseId(organizationId) ?? 0, user_id: parseId(userId) ?? 0 })
}

async function addMember(
  { trx, nowMs, audit, emit }: Unit,
  organizationId: string,
  userId: string,
  roles: MemberRoles,
): Promise<Result<void>> {
  const organization = await findOrganization(trx, organizationId)
  if (organization === undefined) return notFound('organization_not_found')
  const user = await trx
    .selectFrom('users')
    .select('id')
    .where('id', '=', parseId(userId) ?? 0)
    .executeTakeFirst()
  if (user === undefined) return notFound('user_not_found')
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('members')
    .values({
      organization_id: organization.id,
      user_id: user.id,
      ...columnsOf(roles),
      created_at: nowMs,
      updated_at: nowMs,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 0n) return alreadyExists('member_exists')
  await audit('member.added', userId, organizationId, { ...roles })
  emit({ kind: 'member_added', organizationId, userId })
  await tellKeysOfMaker({ trx, emit }, userId, organizationId)
  return done
}
