import type { Actor, Listed, Page, Result, Viewer } from './result.ts'

/** What a member may do in its organization beyond reading. */
export interface MemberRoles {
  readonly isAdmin: boolean
  readonly isDeviceAdmin: boolean
  readonly isGatewayAdmin: boolean
}

/** A user's place in an organization. */
export interface Member extends MemberRoles {
  readonly organizationId: string
  readonly organizationName: string
  readonly userId: string
  readonly email: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** Which user belongs to which organization. */
export interface Members {
  /** Refusals: organization_not_found, user_not_found, member_exists. */
  add(organizationId: string, userId: string, roles: MemberRoles, actor: Actor): Promise<Result<void>>
  /** Refusal: member_not_found. */
  update(organizationId: string, userId: string, roles: MemberRoles, actor: Actor): Promise<Result<void>>
  /** Also removes the user's broker-access tokens for the organization. Refusal: member_not_found. */
  remove(organizationId: string, userId: string, actor: Actor): Promise<Result<void>>
  /** Sorted by email; `search` looks into email. */
  list(organizationId: string, page: Page): Promise<Listed<Member>>
  /** The memberships of one user, sorted by the organization's name. */
  listOfUser(userId: string, page: Page): Promise<Listed<Member>>
  get(organizationId: string, userId: string): Promise<Member | undefined>
  /** True for members, and for a global admin if the organization exists. */
  isMember(viewer: Viewer, organizationId: string): Promise<boolean>
}
