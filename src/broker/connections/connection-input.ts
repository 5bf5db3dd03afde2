/**
 * The bytes that a client sends: cut into packets, which are handled one after the other. Reading
 * stops while a packet is being judged, at the bounds per second, and when the connection's account
 * has worked for its share of the turn.
 */
import type { SteadyMs } from '../../clock.ts'
import { PacketReader } from '../../mqtt/packet-reader.ts'
import type { IncomingClientPacket } from '../../mqtt/packet-reader.ts'
import type { ProtocolVersion } from '../../mqtt/packet.ts'
import { countWaitingPings } from '../../mqtt/waiting-pings.ts'
import { SLICE_MS } from '../delivery/turn-shares.ts'
import type { TurnJob } from '../delivery/turn-shares.ts'
import type { Transport } from '../ports/transport.ts'
import type { Account } from './accounts.ts'
import type { ConnectionHost } from './connection-host.ts'
import { RateWindow } from './rate-window.ts'
import type { Traffic } from './traffic.ts'

/**
 * Bytes that may wait, parsed or not, while a packet before them is being judged; beyond, reading
 * stops.
 */
const MAXIMUM_WAITING_BYTES = 65_536
/**
 * Packets that are read between two looks at the clock: a look at each packet would be felt. A
 * PUBLISH to a thousand subscribers takes about a millisecond, so there are few of them.
 */
const PACKETS_PER_LOOK = 8

/**
 * Ticks, of about a second, for which a PINGREQ waits in its place behind a packet that is being
 * judged. Then it is answered [MQTT-3.12.4-1]: without a quorum of its servers the log answers a
 * SUBSCRIBE after half a minute, and the client would take the connection for a broken one. Clients
 * wait for PINGRESP for 5 s or longer, or for their Keep Alive.
 */
const PING_WAITS_TICKS = 4
/**
 * Packets among which a PINGREQ is looked for with each tick, and chunks that these may be in.
 * Without a bound, thousands of connections that have sent single bytes would make the broker go
 * through all of them every second.
 */
const PACKETS_LOOKED_AHEAD = 256

/** The connection whose bytes are read. */
export interface InputOwner {
  readonly isClosed: boolean
  /** False before CONNACK. */
  readonly isConnected: boolean
  /** 0: no bound. Known once the connection is connected. */
  readonly keepAliveSeconds: number
  /** True: the client does not read, so nothing is read of it. */
  readonly congested: boolean
  /** True: the connection ends once everything that was read is handled. */
  readonly isEnding: boolean
  /** Handles one packet; a promise when the next one has to wait for it. */
  handle(packet: IncomingClientPacket): Promise<void> | undefined
  /** A packet is malformed, or its handling failed. */
  failed(error: unknown): void
  /** A bound per second is reached: calls `unthrottle` with the next tick. */
  throttle(): void
  /** Packets wait behind one that is being judged: calls `answerPings` with each tick. */
  heldUp(): void
  /** Answers a PINGREQ. */
  answerPing(): void
  /** Everything that may be read was read, and the connection is ending. */
  endLater(): void
}

type InputHost = Pick<ConnectionHost<never>, 'clock' | 'limits' | 'counters' | 'second' | 'accounts'>

export interface ConnectionInputOptions {
  readonly host: InputHost
  readonly transport: Transport
  readonly traffic: Traffic
  readonly owner: InputOwner
}

export class ConnectionInput implements TurnJob {
  /** When the client sent its last packet, or was excused for its silence. */
  lastPacketAt: SteadyMs
  readonly #host: InputHost
  readonly #transport: Transport
  readonly #traffic: Traffic
  readonly #owner: InputOwner
  readonly #reader: PacketReader<'server'>
  readonly #window: RateWindow
  /** Pays for the work: nobody, until CONNECT is accepted. */
  #account: Account
  /** True: packets wait for the account's next slice. */
  #awaitsTurn = false
  /** The number of promises that the next packet waits for. */
  #waits = 0
  /** Ticks, one after the other, that found packets behind one that was being judged. */
  #heldTicks = 0
  /** PINGREQ packets among the unread ones that have their answer. */
  #answeredPings = 0
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
    this.#account = host.accounts.nobody
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

  /**
   * True while no packet is read: the packet before it is being judged, a bound is reached, or the
   * account's share of the turn is used up.
   */
  get isHeldUp(): boolean {
    return this.#waits > 0 || this.#throttled || this.#awaitsTurn
  }

  /** CONNECT was accepted: packets may be larger from now on, and the account pays for them. */
  accepted(account: Account): void {
    this.#reader.maximumPacketSizeBytes = this.#host.limits.maximumPacketSizeBytes
    this.#account = account
  }

