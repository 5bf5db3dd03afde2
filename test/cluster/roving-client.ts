/**
 * A client that goes to another node when its connection ends, or when its node says nothing for
 * too long. It keeps its Session.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Packet } from 'mqtt-packet'
import { WireClient, codeOf } from '../support/wire-client.ts'
import type { Login, Version } from '../support/wire-client.ts'
import type { ClusterNode } from './cluster-node.ts'

/** The time between two attempts, ms. */
const RETRY_MS = 200
/** The longest wait for a handshake or for CONNACK, ms. */
const OPEN_MS = 3_000
const PING_MS = 1_000
/** A node that says nothing for so long has lost the client, ms. */
const SILENCE_MS = 4_000
const SESSION_SECONDS = 3_600
/** CONNACK tells of a fault that another attempt may not meet (MQTT 5, and 3.1.1). */
const PASSING_CODES = new Set([0x88, 0x89, 0x8b, 0x97, 0x9f, 3])

export interface RovingOptions {
  /** The Client Identifier. */
  readonly name: string
  readonly version: Version
  readonly login: Login
  /** The node that the client prefers, by its number. */
  readonly home: number
  readonly nodes: readonly ClusterNode[]
}

export abstract class RovingClient {
  readonly name: string
  readonly version: Version
  readonly home: number
  readonly #login: Login
  readonly #nodes: readonly ClusterNode[]
  #client: WireClient | undefined
  #node: ClusterNode | undefined
  #connectedAtMs = -Infinity
  #heardAtMs = 0
  #place: number
  #isOver = false
  #hadSession = false

  constructor({ name, version, login, home, nodes }: RovingOptions) {
    this.name = name
    this.version = version
    this.home = home
    this.#login = login
    this.#nodes = nodes
    this.#place = home
  }

  /** The node that has accepted the client; undefined while it has no connection. */
  get node(): ClusterNode | undefined {
    return this.#node
  }

  /** The time of the last CONNACK, by `performance.now()`. */
  get connectedAtMs(): number {
    return this.#connectedAtMs
  }

  /** Connects, again and again, until `stop`. Rejects when a node refuses the client for good. */
  async run(): Promise<void> {
    while (!this.#isOver) {
      const node = this.#nodes[this.#place % this.#nodes.length] as ClusterNode
      const client = await this.#open(node)
      if (client === undefined) {
        this.#place += 1
        await sleep(RETRY_MS)
        continue
      }
      await this.#serve(client)
      client.destroy()
    }
  }

  /** Ends the connection. The client goes to its own node, or to another one if that is away. */
  goHome(): void {
    if (this.#node === this.#nodes[this.home]) return
    this.goTo(this.home)
  }

  /** Ends the connection. The client goes to this node, by its number, if it can. */
  goTo(place: number): void {
    this.#place = place
    this.#client?.destroy()
  }

  /** Ends the client, whose Session stays. */
  stop(): void {
    this.#isOver = true
    this.#client?.destroy()
  }

  /** The client has its Session, which is an earlier one or not. */
  protected abstract connected(isSessionPresent: boolean, hadSession: boolean): void

  protected abstract took(packet: Packet): void

  protected abstract disconnected(): void

  /** The client has sent a PINGREQ by itself. */
  protected pinged(): void {}

  protected send(...packets: Packet[]): void {
    this.#client?.send(...packets)
  }

  protected get wire(): WireClient | undefined {
    return this.#client
  }

  /** Resolves with a connection after CONNACK; undefined: the node did not accept the client. */
  async #open(node: ClusterNode): Promise<WireClient | undefined> {
    let client: WireClient
    try {
      client = await WireClient.open(node, this.version, OPEN_MS)
    } catch {
      return undefined
    }
    const timer = setTimeout(() => client.destroy(), OPEN_MS)
    try {
      const properties = this.version === 5 ? { properties: { sessionExpiryInterval: SESSION_SECONDS } } : {}
      client.send(client.connectPacket(this.#login, { clientId: this.name, clean: false, ...properties }))
      const connack = await client.next()
      if (connack === undefined || this.#isOver) return undefined
      if (connack.cmd !== 'connack') throw new Error(`${this.name}: ${connack.cmd} in the place of CONNACK`)
      const code = codeOf(connack)
      if (code !== 0 && !PASSING_CODES.has(code)) throw new Error(`${this.name}: refused with ${code} by ${node.name}`)
      if (code !== 0) {
        client.destroy()
        return undefined
      }
      this.#client = client
      this.#node = node
      this.#connectedAtMs = performance.now()
      this.connected(connack.sessionPresent, this.#hadSession)
      this.#hadSession = true
      return client
    } finally {
      clearTimeout(timer)
    }
  }

  /** Takes packets until the connection ends, or the node is silent for too long. */
  async #serve(client: WireClient): Promise<void> {
    this.#heardAtMs = performance.now()
    const pings = setInterval(() => {
      if (performance.now() - this.#heardAtMs > SILENCE_MS) client.destroy()
      else {
        client.send({ cmd: 'pingreq' })
        this.pinged()
      }
    }, PING_MS)
    try {
      for (let packet = await client.next(); packet !== undefined; packet = await client.next()) {
        this.#heardAtMs = performance.now()
        this.took(packet)
      }
    } finally {
      clearInterval(pings)
      // A client that was told where to go goes there. Others look for another node.
      if (this.#nodes[this.#place % this.#nodes.length] === this.#node) this.#place += 1
      this.#client = undefined
      this.#node = undefined
      this.disconnected()
    }
  }
}
