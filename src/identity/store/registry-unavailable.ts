/** The error for a registry whose database can't be reached at the moment. */

/**
 * Thrown by reads and changes while the database is away. A change may or may not have happened if
 * the connection broke at its end.
 */
export class RegistryUnavailableError extends Error {
  readonly code = 'registry_unavailable'

  constructor(cause: unknown) {
    super(`the registry’s database can’t be reached: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    })
    this.name = 'RegistryUnavailableError'
  }
}

/** True for an error that ends by itself when the registry’s database is there again. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof RegistryUnavailableError
}