  /** The connection has ended: nothing is read any more. */
  end(): void {
    if (this.#awaitsTurn) this.#host.accounts.turns.forget(this.#account.reading, this)
  }

  /** Takes bytes of the transport. */
  data(chunk: Buffer): void {
    const host = this.#host
    const { counters } = host
    const { publishesReceived } = counters
    counters.bytesReceived += chunk.length
    this.#traffic.turn(host.second)
    this.#traffic.bytesIn += chunk.length
    this.#count(0, chunk.length)
    host.accounts.received(this.#account, chunk.length)
    this.#reader.push(chunk)
    this.#read(false)
    if (counters.publishesReceived !== publishesReceived) counters.publishingChunks += 1
    this.#watchHeld()
    if (this.isHeldUp && this.#reader.bufferedBytes > MAXIMUM_WAITING_BYTES) this.pause()
  }

  /**
   * Packets are handled in order: the next packet waits for the promise. Nothing more than a buffer
   * is read meanwhile.
   */
  waitFor(judged: Promise<void>): void {
    this.#waits += 1
    this.#watchHeld()
    const { clock, accounts } = this.#host
    const { turns } = accounts
    turns.plan()
    const { turn } = turns
    const begunAt = clock.steady()
    judged.then(
      () => {
        this.#waits -= 1
        // Within one turn the account worked most of the time, and over several turns others did.
        // Others may have worked in this turn, too: the account pays for a slice at most.
        if (turns.turn === turn) turns.spend(this.#account.reading, Math.min(clock.steady() - begunAt, SLICE_MS))
        this.resume()
      },
      (error: unknown) => this.#owner.failed(error),
    )
  }

  /**
   * A second has passed. Answers each PINGREQ that has waited long enough behind a packet that is
   * being judged. The packets between them stay, and keep their order. Returns false when nothing
   * waits.
   */
  answerPings(): boolean {
    const owner = this.#owner
    if (owner.isClosed || this.#waits === 0 || this.#reader.bufferedBytes === 0) {
      this.#heldTicks = 0
      return false
    }
    this.#heldTicks += 1
    if (!owner.isConnected || owner.congested || this.#heldTicks < pingWaitsTicks(owner.keepAliveSeconds)) return true
    const waiting = countWaitingPings(this.#reader.firstBuffered(PACKETS_LOOKED_AHEAD), PACKETS_LOOKED_AHEAD)
    for (; this.#answeredPings < waiting && !owner.isClosed; this.#answeredPings += 1) owner.answerPing()
    return true
  }

  #watchHeld(): void {
    if (this.#waits > 0 && this.#reader.bufferedBytes > 0) this.#owner.heldUp()
  }

  /** Called in a turn in which the account has time. */
  goOn(): void {
    this.#awaitsTurn = false
    this.#resume(true)
  }

  /** A second has begun: reading goes on. */
  unthrottle(): void {
    this.#throttled = false
    this.resume()
  }

  /** Reads on, unless something still holds the input up. */
  resume(): void {
    this.#resume(false)
  }

  #resume(isItsTurn: boolean): void {
    const owner = this.#owner
    if (owner.isClosed || this.isHeldUp) return
    this.#read(isItsTurn)
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

  /** Reads packets for as long as the account has time. */
  #read(isItsTurn: boolean): void {
    if (this.isHeldUp || (this.#reader.bufferedBytes === 0 && !this.#paused)) return
    const { clock, accounts } = this.#host
    if (!isItsTurn && this.#account.reading.waiting.size > 0) {
      this.#awaitTurn()
      return
    }
    for (let from = clock.steady(), isMore = true; isMore;) {
      const account = this.#account
      if (!account.reading.hasTime) {
        this.#awaitTurn()
        return
      }
      isMore = this.#readSome(from)
      const now = clock.steady()
      if (now !== from) accounts.turns.spend(account.reading, now - from)
      from = now
    }
  }

  /** The bytes stay in the reader. The transport is paused when they are many. */
  #awaitTurn(): void {
    this.#awaitsTurn = true
    this.#host.accounts.turns.wait(this.#account.reading, this)
  }

  /** Reads a few packets; true when there may be more of them. */
  #readSome(now: SteadyMs): boolean {
    const owner = this.#owner
    let publishes = 0
    let packets = 0
    try {
      while (packets < PACKETS_PER_LOOK && this.#waits === 0 && !this.#throttled && !owner.isClosed) {
        const packet = this.#reader.next()
        if (packet === undefined) break
        packets += 1
        this.lastPacketAt = now
        if (packet.type === 'publish') {
          publishes += 1
          this.#traffic.messagesIn += 1
          this.#count(1, 0)
        }
        if (this.#answeredPings > 0 && packet.type === 'pingreq') {
          this.#answeredPings -= 1
          continue
        }
        const judged = owner.handle(packet)
        if (judged !== undefined) this.waitFor(judged)
      }
    } catch (error) {
      owner.failed(error)
    }
    if (publishes > 0) this.#host.accounts.published(this.#account, publishes)
    return packets === PACKETS_PER_LOOK && !this.isHeldUp && !owner.isClosed
  }

  /** Counts against the bounds per second. At a bound reading waits for the next second. */
  #count(publishes: number, bytes: number): void {
    if (this.#window.count(this.#host.second, publishes, bytes) || this.#throttled) return
    this.#throttled = true
    this.pause()
    this.#owner.throttle()
  }
}

/** A client with a short Keep Alive gives up soon: it gets its answer within half of that time. */
function pingWaitsTicks(keepAliveSeconds: number): number {
  return keepAliveSeconds === 0 ? PING_WAITS_TICKS : Math.min(PING_WAITS_TICKS, Math.ceil(keepAliveSeconds / 2))
}
