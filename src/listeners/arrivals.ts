/**
 * Connections from their arrival to the end of their TLS handshake. TLS begins when the whole
 * ClientHello has come, and in turns. A connection that never sends its ClientHello is a TCP socket
 * and no more: it takes a tenth of the memory that it would take with TLS.
 */
import type { Socket } from 'node:net'
import { networkOf } from '../client-network.ts'
import { later } from '../clock.ts'
import type { Clock, SteadyMs } from '../clock.ts'
import { MAXIMUM_HELLO_BYTES, stateOfHello } from './client-hello.ts'
import { Deadlines } from './deadlines.ts'
import type { HandshakeTurns, WaitingHandshake } from './handshake-turns.ts'

/**
 * The time from the arrival to the beginning of TLS. Stops connections that say nothing, or half of
 * a ClientHello.
 */
const DEADLINE_MS = 10_000
/** The time that the listeners let TLS have for the handshake. */
export const HANDSHAKE_TIMEOUT_MS = 10_000
/**
 * Connections without TLS yet; beyond it the oldest is cut. A client sends its ClientHello at once,
 * so the oldest are strangers. Stops strangers with many addresses, who would fill the port.
 */
const MAXIMUM_WAITING = 8_000
/**
 * Connections in their TLS handshake; beyond it the oldest is cut. A client ends its handshake with
 * its second packet. Stops strangers with many addresses, who would fill the memory: each takes up
 * to 100 KB.
 */
const MAXIMUM_SHAKING_HANDS = 2_000

const NOTHING: Buffer = Buffer.alloc(0)

export interface ArrivalsOptions {
  readonly turns: HandshakeTurns
  readonly clock: Clock
  /** Called for each connection that is cut because others came. */
  readonly refused: () => void
}

export class Arrivals {
  readonly #turns: HandshakeTurns
  readonly #clock: Clock
  readonly #refused: () => void
  /** Without TLS yet. */
  readonly #waiting: Deadlines<Arrival>
  /** In their TLS handshake, in the order of its beginning. */
  readonly #shakingHands = new Map<Socket, Arrival>()
  constructor({ turns, clock, refused }: ArrivalsOptions) {
    this.#turns = turns
    this.#clock = clock
    this.#refused = refused
    this.#waiting = new Deadlines({
      durationMs: DEADLINE_MS,
      maximum: MAXIMUM_WAITING,
      clock,
      cut: (arrival, reason) => {
        if (reason === 'crowded') refused()
        arrival.cut()
      },
    })
  }

  /**
   * Calls `begin` in its turn, when the whole ClientHello has come. The socket's bytes are then to
   * be read from the socket. A socket that ends or fails before, or sends too much, is destroyed.
   * After `begin`, `secured` must follow when the handshake is over, unless the socket closes.
   */
  enter(socket: Socket, address: string, begin: () => void): void {
    const arrival: Arrival = new Arrival(socket, {
      isWhole: () => this.#turns.wait(networkOf(address), arrival),
      begins: () => {
        this.#waiting.remove(arrival)
        this.#shakesHands(socket, arrival)
        begin()
      },
      isOver: () => {
        this.#waiting.remove(arrival)
        this.#shakingHands.delete(socket)
      },
    })
    this.#waiting.add(arrival)
  }

  /** The TLS handshake over this TCP socket has succeeded. */
  secured(socket: Socket): void {
    this.#shakingHands.get(socket)?.leave()
  }

  #shakesHands(socket: Socket, arrival: Arrival): void {
    const now = this.#clock.steady()
    arrival.endsAt = later(now, HANDSHAKE_TIMEOUT_MS)
    for (const earlier of this.#shakingHands.values()) {
      if (earlier.endsAt > now) break
      // The handshake is over, and was not reported: a client may have the same port behind two
      // proxies. An established connection must never be cut for a handshake.
      earlier.leave()
    }
    if (this.#shakingHands.size >= MAXIMUM_SHAKING_HANDS) this.#cutOldest()
    this.#shakingHands.set(socket, arrival)
  }

  #cutOldest(): void {
    for (const oldest of this.#shakingHands.values()) {
      this.#refused()
      oldest.cut()
      return
    }
  }
}

interface ArrivalEvents {
  /** The whole ClientHello has come. */
  readonly isWhole: () => void
  /** Its turn has come, and TLS is to take the socket. */
  readonly begins: () => void
  /** The handshake is over, or the connection. */
  readonly isOver: () => void
}

class Arrival implements WaitingHandshake {
  /** The deadline of its handshake. */
  endsAt = 0 as SteadyMs
  readonly #socket: Socket
  readonly #events: ArrivalEvents
  #bytes = NOTHING
  #isWhole = false

  constructor(socket: Socket, events: ArrivalEvents) {
    this.#socket = socket
    this.#events = events
    socket.on('readable', this.#readable)
    socket.on('error', this.cut)
    socket.on('end', this.cut)
    socket.on('close', events.isOver)
  }

  get isOver(): boolean {
    return this.#socket.destroyed
  }

  begin(): void {
    const socket = this.#socket
    socket.off('readable', this.#readable)
    socket.off('error', this.cut)
    socket.off('end', this.cut)
    socket.unshift(this.#bytes)
    // The connection would keep the bytes until its handshake is over.
    this.#bytes = NOTHING
    this.#events.begins()
  }

  /** Destroys the connection, and gives its place free at once. */
  readonly cut = (): void => {
    this.leave()
    this.#socket.destroy()
  }

  /** Frees the place of the connection. */
  leave(): void {
    this.#socket.off('close', this.#events.isOver)
    this.#events.isOver()
  }

  readonly #readable = (): void => {
    // The stream tells of bytes once, and gives them chunk by chunk.
    for (let chunk = this.#read(); chunk !== null; chunk = this.#read()) {
      this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
      if (this.#bytes.length > MAXIMUM_HELLO_BYTES) break
    }
    const state = stateOfHello(this.#bytes)
    if (state === 'refused') this.cut()
    else if (state === 'whole' && !this.#isWhole) {
      this.#isWhole = true
      this.#events.isWhole()
    }
  }

  #read(): Buffer | null {
    return this.#socket.read() as Buffer | null
  }
}
