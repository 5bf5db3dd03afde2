/** The users of a deployment: made, changed, listed and removed. */
import { findOrganization } from '../tenants/organizations.ts'
import type { Selectable } from 'kysely'
import { columnsOf } from '../tenants/members.ts'
import type { MemberRoles } from '../tenants/members.ts'
import type { Asker } from './hash-turns.ts'
import type { PasswordHasher } from './password-hasher.ts'
import { tellKeysOfMaker } from '../store/keys-of-maker.ts'
import { listPage } from '../store/list-page.ts'
import { alreadyExists, done, granted, notFound, refuse } from '../store/result.ts'
import type { Actor, Listed, Page, Refusal, Result } from '../store/result.ts'
import type { Schema } from '../store/schema.ts'
import type { Store, Unit } from '../store/store.ts'
import { foldText, isLine, isParagraph, isTrimmedLine, parseId } from '../store/text-rules.ts'

/** A person who can log in. */
export interface User {
  readonly id: string
  /** The user name: it is used to log in, and is unique in any case. */
  readonly email: string
  /** A global admin sees and may do everything. */
  readonly isAdmin: boolean
  readonly isActive: boolean
  readonly note: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** The fields of a user that may change. */
export interface UserFields {
  readonly email: string
  readonly isAdmin: boolean
  readonly isActive: boolean
  readonly note: string
}

/** A user to be. */
export interface NewUser extends UserFields {
  readonly password: string
  readonly organizations?: readonly (MemberRoles & { readonly organizationId: string })[]
}

/** The users of the deployment. */
export interface Users {
  /**
   * Refusals: invalid_email, invalid_password, invalid_note, user_exists, organization_not_found.
   */
  create(user: NewUser, actor: Actor): Promise<Result<{ readonly id: string }>>
  get(id: string): Promise<User | undefined>
  /** User names by id; users that are gone are left out. At most 1,000 ids at once. */
  emailsOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** The user of that name, in any case. */
  getByEmail(email: string): Promise<User | undefined>
  /**
   * Changes the fields that are given. Refusals: user_not_found, invalid_email, invalid_note,
   * user_exists, last_admin.
   */
  update(id: string, fields: Partial<UserFields>, actor: Actor): Promise<Result<void>>
  /** Removes the user with its memberships and tokens. Refusals: user_not_found, last_admin. */
  remove(id: string, actor: Actor): Promise<Result<void>>
  /** Sorted by email; `search` looks into email. */
  list(page: Page): Promise<Listed<User>>
  /**
   * Sets the password and voids the user's sessions. Refusals: user_not_found, invalid_password.
   */
  setPassword(id: string, password: string, actor: Actor): Promise<Result<void>>
}

/** The longest user name, in characters. */
export const MAXIMUM_EMAIL = 100
/** The shortest password, in characters. */
export const MINIMUM_PASSWORD = 8
/**
 * The longest password, in characters: long enough for any passphrase, and short enough that the
 * hash of hostile input costs no more than any other hash.
 */
export const MAXIMUM_PASSWORD = 128
const MAXIMUM_NOTE = 10_000
/** Names that one call looks up: as many as a page has items. */
const MAXIMUM_EMAILS = 1000
/** How many memberships one call makes. */
const MAXIMUM_ORGANIZATIONS = 1000

/** The users of a store. */
export function createUsers(store: Store, hasher: PasswordHasher): Users {
  const { db } = store

  async function find(column: 'id' | 'email_key', value: number | string): Promise<User | undefined> {
    const row = await db.selectFrom('users').selectAll().where(column, '=', value).executeTakeFirst()
    return row && userOf(row)
  }

  return {
    async create(user, actor) {
      const refusal = refuseFields(user) ?? refusePassword(user.password)
      if (refusal !== undefined) return refusal
      if ((user.organizations?.length ?? 0) > MAXIMUM_ORGANIZATIONS) {
        return refuse('invalid_argument', 'too_many_organizations', `at most ${MAXIMUM_ORGANIZATIONS} organizations`)
      }
      if ((await find('email_key', foldText(user.email))) !== undefined) return alreadyExists('user_exists')
      const passwordHash = await hasher.hash(user.password, signedIn(actor))
      if (passwordHash === undefined) return busy()
      return store.change(actor, (unit) => insertUser(unit, user, passwordHash))
    },

    async get(id) {
      const rowId = parseId(id)
      return rowId === undefined ? undefined : find('id', rowId)
    },

    async emailsOf(ids) {
      const rowIds = ids.slice(0, MAXIMUM_EMAILS).map((id) => parseId(id) ?? 0)
      if (rowIds.length === 0) return new Map()
      const rows = await db.selectFrom('users').select(['id', 'email']).where('id', 'in', rowIds).execute()
      return new Map(rows.map(({ id, email }) => [String(id), email]))
    },

    getByEmail: (email) => find('email_key', foldText(email.slice(0, MAXIMUM_EMAIL * 2))),

    update: (id, fields, actor) => store.change(actor, (unit) => updateUser(unit, id, fields)),

    remove: (id, actor) => store.change(actor, (unit) => removeUser(unit, id)),

    list: (page) =>
      listPage(db.selectFrom('users'), page, {
        searched: 'email_key',
        sorted: (rows) => rows.selectAll().orderBy('email_key'),
        itemOf: userOf,
      }),

    async setPassword(id, password, actor) {
      const refusal = refusePassword(password)
      if (refusal !== undefined) return refusal
      const rowId = parseId(id)
      if (rowId === undefined || (await find('id', rowId)) === undefined) return notFound('user_not_found')
      const passwordHash = await hasher.hash(password, signedIn(actor))
      if (passwordHash === undefined) return busy()
      return store.change(actor, async ({ trx, nowMs, audit, emit }) => {
        const { numUpdatedRows } = await trx
          .updateTable('users')
          .set((eb) => ({
            password_hash: passwordHash,
            session_epoch: eb('session_epoch', '+', 1),
            updated_at: nowMs,
          }))
          .where('id', '=', rowId)
          .executeTakeFirst()
        if (numUpdatedRows === 0n) return notFound('user_not_found')
        await audit('user.password_set', id, null)
        emit({ kind: 'user_changed', userId: id })
        return done
      })
    },
  }
}

/** The user that the row holds. */
export function userOf(row: Selectable<Schema['users']>): User {
  return {
    id: String(row.id),
    email: row.email,
    isAdmin: row.is_admin === 1,
    isActive: row.is_active === 1,
    note: row.note,
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
  }
}

async function insertUser(unit: Unit, user: NewUser, passwordHash: string): Promise<Result<{ readonly id: string }>> {
  const { trx, nowMs, audit, emit } = unit
  if (await isEmailTaken(unit, user.email)) return alreadyExists('user_exists')
  const organizations = new Map<number, MemberRoles>()
  for (const { organizationId, ...roles } of user.organizations ?? []) {
    const row = await findOrganization(trx, organizationId)
    if (row === undefined) return notFound('organization_not_found')
    organizations.set(row.id, roles)
  }
  const { id } = await trx
    .insertInto('users')
    .values({
      email: user.email,
      email_key: foldText(user.email),
      password_hash: passwordHash,
      is_admin: Number(user.isAdmin),
      is_active: Number(user.isActive),
      note: user.note,
      session_epoch: 0,
      created_at: nowMs,
      updated_at: nowMs,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const userId = String(id)
  await audit('user.created', userId, null, { email: user.email, isAdmin: user.isAdmin, isActive: user.isActive })
  for (const [organizationRowId, roles] of organizations) {
    await trx
      .insertInto('members')
      .values({
        organization_id: organizationRowId,
        user_id: id,
        ...columnsOf(roles),
        created_at: nowMs,
        updated_at: nowMs,
      })
      .execute()
    const organizationId = String(organizationRowId)
    await audit('member.added', userId, organizationId, { ...roles })
    emit({ kind: 'member_added', organizationId, userId })
  }
  return granted({ id: userId })
}

async function updateUser(unit: Unit, id: string, fields: Partial<UserFields>): Promise<Result<void>> {
  const { trx, nowMs, audit, emit } = unit
  const rowId = parseId(id)
  const row =
    rowId === undefined
      ? undefined
      : await trx.selectFrom('users').selectAll().where('id', '=', rowId).executeTakeFirst()
  if (row === undefined) return notFound('user_not_found')
  const before = userOf(row)
  const after = { ...before, ...fields }
  const refusal = refuseFields(after)
  if (refusal !== undefined) return refusal
  const emailKey = foldText(after.email)
  if (emailKey !== row.email_key && (await isEmailTaken(unit, after.email))) return alreadyExists('user_exists')
  const losesAdmin = before.isAdmin && before.isActive && !(after.isAdmin && after.isActive)
  if (losesAdmin && (await isLastAdmin(unit, row.id))) return lastAdmin()
  await trx
    .updateTable('users')
    .set({
      email: after.email,
      email_key: emailKey,
      is_admin: Number(after.isAdmin),
      is_active: Number(after.isActive),
      note: after.note,
      // Sessions that a deactivation has ended do not come back with the user: one of them may be
      // the reason for it.
      session_epoch: row.session_epoch + Number(before.isActive && !after.isActive),
      updated_at: nowMs,
    })
    .where('id', '=', row.id)
    .execute()
  await audit('user.updated', id, null, { email: after.email, isAdmin: after.isAdmin, isActive: after.isActive })
  if (before.isAdmin === after.isAdmin && before.isActive === after.isActive) return done
  emit({ kind: 'user_changed', userId: id })
  await tellKeysOfMaker(unit, id)
  return done
}

async function removeUser(unit: Unit, id: string): Promise<Result<void>> {
  const { trx, audit, emit } = unit
  const rowId = parseId(id)
  const row =
    rowId === undefined
      ? undefined
      : await trx.selectFrom('users').selectAll().where('id', '=', rowId).executeTakeFirst()
  if (row === undefined) return notFound('user_not_found')
  if (row.is_admin === 1 && row.is_active === 1 && (await isLastAdmin(unit, row.id))) return lastAdmin()
  const memberships = await trx.selectFrom('members').select('organization_id').where('user_id', '=', row.id).execute()
  for (const table of ['broker_tokens', 'recovery_codes', 'second_factors', 'members'] as const) {
    await trx.deleteFrom(table).where('user_id', '=', row.id).execute()
  }
  // The keys stay with their organizations. Another admin may take them over.
  await tellKeysOfMaker(unit, id)
  await trx.updateTable('api_keys').set({ maker_user_id: null }).where('maker_user_id', '=', row.id).execute()
  await trx.deleteFrom('users').where('id', '=', row.id).execute()
  await audit('user.removed', id, null, { email: row.email })
  emit({ kind: 'user_changed', userId: id })
  for (const { organization_id } of memberships) {
    emit({ kind: 'member_removed', organizationId: String(organization_id), userId: id })
  }
  return done
}

async function isEmailTaken({ trx }: Unit, email: string): Promise<boolean> {
  const row = await trx.selectFrom('users').select('id').where('email_key', '=', foldText(email)).executeTakeFirst()
  return row !== undefined
}

/** Without an active global admin nobody could make another one. */
async function isLastAdmin({ trx }: Unit, id: number): Promise<boolean> {
  const another = await trx
    .selectFrom('users')
    .select('id')
    .where('is_admin', '=', 1)
    .where('is_active', '=', 1)
    .where('id', '!=', id)
    .executeTakeFirst()
  return another === undefined
}

function refuseFields(fields: UserFields): Refusal | undefined {
  if (!isTrimmedLine(fields.email, MAXIMUM_EMAIL)) {
    return refuse('invalid_argument', 'invalid_email', `email must have 1 to ${MAXIMUM_EMAIL} characters on one line`)
  }
  if (!isParagraph(fields.note, MAXIMUM_NOTE)) {
    return refuse('invalid_argument', 'invalid_note', `note must have at most ${MAXIMUM_NOTE} characters`)
  }
  return undefined
}

function refusePassword(password: string): Refusal | undefined {
  if (isLine(password, MINIMUM_PASSWORD, MAXIMUM_PASSWORD)) return undefined
  const rule = `password must have ${MINIMUM_PASSWORD} to ${MAXIMUM_PASSWORD} characters and no control characters`
  return refuse('invalid_argument', 'invalid_password', rule)
}

function lastAdmin(): Refusal {
  return refuse('failed_precondition', 'last_admin', 'the last active global admin must stay')
}

/** The actor as one who waits for a hash; it has authenticated, so its network doesn't matter. */
function signedIn({ userId }: Actor): Asker {
  return { network: '', account: userId ?? '' }
}

function busy(): Refusal {
  return refuse('resource_exhausted', 'login_busy', 'too many passwords are being checked, try again')
}
