/**
 * The people and programs that send requests: the credentials that they show, and their identity.
 */
import type { Viewer } from '../../identity/store/result.ts'
import type { Scope } from '../../identity/tokens/scope.ts'
import type { ApiKeyInForce } from '../../identity/tokens/api-key-standing.ts'

/**
 * The proof of identity that a route takes. Where a session is taken, an API key is taken too, if
 * the route has a right for it.
 */
export type Credential =
  | 'none'
  | 'session'
  | 'sessionOrBrokerAccess'
  | 'secondFactorStep'
  /**
   * A global admin's session, a metrics token, or a peer on the loopback interface that asks for
   * itself (no proxy forwarded its request).
   */
  | 'metrics'
  /** A network server's service credential, by HTTP's Basic authentication. */
  | 'serviceCredential'
  /**
   * The secret of the broker hooks; where none is set, a peer on the loopback interface that asks
   * for itself.
   */
  | 'brokerHook'

/** The sender of a request, by the credential that it showed. */
export type Caller =
  | { readonly kind: 'session'; readonly viewer: Viewer }
  /** The viewer sees what the key may see, and is named by the audit as the key. */
  | { readonly kind: 'apiKey'; readonly viewer: Viewer; readonly key: ApiKeyInForce }
  | {
      readonly kind: 'brokerAccess'
      readonly userId: string
      readonly organizationId: string
      /** The limits of the token as they are now. Undefined: none. */
      readonly scope: Scope | undefined
    }
  | { readonly kind: 'secondFactorStep'; readonly userId: string }
  | { readonly kind: 'loopback' | 'metricsToken' | 'foreignBroker' }
  /** `organizationId` is null for a credential of the whole deployment. */
  | { readonly kind: 'networkServer'; readonly credentialId: string; readonly organizationId: string | null }
