/**
 * A port under Bun. It bounds the connections of each address, reads the header of the PROXY
 * protocol, and begins TLS in turns. Each connection that has come through is given to `accept`.
 */
import { isIP } from 'node:net'
import { lookup } from 'node:dns/promises'
import { networkOf } from '../client-network.ts'
import type { Clock } from '../clock.ts'
import type { AddressLimiter } from './address-limiter.ts'
import { bun } from './bun.ts'
import type { BunTlsOptions } from './bun.ts'
import { BunNewcomer } from './bun-newcomer.ts'
import { Deadlines } from './deadlines.ts'
import type { HandshakeTurns } from './handshake-turns.ts'
import type { ListenerOptions } from './listen.ts'
import { tcpHandlers } from './socket-owner.ts'
import type { OwnedSocket } from './socket-owner.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** The time for the header of the PROXY protocol. Stops connections that never send all of it. */
const HEADER_TIMEOUT_MS = 10_000
/**
 * The time from a connection's arrival to its turn: ten thousand clients that come back at once
 * wait for several seconds. Stops a crowd that waits for ever.
 */
const WAITING_TIMEOUT_MS = 30_000
/** The time for the TLS handshake. Stops connections that say nothing, or half of a ClientHello. */
const HANDSHAKE_TIMEOUT_MS = 10_000
/**
 * Connections that wait for their turn, or for the header of a proxy; beyond it the oldest is cut.
 * Stops strangers with many addresses, who would fill the port.
 */
const MAXIMUM_WAITING = 16_000
/**
 * Connections in their TLS handshake; beyond it the oldest is cut. A client ends its handshake with
 * its second packet, so the oldest are strangers. Each takes some 8 KB.
 */
const MAXIMUM_SHAKING_HANDS = 8_000

export interface BunFrontOptions {
  /** The bounds of an address; absent: none. */
  readonly limiter?: AddressLimiter
  /** Proxies that name their clients by the PROXY protocol. */
  readonly proxies?: TrustedProxies
  /** Whether the bounds hold for the address of a proxy that names no client. */
  readonly boundsProxies: boolean
  /** Connections at the same time; beyond it new ones are closed at once. Absent: no bound. */
  readonly maximumOpen?: number
  /** The certificate, and the protocols of ALPN; absent: no TLS. */
  readonly tls?: BunTlsOptions
  readonly turns: HandshakeTurns
  readonly clock: Clock
  /** Called for each connection beyond the bounds. */
  readonly refused: () => void
  /** Called for each handshake that has failed. */
  readonly handshakeFailed: (error: Error | undefined, address: string) => void
  /**
   * Takes a connection that has come through. `settle` must be called for it when it has finished
   * its first step; until then it counts as silent.
   */
  readonly accept: (newcomer: BunNewcomer) => void
}

export class BunFront {
  readonly options: BunFrontOptions
  tls: BunTlsOptions | undefined
  readonly #silent = new Set<BunNewcomer>()
  readonly #readingHeaders: Deadlines<BunNewcomer>
  readonly #waiting: Deadlines<BunNewcomer>
  readonly #shakingHands: Deadlines<BunNewcomer>
  #listener: { readonly port: number; stop(closesConnections: boolean): void } | undefined = undefined
  #address = ''
  #isClosing = false
  #open = 0
  /** Resolved when the port is closing and its last connection is closed. */
  readonly #empty = Promise.withResolvers<void>()

  constructor(options: BunFrontOptions) {
    this.options = options
    this.tls = options.tls
    const deadlines = (durationMs: number, maximum: number): Deadlines<BunNewcomer> =>
      new Deadlines({
        durationMs,
        maximum,
        clock: options.clock,
        cut: (newcomer, reason) => {
          if (reason === 'crowded') options.refused()
          newcomer.cut()
        },
      })
    this.#readingHeaders = deadlines(HEADER_TIMEOUT_MS, MAXIMUM_WAITING)
    this.#waiting = deadlines(WAITING_TIMEOUT_MS, MAXIMUM_WAITING)
    this.#shakingHands = deadlines(HANDSHAKE_TIMEOUT_MS, MAXIMUM_SHAKING_HANDS)
  }

