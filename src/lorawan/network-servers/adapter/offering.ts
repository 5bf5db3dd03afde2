/**
 * Decides when downlinks that a network server could not take are offered again, for a network
 * server that has no way to say that it is ready.
 */
import type { Clock } from '../../../clock.ts'
import type { EventSink, NetworkServer } from '../../commands/network-server.ts'
import { Backoff } from './backoff.ts'
import type { BackoffSettings } from './backoff.ts'

export class Offering {
  readonly #networkServer: NetworkServer
  readonly #sink: EventSink
  readonly #clock: Pick<Clock, 'after'>
  readonly #backoff: Backoff
  #cancel: (() => void) | undefined = undefined
  #isPausing = false
  #isClosed = false

  constructor(networkServer: NetworkServer, sink: EventSink, clock: Pick<Clock, 'after'>, backoff: BackoffSettings) {
    this.#networkServer = networkServer
    this.#sink = sink
    this.#clock = clock
    this.#backoff = new Backoff(backoff)
  }

  /** True from a failure that concerns all devices until the next call of `ready`. */
  get isPausing(): boolean {
    return this.#isPausing
  }

  /** A downlink was taken or refused: the network server is reachable. */
  succeeded(): void {
    this.#backoff.reset()
  }

  /**
   * A downlink could not be taken. `ready` is called after a while, once for all failures until
   * then.
   */
  failed(isOfDevice = false): void {
    if (!isOfDevice) this.#isPausing = !this.#isClosed
    if (this.#cancel !== undefined || this.#isClosed) return
    this.#cancel = this.#clock.after(this.#backoff.next(), () => {
      this.#cancel = undefined
      this.#isPausing = false
      this.#sink.ready(this.#networkServer)
    })
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
  }
}
