/** What a client is told only when it will hold after a crash, too. */
import type { SessionStore } from '../durable/session-store.ts'
import type { EngineFailure } from '../ports/engine.ts'
import type { Session } from '../sessions/session.ts'

/**
 * Runs `told` when the Session as it is now is owned by the engine: at once where it is not kept.
 * Then a promise is not needed either. Runs `failed` when the engine refuses it.
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