  /** Binds the port. Throws the system's error when the port can't be had. */
  async listen({ host, port }: ListenerOptions): Promise<void> {
    if (bun === undefined) throw new Error('a port of Bun needs Bun')
    const address = isIP(host) === 0 ? (await lookup(host)).address : host
    this.#listener = bun.listen({
      hostname: address,
      port,
      allowHalfOpen: true,
      socket: tcpHandlers(
        (socket) => this.#arrive(socket),
        this.tls === undefined || this.options.proxies !== undefined,
      ),
    })
    this.#address = address
  }

  get port(): number {
    return this.#listener?.port ?? 0
  }

  get address(): string {
    return this.#address
  }

  /** Connections that are open, silent ones included. */
  get open(): number {
    return this.#open
  }

  /**
   * Takes no further connections, and cuts the silent ones. Resolves when all others are closed.
   */
  close(): Promise<void> {
    this.#isClosing = true
    this.#listener?.stop(false)
    for (const newcomer of this.#silent) newcomer.cut()
    if (this.#open === 0) this.#empty.resolve()
    return this.#empty.promise
  }

  /** The connection's first bytes are needed: it has so long to send its header. */
  readsHeader(newcomer: BunNewcomer): void {
    this.#readingHeaders.add(newcomer)
  }

  /** Lets a connection in whose client is known: to its turn for TLS, or to `accept`. */
  admit(newcomer: BunNewcomer): void {
    this.#readingHeaders.remove(newcomer)
    const { limiter, clock, proxies, boundsProxies, turns, refused } = this.options
    const { address, port } = newcomer.client
    const isBounded = limiter !== undefined && (boundsProxies || proxies?.has(address) !== true)
    if (isBounded) {
      if (!limiter.admit(address, port, clock.steady())) {
        refused()
        newcomer.cut()
        return
      }
      newcomer.isBounded = true
    }
    if (this.tls === undefined) this.options.accept(newcomer)
    else {
      this.#waiting.add(newcomer)
      turns.wait(networkOf(address), newcomer)
    }
  }

  /** The TLS of the connection begins. */
  shakesHands(newcomer: BunNewcomer): void {
    this.#waiting.remove(newcomer)
    this.#shakingHands.add(newcomer)
  }

  /** The TLS handshake has succeeded. */
  secured(newcomer: BunNewcomer): void {
    this.#shakingHands.remove(newcomer)
    if (this.#isClosing) newcomer.cut()
    else this.options.accept(newcomer)
  }

  settled(newcomer: BunNewcomer): void {
    if (!this.#silent.delete(newcomer) || !newcomer.isBounded) return
    this.options.limiter?.settled(newcomer.client.address, newcomer.client.port)
  }

  left(newcomer: BunNewcomer): void {
    const { address, port } = newcomer.client
    this.#silent.delete(newcomer)
    this.#readingHeaders.remove(newcomer)
    this.#waiting.remove(newcomer)
    this.#shakingHands.remove(newcomer)
    if (newcomer.isBounded) this.options.limiter?.closed(address, port)
    this.#open -= 1
    if (this.#isClosing && this.#open === 0) this.#empty.resolve()
  }

  #arrive(socket: OwnedSocket): void {
    this.#open += 1
    const newcomer = new BunNewcomer(this, socket)
    this.#silent.add(newcomer)
    const { maximumOpen = Infinity, proxies } = this.options
    if (this.#isClosing || this.#open > maximumOpen) newcomer.cut()
    else if (proxies?.has(socket.remoteAddress) === true) newcomer.readHeader()
    else {
      // The ClientHello stays in the system's buffer until TLS begins.
      if (this.tls !== undefined) socket.pause()
      this.admit(newcomer)
    }
  }
}
