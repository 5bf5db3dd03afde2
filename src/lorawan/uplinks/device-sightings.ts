/**
 * When each device was last heard of, and its battery and margin: gathered from the events that
 * pass, and written in batches, so that an event costs no write of its own.
 */
import type { PublishObserver, RoutedMessage } from '../../broker/ports/consumer.ts'
import type { Clock, SteadyMs } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import { deviceStateOf } from '../events.ts'
import type { DeviceState } from '../events.ts'
import { parseTopic } from '../topics.ts'

/**
 * The newest that is known of a device; what is left out is not known from the events since the
 * last write.
 */
export interface DeviceSighting extends DeviceState {
  readonly devEui: string
}

export interface DeviceSightingsOptions {
  /**
   * Writes sightings. An older one must not replace a newer one: they may come again after a
   * failure.
   */
  readonly recordSeen: (sightings: readonly DeviceSighting[]) => Promise<void>
  /** The time of day, and for durations a clock that is never set. */
  readonly clock: Pick<Clock, 'now' | 'steady'>
  readonly log: Logger
}

/**
 * A device that keeps sending is written so often: what it sends meanwhile waits, so that a
 * registry of 100,000 busy devices takes 2,000 rows a second and not one for each uplink. The first
 * uplink after a silence, a join, a status and an ack go with the next write.
 */
const REST_MS = 60_000
/**
 * Rows of one write; what is left waits for the next, in order. At a write every 5 s this is some 2
 * % of a CPU, even while a whole fleet is heard of for the first time after a start.
 */
const MAXIMUM_ROWS_OF_A_WRITE = 10_000
/**
 * Devices that wait or rest, some 250 bytes each. At the bound writes follow one another, those
 * that rest are forgotten early, and what comes of further devices meanwhile is passed over and
 * counted in the log. So a deployment of millions of devices, or a registry that has become slow,
 * can't fill the memory, and a device's next event makes up for it.
 */
const MAXIMUM_DEVICES = 200_000

/** A device that was heard of within the last minute. */
interface HeardDevice {
  readonly devEui: string
  /** What is not written yet. */
  waiting: DeviceSighting | undefined
  /** When it was last heard of, as it was written last; 0 before the first write. */
  writtenAtMs: number
  /** The write that it rests after; undefined while it waits for the next one. */
  restsAfter: Write | undefined
}

/** What was written at once, and rests since. */
interface Write {
  /** Of the clock that is never set. */
  readonly atMs: SteadyMs
  readonly devices: readonly HeardDevice[]
}

/**
 * An observer of the broker. Its owner calls `flush` every few seconds, and `close` after the last
 * event.
 */
export class DeviceSightings implements PublishObserver {
  readonly #recordSeen: DeviceSightingsOptions['recordSeen']
  readonly #clock: DeviceSightingsOptions['clock']
  readonly #log: Logger
  readonly #devices = new Map<string, HeardDevice>()
  /** Those that the next writes take, in order. */
  #due: HeardDevice[] = []
  /** In the order of their times. */
  readonly #writes: Write[] = []
  /** What could not be written, to be tried once more; at most one write. */
  #failed: readonly DeviceSighting[] = []
  #passedOver = 0
  #writing: Promise<void> | undefined = undefined
  #isClosing = false

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
    const device = this.#devices.get(topic.devEui)
    if (device === undefined) {
      this.#heardFirst(topic.devEui, state)
      return
    }
    if (device.waiting === undefined) device.waiting = { devEui: device.devEui, ...state }
    else Object.assign(device.waiting, state)
    if (topic.eventKind === 'up' || device.restsAfter === undefined) return
    // Somebody may have asked for it.
    device.restsAfter = undefined
    this.#due.push(device)
  }

  /**
   * When the device was last heard of; undefined when that is more than a minute ago, or not known.
   */
  heardAtMs(devEui: string): number | undefined {
    const device = this.#devices.get(devEui)
    return device && (device.waiting?.lastSeenAtMs ?? device.writtenAtMs)
  }

  #heardFirst(devEui: string, state: DeviceState): void {
    if (this.#devices.size >= MAXIMUM_DEVICES) {
      this.#passedOver += 1
      return
    }
    const device = { devEui, waiting: { devEui, ...state }, writtenAtMs: 0, restsAfter: undefined }
    this.#devices.set(devEui, device)
    this.#due.push(device)
    if (this.#devices.size >= MAXIMUM_DEVICES) void this.flush()
  }

  /**
   * Writes what is due. There is never more than one write under way: a second call waits for the
   * first. Never rejects: a failure is logged, and what it was about is tried once more with the
   * next call.
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
    this.#isClosing = true
    await this.flush()
    if (this.#failed.length > 0) await this.flush()
  }

  async #write(): Promise<void> {
    const again = this.#failed
    this.#failed = []
    await this.#record(again, true)
    do {
      const sightings = this.#takeDue()
      const isRecorded = await this.#record(sightings, false)
      this.#tellPassedOver()
      if (!isRecorded) {
        this.#failed = sightings
        return
      }
    } while (this.#due.length > 0 && this.#isPressed())
  }

  /**
   * What is to be written now; its devices rest from here on, and the silent ones among those that
   * have rested are forgotten.
   */
  #takeDue(): readonly DeviceSighting[] {
    const nowMs = this.#clock.steady()
    for (let write = this.#rested(nowMs); write !== undefined; write = this.#rested(nowMs)) {
      this.#writes.shift()
      for (const device of write.devices) {
        // One that did not wait for the end of its rest is due, or stands under a later write.
        if (device.restsAfter !== write) continue
        device.restsAfter = undefined
        if (device.waiting === undefined) this.#devices.delete(device.devEui)
        else this.#due.push(device)
      }
    }
    const due = this.#due.splice(0, MAXIMUM_ROWS_OF_A_WRITE)
    if (due.length === 0) return []
    // Rows that were registered together lie together: in order they are a third of the pages, and
    // of the CPU time.
    due.sort((one, other) => (one.devEui < other.devEui ? -1 : 1))
    const write = { atMs: nowMs, devices: due }
    this.#writes.push(write)
    return due.map((device) => {
      const sighting = device.waiting as DeviceSighting
      device.waiting = undefined
      device.writtenAtMs = sighting.lastSeenAtMs
      device.restsAfter = write
      return sighting
    })
  }

  /** The earliest write, if its devices have rested enough or there is no room to let them. */
  #rested(nowMs: SteadyMs): Write | undefined {
    const [earliest] = this.#writes
    if (earliest === undefined) return undefined
    return this.#isPressed() || nowMs - earliest.atMs >= REST_MS ? earliest : undefined
  }

  /** Nothing may wait or rest any longer. */
  #isPressed(): boolean {
    return this.#isClosing || this.#devices.size >= MAXIMUM_DEVICES
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
