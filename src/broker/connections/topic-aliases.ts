/** The Topic Aliases of one connection; they end with it [MQTT-3.3.2-7]. */
import type { Topic } from '../../mqtt/topic.ts'

/**
 * A Topic Alias for a PUBLISH. The Topic Name is sent with it as long as the client does not know
 * the alias.
 */
export interface OutgoingAlias {
  readonly topicAlias: number
  readonly isKnown: boolean
}

/**
 * The aliases that the client has set. The Topic Alias Maximum that it was told bounds their
 * number.
 */
export class IncomingTopicAliases {
  readonly #topics = new Map<number, Topic>()

  /** Undefined for an alias that the client has not set. */
  topic(topicAlias: number): Topic | undefined {
    return this.#topics.get(topicAlias)
  }

  set(topicAlias: number, topic: Topic): void {
    this.#topics.set(topicAlias, topic)
  }

  delete(topicAlias: number): void {
    this.#topics.delete(topicAlias)
  }
}

/**
 * The aliases that we set towards the client: first come, first served, up to the maximum that the
 * client names [MQTT-3.3.2-9].
 */
export class OutgoingTopicAliases {
  readonly #aliases = new Map<string, number>()
  readonly #maximum: number

  constructor(maximum: number) {
    this.#maximum = maximum
  }

  /** The alias to send this Topic Name by; undefined when all aliases are taken by other names. */
  use(topicName: string): OutgoingAlias | undefined {
    const topicAlias = this.#aliases.get(topicName)
    if (topicAlias !== undefined) return { topicAlias, isKnown: true }
    if (this.#aliases.size >= this.#maximum) return undefined
    this.#aliases.set(topicName, this.#aliases.size + 1)
    return { topicAlias: this.#aliases.size, isKnown: false }
  }

  /** Takes back the alias that was given last: the packet that would have told it was not sent. */
  takeBack(topicName: string): void {
    this.#aliases.delete(topicName)
  }
}
