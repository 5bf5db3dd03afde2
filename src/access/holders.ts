/**
 * Organizations, users and credentials in the words of the broker's port, and back again. No other
 * file knows these texts.
 */
import type { PermitHolder } from '../broker/ports/policy.ts'
import type { BrokerAccessClaims } from '../identity/tokens/tokens.ts'

const ORGANIZATION = 'organization:'
const USER = 'user:'
const NETWORK_SERVER = 'network-server:'
const TOKEN = 'token:'

/** The holder of a permit, by the ids that people know. Undefined: does not apply. */
export interface Holder {
  /** Undefined for a network server of the whole deployment. */
  readonly organizationId: string | undefined
  readonly userId: string | undefined
  readonly serviceCredentialId: string | undefined
  readonly tokenId: string | undefined
}

/** The tenant of an organization's connections. */
export function tenantOf(organizationId: string): string {
  return ORGANIZATION + organizationId
}

/** The organization of a tenant; undefined for a network server of the whole deployment. */
export function organizationOf(tenant: string): string | undefined {
  return behind(ORGANIZATION, tenant)
}

/** The identity of a user's connections. */
export function identityOf(userId: string): string {
  return USER + userId
}

/** The ground of a permit by a broker-access token. */
export function tokenGround(tokenId: string): string {
  return TOKEN + tokenId
}

/** The holder of the permit by a broker-access token. */
export function holderOfToken({
  organizationId,
  userId,
  tokenId,
}: Pick<BrokerAccessClaims, 'organizationId' | 'userId' | 'tokenId'>): PermitHolder {
  return { tenant: tenantOf(organizationId), identity: identityOf(userId), ground: tokenGround(tokenId) }
}

/** Reads the broker's words back. */
export function readHolder({ tenant, identity, ground }: PermitHolder): Holder {
  return {
    organizationId: organizationOf(tenant),
    userId: behind(USER, identity),
    serviceCredentialId: behind(NETWORK_SERVER, identity),
    tokenId: behind(TOKEN, ground),
  }
}

function behind(prefix: string, text: string): string | undefined {
  return text.startsWith(prefix) ? text.slice(prefix.length) : undefined
}
