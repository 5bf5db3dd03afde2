/**
 * Organizations, users and credentials in the words of the broker's port, and back again. No other
 * file knows these texts.
 */
import { createHash } from 'node:crypto'
import { ownerOf } from '../broker/ports/policy.ts'
import type { PermitHolder } from '../broker/ports/policy.ts'
import { scopeText } from '../identity/tokens/scope.ts'
import type { Scope } from '../identity/tokens/scope.ts'
import type { BrokerAccessClaims } from '../identity/tokens/tokens.ts'

const ORGANIZATION = 'organization:'
const USER = 'user:'
const API_KEY = 'api-key:'
const NETWORK_SERVER = 'network-server:'
const TOKEN = 'token:'
/** A collision of two scopes of one user in 64 bits would need 2^32 of them. */
const CIRCLE_DIGITS = 16

/** The holder of a permit, by the ids that people know. Undefined: does not apply. */
export interface Holder {
  /** Undefined for a network server of the whole deployment. */
  readonly organizationId: string | undefined
  readonly userId: string | undefined
  /** For a token that an API key made; then there is no user. */
  readonly apiKeyId?: string | undefined
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

/** The identity of the connections of an API key's tokens. */
export function identityOfKey(apiKeyId: string): string {
  return API_KEY + apiKeyId
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
  apiKeyId,
  ownScope,
}: Pick<BrokerAccessClaims, 'organizationId' | 'userId' | 'tokenId' | 'apiKeyId' | 'ownScope'>): PermitHolder {
  const identity = ownerOfToken({ userId, apiKeyId }) + circleOf(ownScope)
  return { tenant: tenantOf(organizationId), identity, ground: tokenGround(tokenId) }
}

/**
 * The identity behind a token, without its circle. Sessions of a key are the key's, whoever is its
 * maker: they are kept over new tokens and secrets.
 */
function ownerOfToken({ userId, apiKeyId }: Pick<BrokerAccessClaims, 'userId' | 'apiKeyId'>): string {
  return apiKeyId === undefined ? identityOf(userId) : identityOfKey(apiKeyId)
}

/**
 * Equal scopes are one circle. Without this a narrow token would take over the Sessions of its
 * user's other programs by their Client Identifiers, and take messages of a shared subscription
 * from members that reach more. The live right of the user, read-only or not, is no part of it.
 */
function circleOf(scope: Scope | undefined): string {
  const text = scopeText(scope)
  return text === null ? '' : `/${createHash('sha256').update(text).digest('hex').slice(0, CIRCLE_DIGITS)}`
}

/** Reads the broker's words back. */
export function readHolder({ tenant, identity, ground }: PermitHolder): Holder {
  return {
    organizationId: organizationOf(tenant),
    userId: behind(USER, ownerOf(identity)),
    apiKeyId: behind(API_KEY, ownerOf(identity)),
    serviceCredentialId: behind(NETWORK_SERVER, identity),
    tokenId: behind(TOKEN, ground),
  }
}

function behind(prefix: string, text: string): string | undefined {
  return text.startsWith(prefix) ? text.slice(prefix.length) : undefined
}
