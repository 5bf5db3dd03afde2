/**
 * The people and programs that send requests: the credentials that they show, and their identity.
 */
import type { Viewer } from '../../identity/store/result.ts'

/** The proof of identity that a route takes. */
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

/** The sender of a request, by the credential that it showed. */
export type Caller =
  | { readonly kind: 'session'; readonly viewer: Viewer }
  | { readonly kind: 'brokerAccess'; readonly userId: string; readonly organizationId: string }
  | { readonly kind: 'secondFactorStep'; readonly userId: string }
  | { readonly kind: 'loopback' | 'metricsToken' }
  /** `organizationId` is null for a credential of the whole deployment. */
  | { readonly kind: 'networkServer'; readonly credentialId: string; readonly organizationId: string | null }
