/**
 * Reads the messages of the log apart from all Sessions: nothing here delivers, acknowledges or
 * moves a cursor.
 */
import type { Engine, ScanQuery } from '../ports/engine.ts'
import { messageId, placeOfId } from '../ports/message.ts'
import type { Message } from '../ports/message.ts'
import { partitionOfTopic } from '../sessions/subscription-index.ts'

/** Like `ScanQuery`. The partition follows from the prefix, which has at least two whole levels. */
export type HistoryQuery = Omit<ScanQuery, 'partition'>

export interface HistoryPage {
  /**
   * The messages in the direction asked for; each knows its id and when the log took it. They are
   * shared and must not be changed.
   */
  readonly messages: readonly Message[]
  /**
   * `afterOffset` of the next page; undefined when this page is the last. A page that is not the
   * last may be empty.
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
   * The offset that an id stands for in this branch of topics; undefined for a text that can't be
   * the id of one of its messages.
   */
  offsetOf(topicPrefix: string, id: string): number | undefined {
    const place = placeOfId(id)
    return place?.partition === this.#partitionOf(topicPrefix) ? place.offset : undefined
  }

  /**
   * The id of a place in this branch of topics, for the end of a page. There need not be a message
   * of the branch at the place.
   */
  idOf(topicPrefix: string, offset: number): string {
    return messageId(this.#partitionOf(topicPrefix), offset)
  }

  /**
   * The offset that the next message of the branch gets at least: all stored messages have lower
   * ones.
   */
  tail(topicPrefix: string): number {
    return this.#log.tail(this.#partitionOf(topicPrefix))
  }

  /**
   * Reads stored messages, at most as many as the query asks for, with a bounded share of work.
   * Rejects when the disk fails.
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
