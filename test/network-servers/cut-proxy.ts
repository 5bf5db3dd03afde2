/**
 * The network path between two programs: TCP by way of this process, which can cut it, hold it
 * still and lead it elsewhere.
 */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'

export class CutProxy {
  readonly #server: Server
  readonly #pairs = new Set<readonly [near: Socket, far: Socket]>()
  #targetPort: number
  #state: 'open' | 'cut' | 'silent' = 'open'

  /** Listens on a free port of the loopback interface, and on the same one until it is closed. */
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

  /** How many connections pass now. */
  get connections(): number {
    return this.#pairs.size
  }

  /** Where connections go from now on: a server that came back on another port. */
  leadTo(targetPort: number): void {
    this.#targetPort = targetPort
  }

  /** Ends every connection with a reset, and those that come until `mend`. */
  cut(): void {
    this.#state = 'cut'
    this.#reset()
  }

  /** Nothing passes any more, nobody is told; connections that come are not answered either. */
  silence(): void {
    this.#state = 'silent'
    for (const sockets of this.#pairs) for (const socket of sockets) socket.pause()
  }

  /**
   * New connections pass. Those that were held still are ended with a reset, as a path that lost
   * their state would.
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

/** A socket that is ending already can't be reset any more: Node would never close it. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
