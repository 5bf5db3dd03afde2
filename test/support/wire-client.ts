/**
 * A client of single MQTT packets over TLS, encoded and decoded by mqtt-packet. It can send packets
 * that no polite client sends.
 */
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { generate, parser } from 'mqtt-packet'
import type { IConnectPacket, ISubackPacket, Packet, Parser } from 'mqtt-packet'
import { within } from './bounded-wait.ts'
import type { RunningService } from './running-service.ts'

export type Version = 4 | 5

export interface Login {
  readonly username?: string | undefined
  readonly password?: Buffer | string | undefined
}

/** TLS sessions, to resume handshakes: a table of thousands of cases needs few full handshakes. */
const sessions = new Map<number, Buffer>()
let opened = 0

export class WireClient {
  readonly version: Version
  readonly #socket: TLSSocket
  readonly #parser: Parser
  readonly #packets: Packet[] = []
  #isClosed = false
  #wake: () => void = () => {}
  #messageId = 0
  /** For the message of a wait that is too long. */
  #lastSent = 'nothing'

  /** Connects and verifies the server within the time (ms); no MQTT packet is sent yet. */
  static async open(
    service: Pick<RunningService, 'mqttsPort' | 'ca'>,
    version: Version,
    ms?: number,
  ): Promise<WireClient> {
    const { mqttsPort: port, ca } = service
    opened += 1
    // Each address has its own bound on new connections; the loopback network has many addresses.
    const localAddress = `127.0.0.${2 + Math.floor(opened / 1000)}`
    const session = sessions.get(port)
    const socket = connect({
      socket: connectTcp({ port, host: '127.0.0.1', localAddress }),
      servername: 'localhost',
      ca,
      ...(session === undefined ? {} : { session }),
    })
    socket.on('session', (ticket: Buffer) => sessions.set(port, ticket))
    try {
      await within(once(socket, 'secureConnect'), 'the TLS handshake', ms)
    } catch (error) {
      // The handshake that comes too late may fail as well.
      socket.on('error', () => {}).destroy()
      throw error
    }
    return new WireClient(socket, version)
  }

  private constructor(socket: TLSSocket, version: Version) {
    this.version = version
    this.#socket = socket
    this.#parser = parser({ protocolVersion: version })
    this.#parser.on('packet', (packet: Packet) => {
      this.#packets.push(packet)
      this.#wake()
    })
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#parser.parse(chunk))
    // A reset counts as an end like any other.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#isClosed = true
      this.#wake()
    })
  }

  get socket(): TLSSocket {
    return this.#socket
  }

  connectPacket(login: Login, fields: Partial<IConnectPacket> = {}): Packet {
    const { username, password } = login
    return {
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: this.version,
      clean: true,
      keepalive: 0,
      clientId: `wire-${(opened += 1)}`,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password: Buffer.from(password) }),
      ...fields,
    }
  }

  /** Sends CONNECT. Returns the code of CONNACK; 'closed': there was none. */
  async connect(login: Login, fields: Partial<IConnectPacket> = {}): Promise<number | 'closed'> {
    this.send(this.connectPacket(login, fields))
    const packet = await this.next()
    if (packet === undefined) return 'closed'
    if (packet.cmd !== 'connack') throw new Error(`in the place of CONNACK: ${JSON.stringify(packet)}`)
    return codeOf(packet)
  }

  /** Sends all packets in one write. */
  send(...packets: Packet[]): void {
    if (this.#isClosed) return
    this.#lastSent = packets.map(nameOf).join(', ')
    this.#socket.write(Buffer.concat(packets.map((packet) => generate(packet, { protocolVersion: this.version }))))
  }

  subscribePacket(topicFilter: string, qos: 0 | 1 | 2 = 1): Packet {
    const messageId = this.#nextId()
    const options = this.version === 5 ? { nl: false, rap: false, rh: 0 } : {}
    return { cmd: 'subscribe', messageId, subscriptions: [{ topic: topicFilter, qos, ...options }] }
  }

  publishPacket(topicName: string, payload: string | Buffer, qos: 0 | 1 | 2, retain = false): Packet {
    const packet = { cmd: 'publish', topic: topicName, payload, qos, retain, dup: false } as const
    return qos === 0 ? packet : { ...packet, messageId: this.#nextId() }
  }

  /** Subscribes to one Topic Filter. Returns its code in SUBACK. */
  async subscribe(topicFilter: string, qos: 0 | 1 | 2 = 1): Promise<number> {
    return Number((await this.suback(topicFilter, qos)).granted[0])
  }

  /** Subscribes. Returns the whole SUBACK. */
  async suback(topicFilter: string, qos: 0 | 1 | 2 = 1): Promise<ISubackPacket> {
    this.send(this.subscribePacket(topicFilter, qos))
    const packet = await this.next()
    if (packet?.cmd !== 'suback') throw new Error(`in the place of SUBACK: ${JSON.stringify(packet)}`)
    return packet
  }

  /** The next packet; undefined: the connection is closed. */
  async next(): Promise<Packet | undefined> {
    return within(this.#take(), `a packet or the end of the connection, after ${this.#lastSent}`)
  }

  /** All packets up to the end of the connection, which must come. */
  async rest(): Promise<Packet[]> {
    const packets: Packet[] = []
    for (let packet = await this.next(); packet !== undefined; packet = await this.next()) packets.push(packet)
    return packets
  }

  /** The packets before the answer to a PINGREQ; 'closed': the connection ended. */
  async ping(): Promise<Packet[] | 'closed'> {
    this.send({ cmd: 'pingreq' })
    const packets: Packet[] = []
    for (;;) {
      const packet = await this.next()
      if (packet === undefined) return 'closed'
      if (packet.cmd === 'pingresp') return packets
      packets.push(packet)
    }
  }

  destroy(): void {
    this.#socket.destroy()
  }

  [Symbol.dispose](): void {
    this.destroy()
  }

  async #take(): Promise<Packet | undefined> {
    for (;;) {
      const packet = this.#packets.shift()
      if (packet !== undefined) return packet
      if (this.#isClosed) return undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #nextId(): number {
    this.#messageId = (this.#messageId % 65_535) + 1
    return this.#messageId
  }
}

/** The type of a packet, with its topic and Packet Identifier where it has them. */
function nameOf(packet: Packet): string {
  const topic = 'topic' in packet ? ` to ${packet.topic}` : ''
  return `${packet.cmd}${topic} ${packet.messageId ?? ''}`.trim()
}

/**
 * The Reason Code, or MQTT 3.1.1's return code, of a packet that has one; 0 if it leaves it out.
 */
export function codeOf(packet: Packet): number {
  if ('reasonCode' in packet && typeof packet.reasonCode === 'number') return packet.reasonCode
  return 'returnCode' in packet && typeof packet.returnCode === 'number' ? packet.returnCode : 0
}

/** The Reason String of a packet, if it has one. */
export function reasonOf(packet: Packet | undefined): string | undefined {
  const properties = packet !== undefined && 'properties' in packet ? packet.properties : undefined
  return properties !== undefined && 'reasonString' in properties ? properties.reasonString : undefined
}
