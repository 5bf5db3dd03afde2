/**
 * Notes when each device was last heard of, its battery level and its margin, and what its events
 * teach of its interval, its loss and its signal. The notes are
 * gathered from the events that pass, and written in batches, so that an event costs no write of
 * its own.
 */
import type { PublishObserver, RoutedMessage } from '../../broker/ports/consumer.ts'
import type { Clock, SteadyMs } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import { deviceStateOf } from '../events.ts'
import type { DeviceState } from '../events.ts'
import { FleetLearner } from '../fleet/fleet-learner.ts'
import type { LearnedOfEvent } from '../fleet/fleet-learner.ts'
import { knownTopic } from './known-topic.ts'
import type { KnownTopic } from './known-topic.ts'

/**
 * The newest state of a device. A member that is left out is not known from the events since the
 * last write.
 */
export interface DeviceSighting extends DeviceState, LearnedOfEvent {
  readonly devEui: string
}

export interface DeviceSightingsOptions {
  /**
   * Writes sightings: at its leisure, unless they are urgent. After a failure a sighting may come
   * again: an older sighting must not replace a newer one.
   */
  readonly recordSeen: (sightings: readonly DeviceSighting[], isUrgent: boolean) => Promise<void>
  /** The time of day dates sightings; the steady clock measures durations. */
  readonly clock: Pick<Clock, 'now' | 'steady'>
  readonly log: Logger
}

/**
 * A device that keeps sending is written once in this time, and its sightings wait meanwhile. So a
 * registry of 100,000 busy devices takes 2,000 rows a second, and not a row for each uplink. The
 * first uplink after a silence, a join, a status and an ack go with the next write.
 */
const REST_MS = 60_000
/**
 * Rows of one write. The rest waits for the next write, in order. At a write every 5 s this takes
 * some 2 % of a CPU, even while a whole fleet is heard of for the first time after a start.
 */
const MAXIMUM_ROWS_OF_A_WRITE = 10_000
/**
 * Devices that wait or rest, some 250 bytes each. At the bound writes follow one another, resting
 * devices are forgotten early, and sightings of further devices are passed over and counted in the
 * log. So neither a deployment of millions of devices nor a slow registry can fill the memory. The
 * next event of a device makes up for a lost sighting.
 */
const MAXIMUM_DEVICES = 200_000

/** A device that was heard of within the last minute. */
export class HeardDevice {
  /** The one that heard it. */
  readonly keeper: DeviceSightings
  readonly devEui: string
  /** When the device was last heard of, ms since 1970. */
  heardAtMs: number
  /** The sighting that is not written yet. `heardAtMs` is newer than its time. */
  waiting: WaitingSighting | undefined
  /**
   * The write after which the device rests; undefined while the device waits for the next write.
   */
  restsAfter: Write | undefined = undefined
  /** Uplinks since the last one that was read. */
  uplinks = 0
  /** True once the keeper has forgotten it: topics that hold it must ask again. */
  isForgotten = false

  constructor(keeper: DeviceSightings, devEui: string, waiting: WaitingSighting) {
    this.keeper = keeper
    this.devEui = devEui
    this.heardAtMs = waiting.lastSeenAtMs
    this.waiting = waiting
  }
}

type WaitingSighting = { -readonly [Member in keyof DeviceSighting]: DeviceSighting[Member] }

/** A write, with the devices that rest after it. */
interface Write {
  /** By the steady clock. */
  readonly atMs: SteadyMs
  readonly devices: readonly HeardDevice[]
}

/**
 * An observer of the broker. The owner calls `flush` every few seconds, and `close` after the last
 * event.
 */
export class DeviceSightings implements PublishObserver {
  readonly #recordSeen: DeviceSightingsOptions['recordSeen']
  readonly #clock: DeviceSightingsOptions['clock']
  readonly #log: Logger
  readonly #learner = new FleetLearner()
  readonly #devices = new Map<string, HeardDevice>()
  /** The devices that the next writes take, in order. */
  #due: HeardDevice[] = []
  /** In the order of their times. */
  readonly #writes: Write[] = []
  /** The sightings of a write that failed, which are tried once more. One write at most. */
  #failed: readonly DeviceSighting[] = []
  #passedOver = 0
  #writing: Promise<void> | undefined = undefined
  #isClosing = false

  constructor(options: DeviceSightingsOptions) {
    this.#recordSeen = options.recordSeen
    this.#clock = options.clock
    this.#log = options.log
  }

