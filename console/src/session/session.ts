/**
 * The session of the person who is signed in. The token lives only in this module's memory; see
 * docs/decisions/0006-console-session.md.
 */
import { useSyncExternalStore } from 'react'
import { claimsOf } from './claims.ts'

/** The state of the sign-in. */
export type SessionState =
  /** The console asks the service for the session that this browser keeps. */
  | { readonly phase: 'resuming' }
  /**
   * `notice` is the reason, where the person did not sign out. `person` is the id of the user whose
   * page waits for the same user to sign in again; undefined where no page waits.
   */
  | { readonly phase: 'signedOut'; readonly notice: string | undefined; readonly person: string | undefined }
  | { readonly phase: 'signedIn'; readonly token: string; readonly person: string }

let state: SessionState = { phase: 'resuming' }
const listeners = new Set<() => void>()

function become(next: SessionState): void {
  state = next
  for (const listener of listeners) listener()
}

/** The session of this page. */
export const session = {
  get state(): SessionState {
    return state
  },
  token(): string | undefined {
    return state.phase === 'signedIn' ? state.token : undefined
  },
  start(token: string): void {
    become({ phase: 'signedIn', token, person: claimsOf(token).sub })
  },
  /** The person signed out, or was not signed in. */
  end(notice?: string): void {
    become({ phase: 'signedOut', notice, person: undefined })
  },
  /** The service does not accept the token any more. */
  expire(): void {
    if (state.phase !== 'signedIn') return
    const { person } = state
    become({ phase: 'signedOut', notice: 'Your session is over. Sign in to go on.', person })
  },
  subscribe(this: void, listener: () => void): () => void {
    listeners.add(listener)
    return () => listeners.delete(listener)
  },
}

/** The state of the session. The component is drawn again when it changes. */
export function useSession(): SessionState {
  return useSyncExternalStore(session.subscribe, () => state)
}
