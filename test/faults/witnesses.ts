/**
 * Clients of the faults suite: they come back after each loss, follow QoS 1, and record the
 * promises that they got and the messages that came.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { IPublishPacket } from 'mqtt-packet'
import { WireClient, codeOf } from '../support/wire-client.ts'
import type { Login, Version } from '../support/wire-client.ts'
import type { RunningService } from '../support/running-service.ts'
import { messageKey } from '../crash/crash-clients.ts'

type Address = Pick<RunningService, 'mqttsPort' | 'ca'>

/** The time between two messages of each publisher. */
const BEAT_MS = 40
/** Unacknowledged messages of a publisher; at this bound it waits. */
const WINDOW = 200
const KEEP_ALIVE_SECONDS = 30
const PING_MS = 10_000
const RETRY_MS = 100
/** The wait before a refused message is tried again. */
const REFUSED_MS = 300

/** The present address of the service; undefined: there is none. */
export type WhereIs = () => Address | undefined

interface WitnessOptions {
  readonly name: string
  readonly version: Version
  readonly login: Login
}

/**
 * A client with a kept Session that connects again whenever its connection has ended, until it is
 * stopped.
 */
abstract class Witness {
  readonly name: string
  /** Connections that got CONNACK. */
  connects = 0
  /** Connections that found no Session although one had been kept. */
  lostSessions = 0
  protected client: WireClient | undefined = undefined
  readonly #options: WitnessOptions
  #isStopped = false

  constructor(options: WitnessOptions) {
    this.name = options.name
    this.#options = options
  }

  /** Resolves after `stop`. */
  async run(whereIs: WhereIs): Promise<void> {
    while (!this.#isStopped) {
      const address = whereIs()
      // The present fault may break a connection; the runner's checks know which connections must
      // not break.
      if (address !== undefined) await this.#visit(address).catch(() => {})
      await sleep(RETRY_MS)
    }
  }

  stop(): void {
    this.#isStopped = true
    this.client?.destroy()
  }

  /** Runs after CONNACK, until the connection has ended. */
  protected abstract attend(client: WireClient, isSessionPresent: boolean): Promise<void>

  async #visit(address: Address): Promise<void> {
    const { name, version, login } = this.#options
    const client = await WireClient.open(address, version)
    const pinging = setInterval(() => client.send({ cmd: 'pingreq' }), PING_MS)
    try {
      const properties = version === 5 ? { properties: { sessionExpiryInterval: 86_400 } } : {}
      client.send(
        client.connectPacket(login, { clientId: name, clean: false, keepalive: KEEP_ALIVE_SECONDS, ...properties }),
      )
      const connack = await client.next()
      if (connack?.cmd !== 'connack' || codeOf(connack) !== 0) return
      if (this.connects > 0 && !connack.sessionPresent) this.lostSessions += 1
      this.connects += 1
      this.client = client
      if (!this.#isStopped) await this.attend(client, connack.sessionPresent)
    } finally {
      this.client = undefined
      clearInterval(pinging)
      client.destroy()
    }
  }
}

/**
 * Publishes a numbered message at each beat at QoS 1, and repeats messages that were refused or not
 * acknowledged.
 */
export class FaultPublisher extends Witness {
  readonly #topicNames: readonly string[]
  readonly #acknowledged: Set<string>
  readonly #unacknowledged = new Map<number, IPublishPacket & { readonly key: string }>()
  #sequence = 0
  #packetId = 0

  /** Keys of acknowledged messages are added to the set. */
  constructor(
    options: Omit<WitnessOptions, 'version'> & { readonly topicNames: readonly string[] },
    acknowledged: Set<string>,
  ) {
    super({ ...options, version: 5 })
    this.#topicNames = options.topicNames
    this.#acknowledged = acknowledged
  }

  protected override async attend(client: WireClient): Promise<void> {
    for (const packet of this.#unacknowledged.values()) client.send({ ...again(packet), dup: true })
    const beat = setInterval(() => this.#publish(client), BEAT_MS)
    try {
      for (let packet = await client.next(); packet !== undefined; packet = await client.next()) {
        if (packet.cmd !== 'puback') continue
        const messageId = packet.messageId as number
        const message = this.#unacknowledged.get(messageId)
        if (message === undefined) continue
        if (codeOf(packet) >= 0x80) {
          setTimeout(() => client.send(again(message)), REFUSED_MS)
          continue
        }
        this.#unacknowledged.delete(messageId)
        this.#acknowledged.add(message.key)
      }
    } finally {
      clearInterval(beat)
    }
  }

  #publish(client: WireClient): void {
    if (this.#unacknowledged.size >= WINDOW) return
    const sequence = this.#sequence
    this.#sequence += 1
    do this.#packetId = (this.#packetId % 65_535) + 1
    while (this.#unacknowledged.has(this.#packetId))
    const packet = {
      cmd: 'publish',
      topic: this.#topicNames[sequence % this.#topicNames.length] as string,
      payload: JSON.stringify({ publisher: this.name, sequence, sentMs: performance.now() }),
      qos: 1,
      retain: false,
      dup: false,
      messageId: this.#packetId,
      key: messageKey(this.name, sequence),
    } as const
    this.#unacknowledged.set(this.#packetId, packet)
    client.send(packet)
  }
}

/**
 * The same message without its time, because the duration of a repetition does not measure the
 * service.
 */
function again(packet: IPublishPacket): IPublishPacket {
  return { ...packet, payload: String(packet.payload).replace(/"sentMs":[0-9.]+/, '"sentMs":-1') }
}

/** Keeps a Session, acknowledges and records the messages that come. */
export class FaultSubscriber extends Witness {
  readonly received = new Set<string>()
  isSubscribed = false
  /** The slowest message since somebody set this to 0, in ms. */
  slowestMs = 0
  readonly #topicFilter: string
  #changed: () => void = () => {}

  constructor(options: WitnessOptions & { readonly topicFilter: string }) {
    super(options)
    this.#topicFilter = options.topicFilter
  }

  /** Resolves when all these messages have come. */
  async has(keys: ReadonlySet<string>): Promise<void> {
    const missing = new Set(this.missing(keys))
    while (missing.size > 0) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve
      })
      for (const key of missing) if (this.received.has(key)) missing.delete(key)
    }
  }

  missing(keys: ReadonlySet<string>): string[] {
    return [...keys].filter((key) => !this.received.has(key))
  }

  protected override async attend(client: WireClient, isSessionPresent: boolean): Promise<void> {
    if (!isSessionPresent) client.send(client.subscribePacket(this.#topicFilter, 1))
    // A message that waited while the witness was away does not count as slow.
    const sinceMs = performance.now()
    for (let packet = await client.next(); packet !== undefined; packet = await client.next()) {
      if (packet.cmd === 'suback') this.isSubscribed = Number(packet.granted[0]) < 0x80
      if (packet.cmd !== 'publish') continue
      client.send({ cmd: 'puback', messageId: packet.messageId as number })
      const message = JSON.parse(packet.payload.toString()) as { publisher: string; sequence: number; sentMs: number }
      const key = messageKey(message.publisher, message.sequence)
      if (!this.received.has(key) && message.sentMs > sinceMs)
        this.slowestMs = Math.max(this.slowestMs, performance.now() - message.sentMs)
      this.received.add(key)
      this.#changed()
    }
  }
}
