/**
 * What the log holds, for reading apart from all Sessions: nothing here delivers, acknowledges or
 * moves a cursor.
 */
import type { Engine, ScanQuery } from '../ports/engine.ts'
import { messageId, placeOfId } from '../ports/message.ts'
import type { Message } from '../ports/message.ts'
import { partitionOfTopic } from '../sessions/subscription-index.ts'

/** As `ScanQuery`; the partition follows from the prefix, which has at least two whole levels. */
export type HistoryQuery = Omit<ScanQuery, 'partition'>

export interface HistoryPage {
  /**
   * In the direction asked for; each knows its id and when the log took it. Shared with others: not
   * to be changed.
   */
  readonly messages: readonly Message[]
  /**
   * `afterOffset` of the next page; undefined when there is nothing behind this one. A page may be
   * empty and not the last.
   */
  readonly nextAfterOffset: number | undefined
}

/** The parts of the engine that history needs. */
export type StoredLog = Pick<Engine, 'partitions' | 'tail' | 'scan'>

export class History {
  readonly #log: StoredLog

  constructor(log: StoredLog) {
    this.#log = log
  }

  /**
   * The offset that an id stands for in this branch of topics; undefined for what can be no id of
   * its messages.
   */
  offsetOf(topicPrefix: string, id: string): number | undefined {
    const place = placeOfId(id)
    return place?.partition === this.#partitionOf(topicPrefix) ? place.offset : undefined
  }

  /**
   * The id of the place in this branch of topics: where a page ended, whether or not it is of a
   * message.
   */
  idOf(topicPrefix: string, offset: number): string {
    return messageId(this.#partitionOf(topicPrefix), offset)
  }

  /**
   * The offset that the next message of the branch will be behind, or at: what was stored before
   * has a lower one.
   */
  tail(topicPrefix: string): number {
    return this.#log.tail(this.#partitionOf(topicPrefix))
  }

  /**
   * Some of the stored messages, at most so many as asked for; a bounded share of work. Rejects
   * when the disk fails.
   */
  async page(query: HistoryQuery): Promise<HistoryPage> {
    const { messages, nextAfterOffset } = await this.#log.scan({
      ...query,
      partition: this.#partitionOf(query.topicPrefix),
    })
    return { messages, nextAfterOffset }
  }

  #partitionOf(topicPrefix: string): number {
    return partitionOfTopic(topicPrefix, this.#log.partitions)
  }
}
