/** The changes of the registry, and how other parts learn of them. */
import type { BoundOverrides } from '../../organization-bounds.ts'

/** A change of the registry, told once the change is on disk. */
export type Change =
  /**
   * The user was activated, deactivated or removed, its password was set, its admin flag changed,
   * or it was signed out everywhere.
   */
  | { readonly kind: 'user_changed'; readonly userId: string }
  | {
      /** `member_changed`: the roles of the member may be other ones. */
      readonly kind: 'member_added' | 'member_changed' | 'member_removed'
      readonly organizationId: string
      readonly userId: string
    }
  | { readonly kind: 'organization_removed'; readonly organizationId: string }
  /** Has all overrides of the organization, also those that stayed. */
  | {
      readonly kind: 'organization_bounds_changed'
      readonly organizationId: string
      readonly overrides: BoundOverrides
    }
  | {
      readonly kind: 'application_created' | 'application_changed' | 'application_removed'
      readonly applicationId: string
      readonly organizationId: string
    }
  /** The last events of the application's devices are retained no more. */
  | { readonly kind: 'last_events_ended'; readonly applicationId: string; readonly organizationId: string }
  | {
      readonly kind: 'device_created' | 'device_changed' | 'device_removed'
      readonly devEui: string
      readonly applicationId: string
      readonly organizationId: string
    }
  /** Many devices were created at once. */
  | { readonly kind: 'devices_changed'; readonly devEuis: readonly string[] }
  | { readonly kind: 'token_revoked'; readonly tokenId: string }
  | { readonly kind: 'service_credential_revoked'; readonly id: string }
  /**
   * The key was revoked; or its rights, restriction, expiry or secret changed, or its maker, or the
   * roles of its maker.
   */
  | { readonly kind: 'api_key_revoked' | 'api_key_changed'; readonly apiKeyId: string }
  /** The webhook was created, changed, paused, resumed or removed. */
  | { readonly kind: 'webhook_changed'; readonly webhookId: string; readonly organizationId: string }
  /** The device profile was created, changed or removed. */
  | { readonly kind: 'device_profile_changed'; readonly profileId: string; readonly organizationId: string }
  /** A registration rule of the organization was made or removed. */
  | { readonly kind: 'registration_rules_changed'; readonly organizationId: string }
  /** Tokens are signed with another key from now on. */
  | { readonly kind: 'signing_key_rotated'; readonly kid: string }
  /**
   * Changes of other processes may have been missed: everything that follows changes has to look
   * again.
   */
  | { readonly kind: 'resynchronized' }

/** Tells its subscribers of each change. */
export interface Changes {
  /**
   * Calls `listener` for each change, in order: as soon as the change's transaction is committed,
   * and before the function that made the change returns. Changes of other processes come in the
   * same order, within a second. Returns the function that ends the subscription.
   */
  subscribe(listener: (change: Change) => void): () => void
}

/**
 * Changes, together with the function that tells of a change. An error that a listener throws goes
 * to `onListenerError`; the other listeners are still called.
 */
export function createChanges(onListenerError: (error: unknown) => void): Changes & { emit(change: Change): void } {
  const listeners = new Set<(change: Change) => void>()
  return {
    subscribe(listener) {
      // A function of its own for each subscription: one listener may subscribe twice.
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
