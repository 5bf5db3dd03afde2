/**
 * Who is signed in. The token lives in this module's memory alone; see
 * docs/decisions/0006-console-session.md.
 */
import { useSyncExternalStore } from 'react'
import { claimsOf } from './claims.ts'

/** Where signing in has got to. */
export type SessionState =
  /** The service is being asked for a session that this browser keeps. */
  | { readonly phase: 'resuming' }
  /**
   * `notice` tells why, where the person did not ask for it. `person` is the id of the user whose
   * page waits as it was, for the same user to sign in again; undefined where none does.
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
  /** The service does not take the token any more. */
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

/** The session's state, and a new rendering with each change. */
export function useSession(): SessionState {
  return useSyncExternalStore(session.subscribe, () => state)
}
