/**
 * Claims of the service's tokens, as far as the console needs them. Nothing rests on them: the
 * service verifies.
 */
export interface TokenClaims {
  /** Id of the user. */
  readonly sub: string
  readonly jti: string
  /** In seconds since 1970. */
  readonly exp: number
}

/** Reads the claims of a JWT that the service has just issued. */
export function claimsOf(jwt: string): TokenClaims {
  const payload = (jwt.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
  return JSON.parse(atob(payload)) as TokenClaims
}
