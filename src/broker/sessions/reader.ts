/** A reader of the log: a Session for its own subscriptions, or a group for its members. */
import type { Session } from './session.ts'
import type { SharedGroup } from './shared-group.ts'

export type Reader = Session | SharedGroup
