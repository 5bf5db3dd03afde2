/**
 * The network path between two programs: TCP through this process, which can cut it, stop it and
 * lead it elsewhere.
 */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'

export class CutProxy {
  readonly #server: Server
  readonly #pairs = new Set<readonly [near: Socket, far: Socket]>()
  #targetPort: number
  #state: 'open' | 'cut' | 'silent' = 'open'

  /** Listens on a free port of the loopback interface, and keeps this port until it is closed. */
  static async open(targetPort: number): Promise<CutProxy> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new CutProxy(server, targetPort)
  }

  private constructor(server: Server, targetPort: number) {
    this.#server = server
    this.#targetPort = targetPort
    server.on('connection', (near) => this.#join(near))
  }

  get port(): number {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy is closed')
    return address.port
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#pairs.size
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  /** The target of new connections from now on, for a server that came back on another port. */
  leadTo(targetPort: number): void {
    this.#targetPort = targetPort
  }

  /** Resets every connection, and those that come until `mend`. */
  cut(): void {
    this.#state = 'cut'
    this.#reset()
  }

  /** Stops all bytes without telling either side; new connections are not answered. */
  silence(): void {
    this.#state = 'silent'
    for (const sockets of this.#pairs) for (const socket of sockets) socket.pause()
  }

  /**
   * Lets new connections pass. Stopped connections are reset, as by a path that lost their state.
   */
  mend(): void {
    this.#state = 'open'
    this.#reset()
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(near: Socket): void {
    near.on('error', () => {})
    if (this.#state === 'cut') {
      reset(near)
      return
    }
    const far = connect({ port: this.#targetPort, host: '127.0.0.1' })
    const pair = [near, far] as const
    this.#pairs.add(pair)
    far.on('error', () => reset(near))
    for (const [one, other] of [pair, [far, near] as const]) {
      one.setNoDelay(true)
      one.pipe(other)
      one.on('close', () => {
        this.#pairs.delete(pair)
        other.destroy()
      })
    }
    if (this.#state === 'silent') for (const socket of pair) socket.pause()
  }

  #reset(): void {
    for (const [near, far] of this.#pairs) {
      reset(near)
      reset(far)
    }
  }
}

/** A socket that is already ending can't be reset: Node would never close it. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