  /** Notes the sighting of the device in an event. Other messages are ignored. */
  observe(message: RoutedMessage): void {
    const { topic, ownedAtMs } = message
    const known = knownTopic(topic)
    const { parsed } = known
    if (parsed?.kind !== 'event' || parsed.eventKind === 'state') return
    const { devEui, eventKind } = parsed
    const receivedAtMs = ownedAtMs === 0 ? this.#clock.now() : ownedAtMs
    const device = this.#deviceOf(known, devEui)
    if (eventKind === 'up' && device?.waiting !== undefined) {
      // Numbers alone: an object of long standing that is given another object costs the next
      // garbage collection a look at it.
      device.heardAtMs = receivedAtMs
      device.uplinks += 1
      return
    }
    const { payload } = message
    const told = deviceStateOf(eventKind, payload, receivedAtMs)
    if (told === undefined) return
    if (device !== undefined) this.#passUplinks(device)
    const state = { ...told, ...this.#learner.learn(devEui, eventKind, payload, told) }
    if (device === undefined) {
      this.#heardFirst(known, devEui, state)
      return
    }
    device.heardAtMs = state.lastSeenAtMs
    if (device.waiting === undefined) device.waiting = { devEui, ...state }
    else Object.assign(device.waiting, state)
    if (eventKind === 'up' || device.restsAfter === undefined) return
    // A status or an ack goes with the next write: somebody may have asked for it.
    device.restsAfter = undefined
    this.#due.push(device)
  }

  /**
   * When the device was last heard of; undefined when this was more than a minute ago, or is not
   * known.
   */
  heardAtMs(devEui: string): number | undefined {
    return this.#devices.get(devEui)?.heardAtMs
  }

  /** The device of the topic, if it was heard of within the last minute. */
  #deviceOf(known: KnownTopic, devEui: string): HeardDevice | undefined {
    const { heard } = known
    if (heard !== undefined && heard.keeper === this && !heard.isForgotten) return heard
    known.heard = this.#devices.get(devEui)
    return known.heard
  }

  /** The device was removed, or belongs to another application: nothing learned of it counts. */
  forgetLearned(devEui: string): void {
    this.#learner.forget(devEui)
  }

  #passUplinks(device: HeardDevice): void {
    this.#learner.passed(device.devEui, device.uplinks)
    device.uplinks = 0
  }

  #heardFirst(known: KnownTopic, devEui: string, state: DeviceState & LearnedOfEvent): void {
    if (this.#devices.size >= MAXIMUM_DEVICES) {
      this.#passedOver += 1
      return
    }
    const device = new HeardDevice(this, devEui, { devEui, ...state })
    this.#devices.set(devEui, device)
    known.heard = device
    this.#due.push(device)
    if (this.#devices.size >= MAXIMUM_DEVICES) void this.flush()
  }

  /**
   * Writes the sightings that are due. Only one write is under way at a time: a second call waits
   * for the first. The promise is never rejected: a failure is logged, and its sightings are tried
   * once more with the next call.
   */
  flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  /**
   * Writes all sightings that are left; a failed write is tried once more. Call it after the last
   * message.
   */
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
   * Takes the sightings that are to be written now. Their devices rest from here on. Devices whose
   * rest is over and that were silent meanwhile are forgotten.
   */
  #takeDue(): readonly DeviceSighting[] {
    const nowMs = this.#clock.steady()
    for (let write = this.#rested(nowMs); write !== undefined; write = this.#rested(nowMs)) {
      this.#writes.shift()
      for (const device of write.devices) {
        // A device that did not wait for the end of its rest is due already, or rests after a later
        // write.
        if (device.restsAfter !== write) continue
        device.restsAfter = undefined
        if (device.waiting === undefined) this.#forget(device)
        else this.#due.push(device)
      }
    }
    const due = this.#due.splice(0, MAXIMUM_ROWS_OF_A_WRITE)
    if (due.length === 0) return []
    // Rows that were registered together lie together on disk: a write in order touches a third of
    // the pages, and takes a third of the CPU time.
    due.sort((one, other) => (one.devEui < other.devEui ? -1 : 1))
    const write = { atMs: nowMs, devices: due }
    this.#writes.push(write)
    return due.map((device) => {
      const sighting = device.waiting as WaitingSighting
      sighting.lastSeenAtMs = device.heardAtMs
      device.waiting = undefined
      device.restsAfter = write
      return sighting
    })
  }

  #forget(device: HeardDevice): void {
    this.#passUplinks(device)
    device.isForgotten = true
    this.#devices.delete(device.devEui)
  }

  /**
   * The earliest write whose devices have rested enough, or must end their rest because there is no
   * room.
   */
  #rested(nowMs: SteadyMs): Write | undefined {
    const [earliest] = this.#writes
    if (earliest === undefined) return undefined
    return this.#isPressed() || nowMs - earliest.atMs >= REST_MS ? earliest : undefined
  }

  /** True when no device may wait or rest any longer. */
  #isPressed(): boolean {
    return this.#isClosing || this.#devices.size >= MAXIMUM_DEVICES
  }

  async #record(sightings: readonly DeviceSighting[], isRetry: boolean): Promise<boolean> {
    if (sightings.length === 0) return true
    try {
      await this.#recordSeen(sightings, this.#isPressed())
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
