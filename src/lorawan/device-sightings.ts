/**
 * When each device was last heard of, and its battery and margin: gathered from the events that pass, and written in
 * batches, so that an event costs no write of its own.
 */
import type { PublishObserver, RoutedMessage } from '../broker/consumer.ts'
import type { Log } from '../broker/log.ts'
import { deviceStateOf } from './events.ts'
import type { DeviceState } from './events.ts'
import { parseTopic } from './topics.ts'

/** The newest that is known of a device; what is left out is not known from the events since the last write. */
export interface DeviceSighting extends DeviceState {
  readonly devEui: string
}

export interface DeviceSightingsOptions {
  /** Writes sightings. An older one must not replace a newer one: they may come again after a failure. */
  readonly recordSeen: (sightings: readonly DeviceSighting[]) => Promise<void>
  readonly clock: { now(): number }
  readonly log: Log
}

/**
 * Devices whose sightings wait, some 200 bytes each. At the bound they are written early; what comes of further devices
 * while a write is still under way is passed over and counted in the log. So a deployment of millions of devices, or a
 * registry that has become slow, can't fill the memory, and a device's next event makes up for it.
 */
const MAXIMUM_WAITING_DEVICES = 10_000

/** An observer of the broker. Its owner calls `flush` every few seconds, and `close` after the last event. */
export class DeviceSightings implements PublishObserver {
  readonly #recordSeen: DeviceSightingsOptions['recordSeen']
  readonly #clock: DeviceSightingsOptions['clock']
  readonly #log: Log
  #waiting = new Map<string, DeviceSighting>()
  /** What could not be written, to be tried once more; at most one batch. */
  #failed: readonly DeviceSighting[] = []
  #passedOver = 0
  #writing: Promise<void> | undefined = undefined

  constructor(options: DeviceSightingsOptions) {
    this.#recordSeen = options.recordSeen
    this.#clock = options.clock
    this.#log = options.log
  }

  /** Notes what the message tells of its device, if it is an event that does. */
  observe({ topicName, payload }: RoutedMessage): void {
    const topic = parseTopic(topicName)
    if (topic?.kind !== 'event') return
    const state = deviceStateOf(topic.eventKind, payload, this.#clock.now())
    if (state === undefined) return
    const known = this.#waiting.get(topic.devEui)
    if (known !== undefined) {
      Object.assign(known, state)
      return
    }
    if (this.#waiting.size >= MAXIMUM_WAITING_DEVICES) {
      this.#passedOver += 1
      return
    }
    this.#waiting.set(topic.devEui, { devEui: topic.devEui, ...state })
    if (this.#waiting.size >= MAXIMUM_WAITING_DEVICES) void this.flush()
  }

  /**
   * Writes what waits. There is never more than one write under way: a second call waits for the first. Never rejects: a
   * failure is logged, and what it was about is tried once more with the next call.
   */
  flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  /** Writes all that is left, with the one more try. Call it when no more messages come. */
  async close(): Promise<void> {
    await this.#writing
    await this.flush()
    if (this.#failed.length > 0) await this.flush()
  }

  async #write(): Promise<void> {
    const again = this.#failed
    this.#failed = []
    await this.#record(again, true)
    do {
      const sightings = [...this.#waiting.values()]
      this.#waiting = new Map()
      const isRecorded = await this.#record(sightings, false)
      this.#tellPassedOver()
      if (!isRecorded) {
        this.#failed = sightings
        return
      }
      // What has reached the bound meanwhile would lose further devices' sightings until the next call.
    } while (this.#waiting.size >= MAXIMUM_WAITING_DEVICES)
  }

  async #record(sightings: readonly DeviceSighting[], isRetry: boolean): Promise<boolean> {
    if (sightings.length === 0) return true
    try {
      await this.#recordSeen(sightings)
      return true
    } catch (error) {
      this.#log.error({ error, devices: sightings.length, isRetry }, 'device_sightings.write_failed')
      return false
    }
  }

  #tellPassedOver(): void {
    if (this.#passedOver === 0) return
    this.#log.warn({ events: this.#passedOver }, 'device_sightings.passed_over')
    this.#passedOver = 0
  }
}
