/**
 * A reader of the log: a Session for its own subscriptions, or a shared group for its members. It
 * is at the tail of a partition, or behind; then it reads the log from its cursor.
 */
import type { StateChange } from '../ports/engine.ts'
import type { Message } from '../ports/message.ts'
import type { Cursor } from './log-places.ts'
import type { Owed, Recovery, Session, Subscription } from './session.ts'
import type { SharedGroup } from './shared-group.ts'

export interface Reader {
  /** The tenant that the reader belongs to: its record counts against this tenant's share. */
  readonly tenant: string
  /** The partitions in which the reader is behind the tail, and up to where it has read. */
  readonly behind: Map<number, Cursor>
  /** True while the log is read for the reader: nothing else may read for it meanwhile. */
  catchingUp: boolean
  /** True when the reader has changed since it was last saved. */
  isUnsaved: boolean
  /** The state of a reader after a restart; undefined once it has caught up. */
  recovery: Recovery | undefined
  /** False: the reader ends with its connection, and is not saved. */
  readonly isKept: boolean
  /**
   * True: the messages that wait for the reader are bounded. Only the log bounds the messages that
   * wait for a group.
   */
  readonly isBounded: boolean
  /** True: the reader is a group, and its members are to be saved before it. */
  readonly isSavedLast: boolean
  /**
   * Messages that were taken out of the log for the reader already, and that are to be sent again.
   */
  readonly owed: readonly Owed[]
  /** Sends everything that goes before the log; false while some of it still waits. */
  sendOlder(outlet: Outlet): boolean
  takesMore(outlet: Outlet): boolean
  /** Whether a subscription of the reader matches the Topic Name. */
  matches(topicName: string): boolean
  /**
   * Whether messages of the Topic Name wait in the log for the reader, and so count against its
   * bound.
   */
  queues(topicName: string): boolean
  /** Takes one message of the log; false when there is no room for it. */
  take(outlet: Outlet, message: Message, partition: number, offset: number, dup: boolean): boolean
  /** Forgets the owed messages that retention took; returns their number. */
  forgetLost(): number
  /** Retention was faster than the reader: at most so many of its messages are gone. */
  missed(outlet: Outlet, atMost: number): void
  /** The approximate bytes of the records that `changes` would make now. */
  readonly recordBytes: number
  /** The state of the reader to be saved; empty once the reader is over. */
  changes(changes: ReaderChanges): readonly StateChange[]
}

/** The way in which a reader that is behind hands on the messages that it reads. */
export interface Outlet {
  /** Room in the window, and nothing older waits for it. */
  hasRoom(session: Session): boolean
  /** Sends a message by its matching subscriptions; false when there is no room for it. */
  send(session: Session, subscriptions: readonly Subscription[], message: Message, dup: boolean): boolean
  /** Gives a message to a member with room; false when none has, and the message must wait. */
  offer(group: SharedGroup, message: Message, dup: boolean): boolean
  /** Sends everything of the Session that goes before the log; false while some still waits. */
  sendOlder(session: Session): boolean
  /** A member of the reader has changed that is saved. */
  changed(reader: Reader): void
  /** Tells the Session that at most so many of its messages are gone: retention was faster. */
  missed(session: Session, atMost: number): void
}

/** Turns readers into the state that is saved. */
export interface ReaderChanges {
  ofSession(session: Session): readonly StateChange[]
  ofGroup(group: SharedGroup): StateChange
}
