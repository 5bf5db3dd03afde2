/** Clients of the soak: publishers at a steady pace, and readers that come and go. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Packet } from 'mqtt-packet'
import { WireClient, codeOf } from '../support/wire-client.ts'
import type { Login, Version } from '../support/wire-client.ts'
import type { RunningService } from '../support/running-service.ts'

export type Address = Pick<RunningService, 'mqttsPort' | 'ca'>

/** The interval at which a publisher sends the messages that are due. */
const BEAT_MS = 50
/**
 * Unacknowledged messages of a publisher, below the service's Receive Maximum. At this bound the
 * publisher falls behind its pace.
 */
const WINDOW = 500

/** Publishes `perSecond` numbered messages of `payloadBytes` a second at QoS 1. */
export class SteadyPublisher {
  acknowledged = 0
  readonly topicName: string
  readonly #client: WireClient
  readonly #filler: string
  readonly #perBeat: number
  #sent = 0
  #isEnding = false

  static async open(
    address: Address,
    login: Login,
    options: { readonly topicName: string; readonly perSecond: number; readonly payloadBytes: number },
  ): Promise<SteadyPublisher> {
    const client = await WireClient.open(address, 5)
    demand(await client.connect(login))
    return new SteadyPublisher(client, options)
  }

  private constructor(
    client: WireClient,
    options: { readonly topicName: string; readonly perSecond: number; readonly payloadBytes: number },
  ) {
    this.#client = client
    this.topicName = options.topicName
    this.#perBeat = (options.perSecond * BEAT_MS) / 1000
    this.#filler = 'x'.repeat(options.payloadBytes)
  }

  /** Publishes until `end`, and resolves when all messages are acknowledged. */
  async run(): Promise<void> {
    let due = 0
    const beat = setInterval(() => {
      for (due += this.#perBeat; due >= 1 && this.#sent - this.acknowledged < WINDOW; due -= 1) this.#publish()
      due = Math.min(due, WINDOW)
    }, BEAT_MS)
    try {
      while (!this.#isEnding || this.acknowledged < this.#sent) {
        const packet = await this.#client.next()
        if (packet?.cmd !== 'puback') throw new Error(`in the place of PUBACK: ${JSON.stringify(packet)}`)
        if (codeOf(packet) >= 0x80) throw new Error(`refused: ${JSON.stringify(packet)}`)
        this.acknowledged += 1
        if (this.#isEnding) clearInterval(beat)
      }
    } finally {
      clearInterval(beat)
      this.#client.destroy()
    }
  }

  /** Ends after the next beat. */
  end(): void {
    this.#isEnding = true
  }

  #publish(): void {
    const payload = JSON.stringify({ sequence: this.#sent, filler: this.#filler })
    this.#sent += 1
    this.#client.send(this.#client.publishPacket(this.topicName, payload, 1))
  }
}

export interface Visit {
  readonly login: Login
  readonly version: Version
  readonly clientId: string
  /** 0: the Session ends with the connection, and the visit begins without a Session. */
  readonly expirySeconds: number
  readonly topicFilters: readonly string[]
  readonly staysMs: number
  /** Leaves early when this returns true. */
  readonly isDone?: () => boolean
  readonly take: (topicName: string, sequence: number, isRetained: boolean) => void
}

/**
 * Connects, subscribes if there is no Session, acknowledges and reports all messages, and
 * disconnects.
 */
export async function visit(address: Address, options: Visit): Promise<void> {
  const { version, expirySeconds } = options
  const client = await WireClient.open(address, version)
  try {
    const properties = version === 5 ? { properties: { sessionExpiryInterval: expirySeconds } } : {}
    client.send(
      client.connectPacket(options.login, { clientId: options.clientId, clean: expirySeconds === 0, ...properties }),
    )
    const connack = await client.next()
    if (connack?.cmd !== 'connack' || codeOf(connack) !== 0) throw new Error(`refused: ${JSON.stringify(connack)}`)
    if (!connack.sessionPresent)
      for (const topicFilter of options.topicFilters) await subscribe(client, topicFilter, options)
    const endsAtMs = Date.now() + options.staysMs
    const leaving = sleep(options.staysMs, undefined, { ref: false })
    while (Date.now() < endsAtMs && options.isDone?.() !== true) {
      // The answer to a ping comes behind all earlier packets, and sets the pace of an idle reader.
      const packets = await client.ping()
      if (packets === 'closed') throw new Error(`the connection of ${options.clientId} was closed`)
      for (const packet of packets) took(client, packet, options)
      await Promise.race([leaving, sleep(20)])
    }
  } finally {
    client.destroy()
  }
}

async function subscribe(client: WireClient, topicFilter: string, options: Visit): Promise<void> {
  client.send(client.subscribePacket(topicFilter, 1))
  for (;;) {
    const packet = await client.next()
    if (packet === undefined) throw new Error(`the connection of ${options.clientId} was closed`)
    if (packet.cmd !== 'suback') {
      took(client, packet, options)
      continue
    }
    if (Number(packet.granted[0]) >= 0x80) throw new Error(`${topicFilter} was refused`)
    return
  }
}

function took(client: WireClient, packet: Packet, { take }: Visit): void {
  if (packet.cmd !== 'publish') throw new Error(`what is this? ${JSON.stringify(packet)}`)
  const { topic, payload, retain, qos, messageId } = packet
  const { sequence } = JSON.parse(payload.toString()) as { readonly sequence: number }
  take(topic, sequence, retain)
  if (qos === 1) client.send({ cmd: 'puback', messageId: messageId ?? 0 })
}

function demand(code: number | 'closed'): void {
  if (code !== 0) throw new Error(`CONNECT was answered with ${code}`)
}
