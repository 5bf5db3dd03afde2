/**
 * The open connections of an HTTP server whose connections come from `BunFront`. It keeps the
 * server's own times for them, because a server of Bun does so only for connections that it has
 * accepted itself.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock, SteadyMs } from '../clock.ts'

/** How often late connections are looked for. */
const CHECKING_INTERVAL_MS = 5_000

/** A stream that counts its bytes, as a net.Socket does. */
export interface CountingStream extends Duplex {
  readonly bytesRead: number
  readonly bytesWritten: number
}

/** The times of a server, in ms. */
type Times = Pick<Server, 'timeout' | 'headersTimeout' | 'requestTimeout' | 'keepAliveTimeout'>

interface Connection {
  readonly stream: CountingStream
  /** Requests whose answers are not complete. */
  unanswered: number
  /** The last request. */
  request: IncomingMessage | undefined
  /** The beginning of its step: the wait for a request, or the last request. */
  since: SteadyMs
  /** Bytes that had come when it began to wait for a request. */
  readBefore: number
  /** All its bytes, when they were last counted; and when they were last found changed. */
  moved: number
  movedAt: SteadyMs
}

export class HttpConnections {
  readonly #server: Server
  readonly #times: Times
  readonly #clock: Clock
  readonly #connections = new Map<Duplex, Connection>()
  #stopCheck: (() => void) | undefined = undefined

  constructor(server: Server, times: Times, clock: Clock) {
    this.#server = server
    this.#times = times
    this.#clock = clock
    server.on('request', (request: IncomingMessage, response: ServerResponse) => this.#asks(request, response))
    // The part that speaks the other protocol ends its connection.
    server.on('upgrade', ({ socket }: IncomingMessage) => void this.#connections.delete(socket))
  }

  /** Gives the server a connection. */
  add(stream: CountingStream): void {
    const now = this.#clock.steady()
    this.#connections.set(stream, {
      stream,
      unanswered: 0,
      request: undefined,
      since: now,
      readBefore: 0,
      moved: 0,
      movedAt: now,
    })
    stream.once('close', () => this.#remove(stream))
    this.#stopCheck ??= this.#clock.after(CHECKING_INTERVAL_MS, () => this.#check())
    this.#server.emit('connection', stream)
  }

  /** Closes the connections that have no request under way. */
  closeIdle(): void {
    for (const { stream, unanswered } of this.#connections.values()) if (unanswered === 0) stream.destroy()
  }

  closeAll(): void {
    for (const stream of this.#connections.keys()) stream.destroy()
  }

  #remove(stream: Duplex): void {
    this.#connections.delete(stream)
    if (this.#connections.size > 0) return
    this.#stopCheck?.()
    this.#stopCheck = undefined
  }

  #asks(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket)
    if (connection === undefined) return
    connection.unanswered += 1
    connection.request = request
    connection.since = this.#clock.steady()
    response.once('close', () => {
      connection.unanswered -= 1
      connection.since = this.#clock.steady()
      connection.readBefore = connection.stream.bytesRead
    })
  }

  #check(): void {
    this.#stopCheck = this.#clock.after(CHECKING_INTERVAL_MS, () => this.#check())
    const now = this.#clock.steady()
    for (const connection of this.#connections.values()) this.#checkOne(connection, now)
  }

  #checkOne(connection: Connection, now: SteadyMs): void {
    const { stream, unanswered, request, since, readBefore } = connection
    const { timeout, headersTimeout, requestTimeout, keepAliveTimeout } = this.#times
    const moved = stream.bytesRead + stream.bytesWritten
    if (moved !== connection.moved) {
      connection.moved = moved
      connection.movedAt = now
    }
    if (isOver(timeout, connection.movedAt, now)) stream.destroy()
    else if (unanswered > 0) {
      if (request?.complete === false && isOver(requestTimeout, since, now)) this.#tellLate(stream)
    } else if (request === undefined || stream.bytesRead > readBefore) {
      if (isOver(headersTimeout, since, now)) this.#tellLate(stream)
    } else if (isOver(keepAliveTimeout, since, now)) stream.destroy()
  }

  #tellLate(stream: Duplex): void {
    const error = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
    this.#server.emit('clientError', error, stream)
  }
}

/** Whether `ms` have passed; 0 means no limit. */
function isOver(ms: number, since: SteadyMs, now: SteadyMs): boolean {
  return ms > 0 && now - since >= ms
}
