/** What happened to the registry, told once it is on disk. */
export type Change =
  /**
   * Deactivated or activated, removed, password set, admin flag changed, or signed out everywhere.
   */
  | { readonly kind: 'user_changed'; readonly userId: string }
  | { readonly kind: 'member_added' | 'member_removed'; readonly organizationId: string; readonly userId: string }
  | { readonly kind: 'organization_removed'; readonly organizationId: string }
  | {
      readonly kind: 'application_created' | 'application_changed' | 'application_removed'
      readonly applicationId: string
      readonly organizationId: string
    }
  | {
      readonly kind: 'device_created' | 'device_changed' | 'device_removed'
      readonly devEui: string
      readonly applicationId: string
      readonly organizationId: string
    }
  /** Many devices were created at once. */
  | { readonly kind: 'devices_changed' }
  | { readonly kind: 'token_revoked'; readonly tokenId: string }
  | { readonly kind: 'service_credential_revoked'; readonly id: string }

/** Where to learn of changes. */
export interface Changes {
  /**
   * Calls `listener` for each change, in order, as soon as its transaction is committed and before
   * the function that made it returns. Returns the function that ends the subscription.
   */
  subscribe(listener: (change: Change) => void): () => void
}

/**
 * Changes together with the end that tells them. `onListenerError` gets what a listener threw; the
 * others still hear.
 */
export function createChanges(onListenerError: (error: unknown) => void): Changes & { emit(change: Change): void } {
  const listeners = new Set<(change: Change) => void>()
  return {
    subscribe(listener) {
      // Wrapped, so that subscribing one function twice makes two subscriptions.
      const own = (change: Change): void => listener(change)
      listeners.add(own)
      return () => listeners.delete(own)
    },
    emit(change) {
      for (const listener of listeners) {
        try {
          listener(change)
        } catch (error) {
          onListenerError(error)
        }
      }
    },
  }
}
