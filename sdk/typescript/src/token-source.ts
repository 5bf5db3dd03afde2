/** Broker tokens: gets one when it is needed, and a new one before the present one ends. */
import type { HttpApi } from './http-api.ts'

/** The bounds that endpoint 4 may be asked for beside the organization. */
export interface TokenScope {
  readonly applicationIds?: readonly string[]
  readonly devEuis?: readonly string[]
  readonly tags?: Readonly<Record<string, string>>
  readonly eventKinds?: readonly string[]
  readonly isReadOnly?: true
}

export interface BrokerToken {
  readonly jwt: string
  /** When the service made the token, in milliseconds since 1970, by the service's clock. */
  readonly issuedAtMs: number
  /** After so long the token is to be renewed, counted from when it came, in milliseconds. */
  readonly renewAfterMs: number
  /** `performance.now()` when the token came. */
  readonly cameAtMs: number
}

/** The part of a token's life after which a new one is asked for. */
const RENEW_AT = 0.6
/** A timer of JavaScript takes no longer time, in milliseconds. */
const LONGEST_TIMER_MS = 2_147_000_000

/** One token for all connections of a client. */
export class TokenSource {
  readonly #ask: () => Promise<string>
  #token: BrokerToken | undefined = undefined
  #asking: Promise<BrokerToken> | undefined = undefined

  constructor(api: HttpApi, organizationId: string, ttlSeconds: number | undefined, scope: TokenScope) {
    const members = { ...scope, ...(ttlSeconds === undefined ? {} : { ttlInSeconds: String(ttlSeconds) }) }
    this.#ask = () => api.brokerToken(organizationId, members)
  }

  /** A token that is not due to be renewed. All who ask at once get the same one. */
  async token(): Promise<BrokerToken> {
    if (this.#token !== undefined && this.msToRenewal(this.#token) > 0) return this.#token
    this.#asking ??= this.#ask()
      .then((jwt) => (this.#token = readToken(jwt)))
      .finally(() => (this.#asking = undefined))
    return this.#asking
  }

  /** Milliseconds until the token is to be renewed; 0 or less: now. */
  msToRenewal({ cameAtMs, renewAfterMs }: BrokerToken): number {
    return cameAtMs + renewAfterMs - performance.now()
  }

  /** The broker has refused this token: the next one that is asked for is another. */
  discard(token: BrokerToken): void {
    if (this.#token === token) this.#token = undefined
  }
}

/**
 * The times of a token. Its life is counted by this machine's monotonic clock, from the moment at
 * which it came: the wall clocks of the two machines may differ.
 */
function readToken(jwt: string): BrokerToken {
  const { iat, exp } = claimsOf(jwt)
  const lifeMs = typeof iat === 'number' && typeof exp === 'number' ? (exp - iat) * 1000 : 3_600_000
  return {
    jwt,
    issuedAtMs: typeof iat === 'number' ? iat * 1000 : Date.now(),
    renewAfterMs: Math.min(lifeMs * RENEW_AT, LONGEST_TIMER_MS),
    cameAtMs: performance.now(),
  }
}

function claimsOf(jwt: string): { readonly iat?: unknown; readonly exp?: unknown } {
  try {
    const text = atob((jwt.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/'))
    const claims: unknown = JSON.parse(text)
    return typeof claims === 'object' && claims !== null ? claims : {}
  } catch {
    return {}
  }
}
