/** The senders of commands of a load, and its network server. */
import type { IPublishPacket, Packet } from 'mqtt-packet'
import { codeOf } from '../support/wire-client.ts'
import type { CommandAccount, CommandKey } from './command-account.ts'
import { RovingClient } from './roving-client.ts'
import type { RovingOptions } from './roving-client.ts'

/** Unacknowledged commands of a sender. */
const WINDOW = 8
const REFUSED = 0x80
/** The network server looks at a command for so long before it acknowledges it, ms. */
const LOOKS_MS = 20
const COMMAND_FILTER = 'application/+/device/+/command/+'

export interface SenderOptions extends RovingOptions {
  /** The topics of commands, one for each device. */
  readonly topicNames: readonly string[]
  readonly account: CommandAccount
  /** The time between two commands, ms. */
  readonly intervalMs: number
}

/** Sends numbered commands. It repeats those that have no answer, with the same ids. */
export class CommandSender extends RovingClient {
  /** Commands that were acknowledged, and those that were refused. */
  accepted = 0
  refused = 0
  readonly #options: SenderOptions
  readonly #number: number
  readonly #unacknowledged = new Map<number, { readonly sequence: number; readonly packet: IPublishPacket }>()
  #packetId = 0
  #timer: NodeJS.Timeout | undefined
  #isConnected = false

  constructor(options: SenderOptions) {
    super(options)
    this.#options = options
    this.#number = options.account.addSender(options.name)
  }

  /** Commands that have no answer yet. */
  get unanswered(): number {
    return this.#unacknowledged.size
  }

  begin(): void {
    this.#timer ??= setInterval(() => this.#sendOne(), this.#options.intervalMs)
  }

  cease(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  override stop(): void {
    this.cease()
    super.stop()
  }

  protected override connected(): void {
    this.#isConnected = true
    for (const { packet } of this.#unacknowledged.values()) this.send({ ...packet, dup: true })
  }

  protected override disconnected(): void {
    this.#isConnected = false
  }

  protected override took(packet: Packet): void {
    if (packet.cmd !== 'puback') return
    const messageId = packet.messageId as number
    const entry = this.#unacknowledged.get(messageId)
    if (entry === undefined) return
    this.#unacknowledged.delete(messageId)
    if (codeOf(packet) >= REFUSED) {
      this.refused += 1
      return
    }
    this.accepted += 1
    this.#options.account.accepts({ sender: this.#number, sequence: entry.sequence })
  }

  #sendOne(): void {
    if (!this.#isConnected || this.#unacknowledged.size >= WINDOW) return
    const { account, topicNames } = this.#options
    const sequence = account.sends(this.#number)
    this.#packetId = (this.#packetId % 65_535) + 1
    const packet: IPublishPacket = {
      cmd: 'publish',
      topic: topicNames[sequence % topicNames.length] as string,
      payload: JSON.stringify({
        confirmed: false,
        fPort: 10,
        data: Buffer.from(`${this.#number}:${sequence}`).toString('base64'),
        id: `${this.name}-${sequence}`,
      }),
      qos: 1,
      retain: false,
      dup: false,
      messageId: this.#packetId,
    }
    this.#unacknowledged.set(this.#packetId, { sequence, packet })
    this.send(packet)
  }
}

/** Takes all commands, each after a moment. */
export class NetworkServer extends RovingClient {
  /** Hears each command as it comes, before it is acknowledged; and again once it is. */
  watch: ((devEui: string, moment: 'came' | 'acknowledged') => void) | undefined
  readonly #account: CommandAccount
  readonly #subscribed = Promise.withResolvers<undefined>()
  /**
   * The pings of this connection that have no answer, each with the commands that it stands for:
   * they were acknowledged before it. A node handles packets in their order. So when it answers the
   * ping, it has got the acknowledgements. A ping behind a SUBSCRIBE without an answer stands for
   * none: where the SUBSCRIBE takes long, a node answers the ping before.
   */
  #pings: (readonly CommandKey[])[] = []
  /** The commands that were acknowledged behind a SUBSCRIBE without an answer. */
  #unproven: CommandKey[] = []
  #isSubscribed = false

  constructor(options: RovingOptions & { readonly account: CommandAccount }) {
    super(options)
    this.#account = options.account
  }

  get subscribed(): Promise<undefined> {
    return this.#subscribed.promise
  }

  protected override connected(): void {
    this.#isSubscribed = false
    const packet = this.wire?.subscribePacket(COMMAND_FILTER, 1)
    if (packet !== undefined) this.send(packet)
  }

  protected override disconnected(): void {
    this.#pings = []
    this.#unproven = []
    this.#account.disconnected()
  }

  protected override pinged(): void {
    this.#pings.push([])
  }

  protected override took(packet: Packet): void {
    if (packet.cmd === 'suback') {
      this.#subscribed.resolve(undefined)
      this.#isSubscribed = true
      this.send({ cmd: 'pingreq' })
      this.#pings.push(this.#unproven.splice(0))
    }
    if (packet.cmd === 'pingresp') for (const key of this.#pings.shift() ?? []) this.#account.confirmed(key)
    if (packet.cmd !== 'publish') return
    const [, , , devEui = ''] = packet.topic.split('/')
    const { data } = JSON.parse(packet.payload.toString()) as { readonly data: string }
    const [sender = 0, sequence = 0] = Buffer.from(data, 'base64').toString().split(':').map(Number)
    const key = { sender, sequence }
    this.#account.arrives(devEui, key)
    this.watch?.(devEui, 'came')
    const { wire } = this
    const messageId = packet.messageId as number
    setTimeout(() => {
      // The acknowledgement belongs to the connection of the command.
      if (wire === undefined || this.wire !== wire) return
      this.#account.taken(devEui)
      wire.send({ cmd: 'puback', messageId }, { cmd: 'pingreq' })
      this.#pings.push(this.#isSubscribed ? [key] : [])
      if (!this.#isSubscribed) this.#unproven.push(key)
      this.watch?.(devEui, 'acknowledged')
    }, LOOKS_MS)
  }
}
