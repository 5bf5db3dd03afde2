import type { Actor, Listed, Page, Result, Viewer } from './result.ts'

/** A tenant: it owns applications and their devices, and has members. */
export interface Organization {
  readonly id: string
  /** Letters, digits, `_` and `-`; unique in any case. */
  readonly name: string
  readonly displayName: string
  readonly canHaveGateways: boolean
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** What may be set of an organization. */
export interface OrganizationFields {
  readonly name: string
  readonly displayName: string
  readonly canHaveGateways: boolean
}

/** The organizations of the deployment. */
export interface Organizations {
  /** Refusals: invalid_name, invalid_display_name, organization_exists. */
  create(organization: OrganizationFields, actor: Actor): Promise<Result<{ readonly id: string }>>
  get(id: string): Promise<Organization | undefined>
  /** Changes the fields that are given. Refusals: organization_not_found and those of `create`. */
  update(id: string, fields: Partial<OrganizationFields>, actor: Actor): Promise<Result<void>>
  /** Removes it with its applications, devices, tokens and service credentials. Refusal: organization_not_found. */
  remove(id: string, actor: Actor): Promise<Result<void>>
  /** Sorted by displayName; `search` looks into name and displayName. */
  list(viewer: Viewer, page: Page): Promise<Listed<Organization>>
}
