/**
 * Uplinks on their way to their codecs, by application. The codecs refuse what is too much for
 * them, so each application has a few of its uplinks there at a time, and the others wait here,
 * where they are counted.
 */

/**
 * Uplinks of one application that are with the codecs at a time. Its scripts run one after the
 * other anyway; some more keep their threads busy.
 */
const MAXIMUM_RUNNING = 16

interface Lane<Uplink> {
  readonly waiting: Uplink[]
  running: number
  /**
   * The codecs, or the registry, could not take its next uplink: until one of its own is done, or
   * the next tick.
   */
  isBlocked: boolean
}

/** First come, first decoded, within an application. */
export class DecodingLanes<Uplink> {
  readonly #decode: (uplink: Uplink) => Promise<boolean> | undefined
  readonly #lanes = new Map<string, Lane<Uplink>>()

  /**
   * `decode` gives undefined for what needs it no more, else whether it was done: false, and it is
   * tried again. It never rejects.
   */
  constructor(decode: (uplink: Uplink) => Promise<boolean> | undefined) {
    this.#decode = decode
  }

  push(applicationId: string, uplink: Uplink): void {
    let lane = this.#lanes.get(applicationId)
    if (lane === undefined) this.#lanes.set(applicationId, (lane = { waiting: [], running: 0, isBlocked: false }))
    lane.waiting.push(uplink)
    this.#pump(applicationId, lane)
  }

  /** What could not be decoded is tried again. */
  tick(): void {
    for (const [applicationId, lane] of this.#lanes) {
      lane.isBlocked = false
      this.#pump(applicationId, lane)
    }
  }

  #pump(applicationId: string, lane: Lane<Uplink>): void {
    while (!lane.isBlocked && lane.running < MAXIMUM_RUNNING) {
      const uplink = lane.waiting.shift()
      if (uplink === undefined) break
      const decoding = this.#decode(uplink)
      if (decoding !== undefined) this.#await(applicationId, lane, uplink, decoding)
    }
    if (lane.running === 0 && lane.waiting.length === 0) this.#lanes.delete(applicationId)
  }

  #await(applicationId: string, lane: Lane<Uplink>, uplink: Uplink, decoding: Promise<boolean>): void {
    lane.running += 1
    void decoding.then((isDone) => {
      lane.running -= 1
      lane.isBlocked = !isDone
      if (!isDone) lane.waiting.unshift(uplink)
      this.#pump(applicationId, lane)
    })
  }
}
