/**
 * The bytes that a client sends: cut into packets, which are handled one after the other. Reading
 * stops while a packet is being judged, and at the bounds per second.
 */
import type { SteadyMs } from '../../clock.ts'
import { PacketReader } from '../../mqtt/packet-reader.ts'
import type { ClientPacket, ProtocolVersion } from '../../mqtt/packet.ts'
import type { Transport } from '../ports/transport.ts'
import type { ConnectionHost } from './connection-host.ts'
import { RateWindow } from './rate-window.ts'
import type { Traffic } from './traffic.ts'

/**
 * Bytes that may wait, parsed or not, while a packet before them is being judged; beyond, reading
 * stops.
 */
const MAXIMUM_WAITING_BYTES = 65_536

/** The connection whose bytes are read. */
export interface InputOwner {
  readonly isClosed: boolean
  /** True: the client does not read, so nothing is read of it. */
  readonly congested: boolean
  /** True: the connection ends once everything that was read is handled. */
  readonly isEnding: boolean
  /** Handles one packet; a promise when the next one has to wait for it. */
  handle(packet: ClientPacket): Promise<void> | undefined
  /** A packet is malformed, or its handling failed. */
  failed(error: unknown): void
  /** A bound per second is reached: calls `unthrottle` with the next tick. */
  throttle(): void
  /** Everything that may be read was read, and the connection is ending. */
  endLater(): void
}

type InputHost = Pick<ConnectionHost<never>, 'clock' | 'limits' | 'counters' | 'second'>

export interface ConnectionInputOptions {
  readonly host: InputHost
  readonly transport: Transport
  readonly traffic: Traffic
  readonly owner: InputOwner
}

export class ConnectionInput {
  /** When the client sent its last packet, or was excused for its silence. */
  lastPacketAt: SteadyMs
  readonly #host: InputHost
  readonly #transport: Transport
  readonly #traffic: Traffic
  readonly #owner: InputOwner
  readonly #reader: PacketReader<'server'>
  readonly #window: RateWindow
  /** The number of promises that the next packet waits for. */
  #waits = 0
  #throttled = false
  #paused = false

  constructor({ host, transport, traffic, owner }: ConnectionInputOptions) {
    const { clock, limits } = host
    this.#host = host
    this.#transport = transport
    this.#traffic = traffic
    this.#owner = owner
    this.#reader = new PacketReader({ role: 'server', maximumPacketSizeBytes: limits.maximumConnectPacketSizeBytes })
    this.#window = new RateWindow(limits.maximumBytesPerSecond)
    this.lastPacketAt = clock.steady()
  }

  /** The version that CONNECT names; undefined before it is read. */
  get protocolVersion(): ProtocolVersion | undefined {
    return this.#reader.protocolVersion
  }

  set protocolVersion(version: ProtocolVersion | undefined) {
    this.#reader.protocolVersion = version
  }

  /** PUBLISH packets a second that the client may send, on average over a second. */
  set maximumPublishesPerSecond(maximum: number) {
    this.#window.maximumPublishes = maximum
  }

  /** True while no packet is read: the one before it is being judged, or a bound is reached. */
  get isHeldUp(): boolean {
    return this.#waits > 0 || this.#throttled
  }

  /** CONNECT was accepted: packets may be larger from now on. */
  accepted(): void {
    this.#reader.maximumPacketSizeBytes = this.#host.limits.maximumPacketSizeBytes
  }

  /** Takes bytes of the transport. */
  data(chunk: Buffer): void {
    const host = this.#host
    host.counters.bytesReceived += chunk.length
    this.#traffic.turn(host.second)
    this.#traffic.bytesIn += chunk.length
    this.#count(0, chunk.length)
    this.#reader.push(chunk)
    this.#read()
    if (this.isHeldUp && this.#reader.bufferedBytes > MAXIMUM_WAITING_BYTES) this.pause()
  }

  /**
   * Packets are handled in order: the next packet waits for the promise. Nothing more than a buffer
   * is read meanwhile.
   */
  waitFor(judged: Promise<void>): void {
    this.#waits += 1
    judged.then(
      () => {
        this.#waits -= 1
        this.resume()
      },
      (error: unknown) => this.#owner.failed(error),
    )
  }

  /** A second has begun: reading goes on. */
  unthrottle(): void {
    this.#throttled = false
    this.resume()
  }

  /** Reads on, unless something still holds the input up. */
  resume(): void {
    const owner = this.#owner
    if (owner.isClosed || this.isHeldUp) return
    this.#read()
    if (owner.isEnding) owner.endLater()
    else if (!this.isHeldUp && !owner.congested && this.#paused) {
      this.#paused = false
      this.#transport.resume()
    }
  }

  /** Lets the transport stop reading. */
  pause(): void {
    if (this.#paused || this.#owner.isClosed) return
    this.#paused = true
    this.#transport.pause()
  }

  #read(): void {
    const owner = this.#owner
    const now = this.#host.clock.steady()
    try {
      while (this.#waits === 0 && !this.#throttled && !owner.isClosed) {
        const packet = this.#reader.next()
        if (packet === undefined) return
        this.lastPacketAt = now
        if (packet.type === 'publish') {
          this.#traffic.messagesIn += 1
          this.#count(1, 0)
        }
        const judged = owner.handle(packet)
        if (judged !== undefined) this.waitFor(judged)
      }
    } catch (error) {
      owner.failed(error)
    }
  }

  /** Counts against the bounds per second. At a bound reading waits for the next second. */
  #count(publishes: number, bytes: number): void {
    if (this.#window.count(this.#host.second, publishes, bytes) || this.#throttled) return
    this.#throttled = true
    this.pause()
    this.#owner.throttle()
  }
}
