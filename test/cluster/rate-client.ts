/** A publisher of QoS 1 that keeps a rate, and measures how long its acknowledgements take. */
import { codeOf } from '../support/wire-client.ts'
import type { WireClient } from '../support/wire-client.ts'

const TICK_MS = 10
/** Unacknowledged messages. Beyond it the publisher waits, and its rate falls. */
const WINDOW = 100

export class RateClient {
  readonly #client: WireClient
  readonly #topicName: string
  readonly #perTick: number
  readonly #sentAtMs = new Map<number, number>()
  #latencies: number[] = []
  #timer: NodeJS.Timeout | undefined
  #lastMs = 0
  #longestGapMs = 0
  #due = 0
  acknowledged = 0
  refused = 0

  constructor(client: WireClient, topicName: string, perSecond: number) {
    this.#client = client
    this.#topicName = topicName
    this.#perTick = (perSecond * TICK_MS) / 1_000
    void this.#read()
  }

  begin(): void {
    this.#lastMs = performance.now()
    this.#timer = setInterval(() => this.#send(), TICK_MS)
  }

  cease(): void {
    clearInterval(this.#timer)
  }

  get open(): number {
    return this.#sentAtMs.size
  }

  /** Since the last call: the times of all acknowledgements, and the longest without one, ms. */
  take(): { readonly latencies: readonly number[]; readonly longestGapMs: number } {
    const taken = { latencies: this.#latencies, longestGapMs: this.#longestGapMs }
    this.#latencies = []
    this.#longestGapMs = 0
    return taken
  }

  #send(): void {
    this.#due = Math.min(this.#due + this.#perTick, WINDOW)
    for (; this.#due >= 1 && this.#sentAtMs.size < WINDOW; this.#due -= 1) {
      const packet = this.#client.publishPacket(this.#topicName, 'at a rate', 1)
      if (packet.messageId === undefined) return
      this.#sentAtMs.set(packet.messageId, performance.now())
      this.#client.send(packet)
    }
  }

  async #read(): Promise<void> {
    for (;;) {
      // A connection that is silent for long ends the wait, and not the reading.
      const packet = await this.#client.next().catch(() => null)
      if (packet === undefined) return
      if (packet?.cmd !== 'puback') continue
      const nowMs = performance.now()
      const sentAtMs = this.#sentAtMs.get(packet.messageId as number)
      if (sentAtMs === undefined) continue
      this.#sentAtMs.delete(packet.messageId as number)
      if (codeOf(packet) >= 0x80) {
        this.refused += 1
        continue
      }
      this.acknowledged += 1
      this.#latencies.push(nowMs - sentAtMs)
      this.#longestGapMs = Math.max(this.#longestGapMs, nowMs - this.#lastMs)
      this.#lastMs = nowMs
    }
  }
}
