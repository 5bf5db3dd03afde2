/**
 * Saves a Session before its client is told of a change, so that the answer holds after a crash,
 * too.
 */
import type { SessionStore } from '../durable/session-store.ts'
import type { EngineFailure } from '../ports/engine.ts'
import type { Session } from '../sessions/session.ts'

/**
 * Runs `told` when the engine owns the Session as it is now. A Session that is not kept needs no
 * promise: `told` runs at once. Runs `failed` when the engine refuses the Session.
 */
export function saveSession(
  store: SessionStore | undefined,
  session: Session,
  told: () => void,
  failed: (failure: EngineFailure) => void,
): Promise<void> | undefined {
  if (store === undefined || !store.keeps(session)) {
    told()
    return undefined
  }
  return new Promise((resolve) => {
    store.save(
      session,
      () => {
        told()
        resolve()
      },
      (failure) => {
        failed(failure)
        resolve()
      },
    )
  })
}
