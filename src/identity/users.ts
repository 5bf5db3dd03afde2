import type { MemberRoles } from './members.ts'
import type { Actor, Listed, Page, Result } from './result.ts'

/** Somebody who can log in. */
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

/** What may be changed of a user. */
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
  /** Refusals: invalid_email, invalid_password, invalid_note, user_exists, organization_not_found. */
  create(user: NewUser, actor: Actor): Promise<Result<{ readonly id: string }>>
  get(id: string): Promise<User | undefined>
  /** The user of that name, in any case. */
  getByEmail(email: string): Promise<User | undefined>
  /** Changes the fields that are given. Refusals: user_not_found, invalid_email, invalid_note, user_exists, last_admin. */
  update(id: string, fields: Partial<UserFields>, actor: Actor): Promise<Result<void>>
  /** Removes the user with its memberships and tokens. Refusals: user_not_found, last_admin. */
  remove(id: string, actor: Actor): Promise<Result<void>>
  /** Sorted by email; `search` looks into email. */
  list(page: Page): Promise<Listed<User>>
  /** Sets the password and voids the user's sessions. Refusals: user_not_found, invalid_password. */
  setPassword(id: string, password: string, actor: Actor): Promise<Result<void>>
}
