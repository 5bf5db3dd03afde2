/**
 * The claims of the service's tokens that the console needs. No right depends on them here: the
 * service verifies the token.
 */
export interface TokenClaims {
  /** The id of the user. */
  readonly sub: string
  readonly jti: string
  /** The end of the token, in seconds since 1970. */
  readonly exp: number
}

/** Reads the claims of a JWT that the service has just issued. */
export function claimsOf(jwt: string): TokenClaims {
  const payload = (jwt.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
  return JSON.parse(atob(payload)) as TokenClaims
}
