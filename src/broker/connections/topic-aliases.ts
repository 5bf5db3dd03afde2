/** The Topic Aliases of one connection; they end with it [MQTT-3.3.2-7]. */

/** A Topic Alias to be sent: with the Topic Name as long as the client does not know it. */
export interface OutgoingAlias {
  readonly topicAlias: number
  readonly isKnown: boolean
}

/** What the client has set. Bounded by the Topic Alias Maximum that it was told. */
export class IncomingTopicAliases {
  readonly #topicNames = new Map<number, string>()

  /** Undefined when nothing is known by that alias. */
  topicName(topicAlias: number): string | undefined {
    return this.#topicNames.get(topicAlias)
  }

  set(topicAlias: number, topicName: string): void {
    this.#topicNames.set(topicAlias, topicName)
  }

  delete(topicAlias: number): void {
    this.#topicNames.delete(topicAlias)
  }
}

/**
 * What we set towards the client: first come, first served, up to the maximum that it names
 * [MQTT-3.3.2-9].
 */
export class OutgoingTopicAliases {
  readonly #aliases = new Map<string, number>()
  readonly #maximum: number

  constructor(maximum: number) {
    this.#maximum = maximum
  }

  /** The alias to send this Topic Name by; undefined when all are taken by others. */
  use(topicName: string): OutgoingAlias | undefined {
    const topicAlias = this.#aliases.get(topicName)
    if (topicAlias !== undefined) return { topicAlias, isKnown: true }
    if (this.#aliases.size >= this.#maximum) return undefined
    this.#aliases.set(topicName, this.#aliases.size + 1)
    return { topicAlias: this.#aliases.size, isKnown: false }
  }

  /** Takes back the alias that was given last: the packet with it was not sent. */
  takeBack(topicName: string): void {
    this.#aliases.delete(topicName)
  }
}
