/** A reader whose Session is kept, and whose messages are accounted for. */
import type { IPublishPacket, Packet } from 'mqtt-packet'
import type { Account, Received } from './account.ts'
import { RovingClient } from './roving-client.ts'
import type { RovingOptions } from './roving-client.ts'

export interface ReaderOptions extends RovingOptions {
  readonly qos: 1 | 2
  readonly topicFilter: string
  /** The beginning of all topics that the reader may get. */
  readonly ownTopics: string
  readonly account: Account
  /** Where the messages are noted: the reader's own, or that of its shared subscription. */
  readonly received: Received
}

export class ClusterReader extends RovingClient {
  readonly received: Received
  /** Messages that came on its connections. */
  count = 0
  readonly #options: ReaderOptions
  readonly #unreleased = new Set<number>()
  readonly #subscribed = Promise.withResolvers<undefined>()
  #isSubscribed = false

  constructor(options: ReaderOptions) {
    super(options)
    this.#options = options
    this.received = options.received
  }

  /** Resolves when the reader has subscribed for the first time. */
  get subscribed(): Promise<undefined> {
    return this.#subscribed.promise
  }

  protected override connected(isSessionPresent: boolean): void {
    const { account, topicFilter, qos } = this.#options
    if (this.#isSubscribed && !isSessionPresent) {
      account.faults.add('forgotten', `that of ${this.name} at ${this.node?.name}`)
    }
    if (!isSessionPresent) this.#unreleased.clear()
    const packet = this.wire?.subscribePacket(topicFilter, qos)
    if (packet !== undefined && !(isSessionPresent && this.#isSubscribed)) this.send(packet)
  }

  protected override disconnected(): void {}

  protected override took(packet: Packet): void {
    if (packet.cmd === 'suback') {
      if (Number(packet.granted[0]) >= 0x80) throw new Error(`${this.name}: SUBSCRIBE was refused`)
      this.#isSubscribed = true
      this.#subscribed.resolve(undefined)
    } else if (packet.cmd === 'pubrel') {
      const messageId = packet.messageId as number
      this.#unreleased.delete(messageId)
      this.send({ cmd: 'pubcomp', messageId })
    } else if (packet.cmd === 'publish') this.#publish(packet)
  }

  #publish(packet: IPublishPacket): void {
    const messageId = packet.messageId as number
    if (packet.qos === 1) {
      this.#note(packet)
      this.send({ cmd: 'puback', messageId })
    } else if (packet.qos === 2) {
      // The same Packet Identifier before PUBREL is the same message.
      if (!this.#unreleased.has(messageId)) this.#note(packet)
      this.#unreleased.add(messageId)
      this.send({ cmd: 'pubrec', messageId })
    }
  }

  #note(packet: IPublishPacket): void {
    const { account, received, ownTopics } = this.#options
    if (!packet.topic.startsWith(ownTopics)) {
      account.faults.add('foreign', `${this.name} got ${packet.topic}`)
      return
    }
    this.count += 1
    const { publisher, sequence } = JSON.parse(packet.payload.toString()) as { publisher: number; sequence: number }
    const properties = packet.properties?.userProperties?.['event-id']
    const id = Array.isArray(properties) ? properties.at(-1) : properties
    account.receives(received, { publisher, sequence, topicName: packet.topic, id, isDup: packet.dup })
  }
}
