/**
 * The subscriptions of a Session whose records are still to be written. They are taken with each
 * record of the Session, and put back when the engine refuses it.
 */
import type { Session } from '../sessions/session.ts'

const NO_TEXTS: ReadonlySet<string> = new Set()

/**
 * The Topic Filters whose records are to be written with that of the Session: all of them with the
 * first one, since a Session without a record does not note its changes.
 */
export function unsavedSubscriptions(session: Session): ReadonlySet<string> {
  if (!session.isSaved) session.unsavedSubscriptions = new Set(session.subscriptions.keys())
  return session.unsavedSubscriptions ?? NO_TEXTS
}

/** The subscriptions could not be saved: they are saved with the next record of the Session. */
export function putBack(session: Session, topicFilters: ReadonlySet<string>): void {
  if (topicFilters.size > 0) session.unsavedSubscriptions = topicFilters.union(session.unsavedSubscriptions ?? NO_TEXTS)
}
