import type { Actor, Listed, Page, Result } from './result.ts'

/** What a network server connects with. */
export interface ServiceCredential {
  readonly id: string
  readonly name: string
  /** `network-server-<id>`. */
  readonly userName: string
  /** `null`: good for every organization of the deployment. */
  readonly organizationId: string | null
  readonly createdAtMs: number
}

/** The credentials of network servers. */
export interface ServiceCredentials {
  /** The password is told this once: only its hash is kept. Refusals: invalid_name, organization_not_found. */
  create(
    credential: { readonly name: string; readonly organizationId: string | null },
    actor: Actor,
  ): Promise<Result<{ readonly id: string; readonly userName: string; readonly password: string }>>
  /** Sorted by name. `organizationId` leaves only those of that organization; `null` those of the whole deployment. */
  list(page: Page & { readonly organizationId?: string | null }): Promise<Listed<ServiceCredential>>
  /** Refusal: service_credential_not_found. */
  revoke(id: string, actor: Actor): Promise<Result<void>>
  /** Whose credential that is, `undefined` for nobody's. Takes the same time whatever is wrong. */
  authenticate(
    userName: string,
    password: Uint8Array,
  ): Promise<{ readonly id: string; readonly organizationId: string | null; readonly name: string } | undefined>
}
