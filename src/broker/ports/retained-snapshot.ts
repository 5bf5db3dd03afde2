/**
 * The retained messages of a deployment of several nodes, kept apart from the log. The log tells
 * all nodes the retained messages as they come. A node that starts reads the snapshot, and then the
 * log from the snapshot's mark on. One node at a time writes it.
 */
import type { Place } from './message.ts'

/** The last known of one Topic Name, with the place in the log of the message that did it. */
export interface RetainedEntry extends Place {
  readonly topicName: string
  /** A record of a retained message; undefined: it was removed. */
  readonly record: Buffer | undefined
}

export interface RetainedContent {
  /** In no order, one for each Topic Name. Removals are forgotten after a while. */
  readonly entries: Iterable<RetainedEntry>
  /**
   * By partition: everything before these offsets is in the entries; later messages may be, too.
   * Undefined: nobody has written a snapshot yet.
   */
  readonly mark: readonly number[] | undefined
}

export interface RetainedSnapshot {
  /** Reads the snapshot while another node may write. Rejects when it can't be read now. */
  load(): Promise<RetainedContent>
  /**
   * Makes this process the only writer: from here on nobody else can write. Resolves with the
   * snapshot. Rejects when that can't be done now.
   */
  lock(): Promise<RetainedContent>
  /**
   * Writes entries over those of the same Topic Names, and then the mark. Waits while the store
   * does not answer. False: another process is the writer by now, or this one never was; the mark
   * is not written.
   */
  write(entries: readonly RetainedEntry[], mark: readonly number[]): Promise<boolean>
  /** Gives up what is on its way: a `write` resolves with false. */
  close(): void
}
