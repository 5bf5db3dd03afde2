/**
 * The messages that one connection has published and that are still under way: counted against
 * Receive Maximum, against what the engine may be given at once, and against what the transformer
 * may hold back.
 */

export class ReceiveWindow {
  readonly #maximumHeld: number
  #unacknowledged = 0
  #pending = 0
  #held = 0
  #settled: PromiseWithResolvers<void> | undefined = undefined
  #roomToHold: PromiseWithResolvers<void> | undefined = undefined

  constructor(maximumHeld: number) {
    this.#maximumHeld = maximumHeld
  }

  /** QoS 1 and 2 messages that count against our Receive Maximum [MQTT-3.3.4-7]. */
  get unacknowledged(): number {
    return this.#unacknowledged
  }

  /** Messages that were given to the engine, or to their consumer, and that nobody owns yet. */
  get pending(): number {
    return this.#pending
  }

  /** How many messages more the transformer may hold back; it can be below 0. */
  get roomToHold(): number {
    return this.#maximumHeld - this.#held
  }

  /** A QoS 1 or 2 message is accepted; each call is followed by one `answered`. */
  accepted(): void {
    this.#unacknowledged += 1
  }

  /** The message no longer counts: PUBACK, a refusing PUBREC, or PUBCOMP has gone out. */
  answered(): void {
    this.#unacknowledged -= 1
  }

  /** A message is given to the engine or its consumer; each call is followed by one `settle`. */
  begin(): void {
    this.#pending += 1
  }

  /** The engine or the consumer owns the message, or has refused it. */
  settle(): void {
    this.#pending -= 1
    if (this.#pending > 0 || this.#settled === undefined) return
    const settled = this.#settled
    this.#settled = undefined
    settled.resolve()
  }

  /** Resolves when everything that was pending is owned or refused; never, if `end` comes first. */
  settled(): Promise<void> {
    return (this.#settled ??= Promise.withResolvers()).promise
  }

  /** The transformer holds a message back; each call is followed by one `release`. */
  hold(): void {
    this.#held += 1
  }

  /** The transformer has let a message go on, or has given it back. */
  release(): void {
    this.#held -= 1
    const room = this.#roomToHold
    this.#roomToHold = undefined
    room?.resolve()
  }

  /** Undefined while the transformer may hold back more; a promise that resolves when it may. */
  untilRoomToHold(): Promise<void> | undefined {
    if (this.#held < this.#maximumHeld) return undefined
    return (this.#roomToHold ??= Promise.withResolvers()).promise
  }

  /** The connection has ended: nothing goes on when its messages are settled. */
  end(): void {
    this.#settled = undefined
  }
}
