/**
 * TCP connections from one address that send nothing, or begin a TLS handshake and send no more.
 */
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { within } from './bounded-wait.ts'

/** The head of a TLS record that announces a ClientHello of 512 bytes, and its first bytes. */
export const HALF_A_HELLO = Buffer.from('1603010200010001fc0303', 'hex')
/** The number of connections that are opened before the first is awaited. */
const AT_ONCE = 500

export interface SilentOptions {
  readonly port: number
  readonly count: number
  /**
   * An address of the loopback network, so that its bounds are not shared with the test's other
   * clients.
   */
  readonly address: string
  /** The bytes that each connection sends; absent: none. */
  readonly firstBytes?: Buffer
}

export class SilentConnections {
  readonly #sockets = new Set<Socket>()
  #changed: () => void = () => {}

  /** Resolves when all have been connected or refused. */
  static async open(options: SilentOptions): Promise<SilentConnections> {
    const connections = new SilentConnections()
    for (let opened = 0; opened < options.count; opened += AT_ONCE) {
      const wave = Array.from({ length: Math.min(AT_ONCE, options.count - opened) }, () => connections.#open(options))
      await Promise.all(wave)
    }
    return connections
  }

  /** The number of connections that the other side has left open. */
  get size(): number {
    return this.#sockets.size
  }

  /** Resolves when the other side has closed all but `left` connections. */
  async closed(ms: number, left = 0): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#changed = () => {
      if (this.#sockets.size <= left) resolve()
    }
    this.#changed()
    await within(promise, `the end of all but ${left} of ${this.#sockets.size} silent connections`, ms)
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  [Symbol.dispose](): void {
    this.destroy()
  }

  async #open({ port, address, firstBytes }: SilentOptions): Promise<void> {
    const socket = connect({ port, host: '127.0.0.1', localAddress: address })
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.resume()
    const { promise, resolve } = Promise.withResolvers<void>()
    socket.on('connect', () => {
      if (firstBytes !== undefined) socket.write(firstBytes)
      resolve()
    })
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#changed()
      resolve()
    })
    await promise
  }
}
