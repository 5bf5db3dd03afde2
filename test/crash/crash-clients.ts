/**
 * Clients that follow QoS 1 and 2 over any number of crashes, and record the promises that they got
 * and the messages that came.
 */
import type { IPublishPacket, Packet } from 'mqtt-packet'
import { WireClient, codeOf } from '../support/wire-client.ts'
import type { Login, Version } from '../support/wire-client.ts'
import type { RunningService } from '../support/running-service.ts'

type Address = Pick<RunningService, 'mqttsPort' | 'ca'>

/**
 * Unacknowledged messages of a publisher: below the service's Receive Maximum, and enough to have
 * some at each kill.
 */
const WINDOW = 32

/** The key of one publisher's message, the same in all records. */
export function messageKey(publisher: string, sequence: number): string {
  return `${publisher}:${sequence}`
}

/** Connects a kept Session; undefined: the service went away meanwhile. */
async function connect(
  address: Address,
  version: Version,
  login: Login,
  clientId: string,
): Promise<{ readonly client: WireClient; readonly isSessionPresent: boolean } | undefined> {
  try {
    const client = await WireClient.open(address, version)
    const properties = version === 5 ? { properties: { sessionExpiryInterval: 3600 } } : {}
    client.send(client.connectPacket(login, { clientId, clean: false, ...properties }))
    const connack = await client.next()
    if (connack === undefined) return undefined
    if (connack.cmd !== 'connack' || codeOf(connack) !== 0) throw new Error(`refused: ${JSON.stringify(connack)}`)
    return { client, isSessionPresent: connack.sessionPresent }
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('refused')) throw error
    return undefined
  }
}

export interface PublisherOptions {
  readonly name: string
  readonly login: Login
  readonly qos: 1 | 2
  readonly topicNames: readonly string[]
}

interface Unacknowledged {
  readonly sequence: number
  readonly packet: IPublishPacket
  /** QoS 2: PUBREC has come, PUBCOMP has not. */
  isReceived: boolean
}

/** Publishes numbered messages to its own Topic Names, and repeats unacknowledged ones. */
export class CrashPublisher {
  /** Sequence numbers that the service has acknowledged by PUBACK or PUBREC. */
  readonly acknowledged = new Set<number>()
  sent = 0
  readonly name: string
  readonly #options: PublisherOptions
  readonly #unacknowledged = new Map<number, Unacknowledged>()
  #packetId = 0
  #client: WireClient | undefined = undefined
  #isSettling = false
  #settled: () => void = () => {}
  #hadSession = false

  constructor(options: PublisherOptions) {
    this.name = options.name
    this.#options = options
  }

  topicNameOf(sequence: number): string {
    const { topicNames } = this.#options
    return topicNames[sequence % topicNames.length] as string
  }

