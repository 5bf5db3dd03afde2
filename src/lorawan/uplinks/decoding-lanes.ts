/**
 * Uplinks on their way to their codecs, by application. The codecs refuse work that is too much for
 * them. So each application has a few of its uplinks with the codecs at a time, and the others wait
 * here, where they are counted.
 */

/**
 * Uplinks of an application that are with the codecs at a time. The scripts of an application run
 * one after the other anyway; some more uplinks keep their threads busy.
 */
const MAXIMUM_RUNNING = 16

interface Lane<Uplink> {
  readonly waiting: Uplink[]
  running: number
  /**
   * True when the codecs, or the registry, could not take the application's next uplink. The lane
   * then waits until one of its own uplinks is done, or for the next tick.
   */
  isBlocked: boolean
}

/** Decodes the uplinks of each application in the order in which they come. */
export class DecodingLanes<Uplink> {
  readonly #decode: (uplink: Uplink) => Promise<boolean> | undefined
  readonly #lanes = new Map<string, Lane<Uplink>>()

  /**
   * `decode` returns undefined for an uplink that needs no decoding any more. Otherwise its promise
   * tells whether the uplink was done; false: it is tried again. The promise is never rejected.
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

  /** Tries uplinks again that could not be decoded. */
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
