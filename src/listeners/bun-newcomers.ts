/**
 * The connections of an HTTP server under Bun before their first request. The server listens by
 * `BunFront`, which bounds the addresses, and does the TLS.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { systemClock } from '../clock.ts'
import { given } from '../given.ts'
import type { AddressLimiter } from './address-limiter.ts'
import { BunFront } from './bun-front.ts'
import type { BunNewcomer } from './bun-newcomer.ts'
import { HandshakeTurns } from './handshake-turns.ts'
import { HttpConnections } from './http-connections.ts'
import type { ListenerOptions } from './listen.ts'
import type { NodeNewcomersOptions } from './node-newcomers.ts'
import type { TlsMaterial } from './tls-listener.ts'

export class BunNewcomers {
  readonly speaksTls = true
  readonly #limiter: AddressLimiter
  readonly #refused: () => void
  readonly #options: NodeNewcomersOptions
  readonly #turns: HandshakeTurns
  readonly #fronts: BunFront[] = []
  readonly #newcomers = new WeakMap<Duplex, BunNewcomer>()

  constructor(limiter: AddressLimiter, refused: () => void, options: NodeNewcomersOptions) {
    this.#limiter = limiter
    this.#refused = refused
    this.#options = options
    this.#turns = options.turns ?? new HandshakeTurns(systemClock)
  }

  /** The server's own functions for its port and its connections are replaced. */
  watch(server: Server, tls: TlsMaterial | undefined): void {
    const { proxies, boundsProxies = true } = this.#options
    const { maxConnections, timeout, headersTimeout, requestTimeout, keepAliveTimeout } = server
    const times = { timeout, headersTimeout, requestTimeout, keepAliveTimeout }
    const connections = new HttpConnections(server, times, systemClock)
    const front = new BunFront({
      limiter: this.#limiter,
      ...given({ proxies, tls }),
      boundsProxies,
      maximumOpen: maxConnections,
      turns: this.#turns,
      clock: systemClock,
      refused: this.#refused,
      handshakeFailed: () => {},
      accept: (newcomer) => {
        const stream = newcomer.toStream()
        this.#newcomers.set(stream, newcomer)
        connections.add(stream)
      },
    })
    this.#fronts.push(front)
    listenBy(server, front, connections)
  }

  setCertificate({ cert, key }: TlsMaterial): void {
    for (const front of this.#fronts) front.tls = { cert, key }
  }

  settled(socket: Socket): void {
    this.#newcomers.get(socket)?.settle()
  }

  isForwarded(socket: Socket): boolean {
    return this.#newcomers.get(socket)?.isForwarded === true
  }

  close(): void {
    for (const front of this.#fronts) void front.close()
  }
}

function listenBy(server: Server, front: BunFront, connections: HttpConnections): void {
  let isListening = false
  const replaced = {
    listen: (options: ListenerOptions) => {
      front.listen(options).then(
        () => {
          isListening = true
          server.emit('listening')
        },
        (error: unknown) => server.emit('error', error),
      )
      return server
    },
    address: () => ({
      address: front.address,
      port: front.port,
      family: front.address.includes(':') ? 'IPv6' : 'IPv4',
    }),
    close: (done?: () => void) => {
      isListening = false
      void front.close().then(() => {
        server.emit('close')
        done?.()
      })
      connections.closeIdle()
      return server
    },
    closeIdleConnections: () => connections.closeIdle(),
    closeAllConnections: () => connections.closeAll(),
  }
  Object.assign(server, replaced)
  Object.defineProperty(server, 'listening', { get: () => isListening })
}
