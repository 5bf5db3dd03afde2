/** Sends uplinks of many devices at an even pace, and counts how they arrived. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { LorawanDevice } from '../../simulator/lorawan/device.ts'
import type { Place } from './place.ts'

export interface LoadCounts {
  /** Uplinks that ChirpStack's own HTTP integration has posted. */
  readonly published: number
  readonly lost: number
  /** Uplinks that came to the integrator more than once. */
  readonly doubled: number
  /**
   * Uplinks that came for the first time behind a later uplink of their device. Only reported: no
   * test can tell which program changed the order.
   */
  readonly outOfOrder: number
}

/** The fPort of counted uplinks; above 100. Other fPorts are not counted. */
const FPORT = 101
const WAIT_MS = 60_000

export class UplinkLoad {
  readonly #place: Place
  readonly #devices: readonly LorawanDevice[]
  readonly #perSecond: number
  #isStopping = false
  #sent = 0
  #running: Promise<void> = Promise.resolve()

  /** Makes devices that have joined and ask for nothing. */
  static async prepare(place: Place, devices: number, perSecond: number): Promise<UplinkLoad> {
    const joined = await Promise.all(Array.from({ length: devices }, () => place.joinedDevice()))
    for (const device of joined) device.isAdaptive = false
    return new UplinkLoad(place, joined, perSecond)
  }

  private constructor(place: Place, devices: readonly LorawanDevice[], perSecond: number) {
    this.#place = place
    this.#devices = devices
    this.#perSecond = perSecond
  }

  get sent(): number {
    return this.#sent
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Stops sending, waits until no uplink is missing or long enough to be sure, and counts. */
  async settle(): Promise<LoadCounts> {
    this.#isStopping = true
    await this.#running
    const deadline = performance.now() + WAIT_MS
    let published = -1
    for (;;) {
      const counts = this.#count()
      // ChirpStack drops an uplink that comes behind a later one, so not every sent uplink is
      // published.
      const isComplete = counts.published === published && counts.lost === 0
      if (isComplete || performance.now() > deadline) return counts
      published = counts.published
      await sleep(2_000)
    }
  }

  async #run(): Promise<void> {
    const beganAt = performance.now()
    while (!this.#isStopping) {
      const due = Math.floor(((performance.now() - beganAt) * this.#perSecond) / 1_000)
      for (; this.#sent < due; this.#sent += 1) {
        const device = this.#devices[this.#sent % this.#devices.length] as LorawanDevice
        await device.uplink(FPORT, Buffer.from([this.#sent % 256]))
      }
      await sleep(5)
    }
  }

  #count(): LoadCounts {
    const published = new Set<string>()
    const own = new Set(this.#devices.map(({ devEui }) => devEui))
    for (const { kind, body } of this.#place.posts.all) {
      const key = kind === 'up' ? keyOf(body, own) : undefined
      if (key !== undefined) published.add(key)
    }
    const seen = new Set<string>()
    const highest = new Map<string, number>()
    let doubled = 0
    let outOfOrder = 0
    for (const { devEui, kind, body } of this.#place.integrator.events) {
      const { fPort, fCnt = -1 } = body
      if (kind !== 'up' || fPort !== FPORT || !own.has(devEui)) continue
      const key = `${devEui} ${fCnt}`
      if (seen.has(key)) doubled += 1
      else if (fCnt < (highest.get(devEui) ?? -1)) outOfOrder += 1
      seen.add(key)
      highest.set(devEui, Math.max(fCnt, highest.get(devEui) ?? -1))
    }
    const lost = [...published].filter((key) => !seen.has(key)).length
    return { published: published.size, lost, doubled, outOfOrder }
  }
}

/**
 * The device of the load and the frame counter, from an event of either family; undefined: another
 * event.
 */
function keyOf(text: string, own: ReadonlySet<string>): string | undefined {
  const body = JSON.parse(text) as {
    readonly devEUI?: string
    readonly deviceInfo?: { readonly devEui: string }
    readonly fPort?: number
    readonly fCnt?: number
  }
  const devEui = body.deviceInfo?.devEui ?? body.devEUI ?? ''
  return body.fPort === FPORT && own.has(devEui) ? `${devEui} ${body.fCnt}` : undefined
}