  /** Connects and publishes until the connection ends or `settle` is called. */
  async run(address: Address): Promise<void> {
    const connected = await connect(address, 5, this.#options.login, this.name)
    if (connected === undefined) return
    const { client, isSessionPresent } = connected
    if (this.#hadSession && !isSessionPresent) throw new Error(`${this.name}: its Session is gone`)
    this.#hadSession = true
    this.#client = client
    for (const [messageId, { packet, isReceived }] of this.#unacknowledged) {
      client.send(isReceived ? { cmd: 'pubrel', messageId } : { ...packet, dup: true })
    }
    this.#publish()
    for (let packet = await nextOrEnd(client); packet !== undefined; packet = await nextOrEnd(client))
      this.#took(packet)
    this.#client = undefined
  }

  /** Publishes no more, and resolves when all messages are completely acknowledged. */
  async settle(): Promise<void> {
    this.#isSettling = true
    while (this.#unacknowledged.size > 0) {
      await new Promise<void>((resolve) => {
        this.#settled = resolve
      })
    }
  }

  stop(): void {
    this.#client?.destroy()
  }

  #publish(): void {
    while (!this.#isSettling && this.#client !== undefined && this.#unacknowledged.size < WINDOW) {
      const sequence = this.sent
      this.sent += 1
      do this.#packetId = (this.#packetId % 65_535) + 1
      while (this.#unacknowledged.has(this.#packetId))
      const packet: IPublishPacket = {
        cmd: 'publish',
        topic: this.topicNameOf(sequence),
        payload: JSON.stringify({ publisher: this.name, sequence }),
        qos: this.#options.qos,
        retain: false,
        dup: false,
        messageId: this.#packetId,
      }
      this.#unacknowledged.set(this.#packetId, { sequence, packet, isReceived: false })
      this.#client.send(packet)
    }
  }

  #took(packet: Packet): void {
    if (packet.cmd !== 'puback' && packet.cmd !== 'pubrec' && packet.cmd !== 'pubcomp') return
    const messageId = packet.messageId as number
    const entry = this.#unacknowledged.get(messageId)
    if (entry === undefined) return
    if (packet.cmd !== 'pubcomp' && codeOf(packet) >= 0x80) throw new Error(`refused: ${JSON.stringify(packet)}`)
    if (packet.cmd === 'pubrec') {
      this.acknowledged.add(entry.sequence)
      entry.isReceived = true
      this.#client?.send({ cmd: 'pubrel', messageId })
      return
    }
    this.acknowledged.add(entry.sequence)
    this.#unacknowledged.delete(messageId)
    if (this.#unacknowledged.size === 0) this.#settled()
    this.#publish()
  }
}

export interface SubscriberOptions {
  readonly name: string
  readonly version: Version
  readonly login: Login
  readonly topicFilter: string
  readonly qos: 1 | 2
}

/** Keeps a Session, acknowledges and records the messages that it gets. */
export class CrashSubscriber {
  /**
   * By message: how often it came as an Application Message. At QoS 2 a repeated PUBLISH is the
   * same message.
   */
  readonly received = new Map<string, number>()
  /**
   * By Topic Name and publisher: the highest sequence number, counting each message when it came
   * first.
   */
  readonly #highest = new Map<string, number>()
  readonly outOfOrder: string[] = []
  repeatedWithDup = 0
  repeatedWithoutDup = 0
  readonly name: string
  readonly qos: 1 | 2
  readonly #options: SubscriberOptions
  readonly #unreleased = new Set<number>()
  #client: WireClient | undefined = undefined
  #isSubscribed = false
  #progress: () => void = () => {}

  constructor(options: SubscriberOptions) {
    this.name = options.name
    this.qos = options.qos
    this.#options = options
  }

  /** An earlier process has subscribed in this client's Session, which must exist. */
  resumes(): void {
    this.#isSubscribed = true
  }

  /**
   * Connects, subscribes the first time and calls `subscribed`, and receives messages until the
   * connection ends.
   */
  async run(address: Address, subscribed: () => void): Promise<void> {
    const { version, login, topicFilter, qos } = this.#options
    const connected = await connect(address, version, login, this.name)
    if (connected === undefined) return
    const { client, isSessionPresent } = connected
    this.#client = client
    if (this.#isSubscribed && !isSessionPresent) throw new Error(`${this.name}: its Session is gone`)
    if (this.#isSubscribed) subscribed()
    else client.send(client.subscribePacket(topicFilter, qos))
    for (let packet = await nextOrEnd(client); packet !== undefined; packet = await nextOrEnd(client)) {
      if (packet.cmd === 'suback') {
        this.#isSubscribed = true
        subscribed()
      } else this.#took(client, packet)
    }
    this.#client = undefined
  }

  /** Resolves when all these messages have come, on this connection or an earlier one. */
  async has(keys: ReadonlySet<string>): Promise<void> {
    const missing = new Set([...keys].filter((key) => !this.received.has(key)))
    while (missing.size > 0) {
      await new Promise<void>((resolve) => {
        this.#progress = resolve
      })
      for (const key of missing) if (this.received.has(key)) missing.delete(key)
    }
  }

  missing(keys: ReadonlySet<string>): string[] {
    return [...keys].filter((key) => !this.received.has(key))
  }

  stop(): void {
    this.#client?.destroy()
  }

  #took(client: WireClient, packet: Packet): void {
    if (packet.cmd === 'pubrel') {
      const messageId = packet.messageId as number
      this.#unreleased.delete(messageId)
      client.send({ cmd: 'pubcomp', messageId })
      return
    }
    if (packet.cmd !== 'publish') return
    const messageId = packet.messageId as number
    if (packet.qos === 1) {
      this.#note(packet)
      client.send({ cmd: 'puback', messageId })
    } else if (packet.qos === 2) {
      if (!this.#unreleased.has(messageId)) this.#note(packet)
      this.#unreleased.add(messageId)
      client.send({ cmd: 'pubrec', messageId })
    }
  }

  #note(packet: IPublishPacket): void {
    const { publisher, sequence } = JSON.parse(packet.payload.toString()) as { publisher: string; sequence: number }
    const key = messageKey(publisher, sequence)
    const times = this.received.get(key) ?? 0
    this.received.set(key, times + 1)
    if (times > 0) {
      if (packet.dup) this.repeatedWithDup += 1
      else this.repeatedWithoutDup += 1
    } else {
      const stream = `${publisher} ${packet.topic}`
      const highest = this.#highest.get(stream) ?? -1
      if (sequence < highest) this.outOfOrder.push(`${key} after ${highest} on ${packet.topic}`)
      else this.#highest.set(stream, sequence)
    }
    this.#progress()
  }
}

/**
 * The next packet; undefined at the end of the connection, or when no packet came for a long time.
 */
async function nextOrEnd(client: WireClient): Promise<Packet | undefined> {
  try {
    return await client.next()
  } catch {
    client.destroy()
    return undefined
  }
}
