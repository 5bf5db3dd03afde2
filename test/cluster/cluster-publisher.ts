/**
 * A publisher of numbered messages. It repeats what was not acknowledged, on whatever node it is.
 */
import type { IPublishPacket, Packet } from 'mqtt-packet'
import { codeOf } from '../support/wire-client.ts'
import type { Account } from './account.ts'
import { RovingClient } from './roving-client.ts'
import type { RovingOptions } from './roving-client.ts'

/** Unacknowledged messages of a publisher: below the service's Receive Maximum. */
const WINDOW = 16
/** The first Reason Code of a refusal. */
const REFUSED = 0x80

export interface PublisherOptions extends RovingOptions {
  readonly qos: 1 | 2
  readonly topicNames: readonly string[]
  readonly account: Account
  /** The time between two messages, ms. */
  readonly intervalMs: number
}

interface Unacknowledged {
  readonly sequence: number
  readonly packet: IPublishPacket
  /** QoS 2: PUBREC has come, PUBCOMP has not. */
  isReceived: boolean
}

export class ClusterPublisher extends RovingClient {
  readonly qos: 1 | 2
  /** Messages that a node has refused. */
  refused = 0
  readonly #options: PublisherOptions
  readonly #number: number
  readonly #unacknowledged = new Map<number, Unacknowledged>()
  #packetId = 0
  #isConnected = false
  #timer: NodeJS.Timeout | undefined
  #longestGapMs = 0
  #lastAcknowledgementMs = 0

  constructor(options: PublisherOptions) {
    super(options)
    this.qos = options.qos
    this.#options = options
    this.#number = options.account.addPublisher(options.name, options.qos)
  }

  /** Publishes from here on. */
  begin(): void {
    this.#timer ??= setInterval(() => this.#publish(), this.#options.intervalMs)
  }

  /** Publishes no more, and still repeats each message that has no answer. */
  cease(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  override stop(): void {
    this.cease()
    super.stop()
  }

  /** The number of its oldest message that has no answer. */
  get oldestOpen(): number {
    let oldest = this.#options.account.sent[this.#number] as number
    for (const { sequence } of this.#unacknowledged.values()) oldest = Math.min(oldest, sequence)
    return oldest
  }

  /** The longest time without an acknowledgement since `resetGap`, up to now, ms. */
  get longestGapMs(): number {
    return Math.max(this.#longestGapMs, performance.now() - this.#lastAcknowledgementMs)
  }

  resetGap(): void {
    this.#longestGapMs = 0
    this.#lastAcknowledgementMs = performance.now()
  }

  protected override connected(isSessionPresent: boolean, hadSession: boolean): void {
    const { account } = this.#options
    if (hadSession && !isSessionPresent) account.faults.add('forgotten', `that of ${this.name} at ${this.node?.name}`)
    this.#isConnected = true
    for (const [messageId, { packet, isReceived, sequence }] of this.#unacknowledged) {
      if (isReceived) {
        this.send({ cmd: 'pubrel', messageId })
        continue
      }
      account.sendsAgain({ publisher: this.#number, sequence })
      this.send({ ...packet, dup: true })
    }
  }

  protected override disconnected(): void {
    this.#isConnected = false
  }

  protected override took(packet: Packet): void {
    if (packet.cmd !== 'puback' && packet.cmd !== 'pubrec' && packet.cmd !== 'pubcomp') return
    const messageId = packet.messageId as number
    const entry = this.#unacknowledged.get(messageId)
    if (entry === undefined) return
    if (packet.cmd !== 'pubcomp' && codeOf(packet) >= REFUSED) {
      this.refused += 1
      this.#unacknowledged.delete(messageId)
      return
    }
    this.#options.account.acknowledges({ publisher: this.#number, sequence: entry.sequence })
    this.#longestGapMs = this.longestGapMs
    this.#lastAcknowledgementMs = performance.now()
    if (packet.cmd === 'pubrec') {
      entry.isReceived = true
      this.send({ cmd: 'pubrel', messageId })
    } else this.#unacknowledged.delete(messageId)
  }

  #publish(): void {
    if (!this.#isConnected || this.#unacknowledged.size >= WINDOW) return
    const { account, topicNames, qos } = this.#options
    const sequence = account.sends(this.#number)
    do this.#packetId = (this.#packetId % 65_535) + 1
    while (this.#unacknowledged.has(this.#packetId))
    const packet: IPublishPacket = {
      cmd: 'publish',
      topic: topicNames[sequence % topicNames.length] as string,
      payload: JSON.stringify({ publisher: this.#number, sequence }),
      qos,
      retain: false,
      dup: false,
      messageId: this.#packetId,
    }
    this.#unacknowledged.set(this.#packetId, { sequence, packet, isReceived: false })
    this.send(packet)
  }
}
