/**
 * Watches the devices of the deployment: finds those that are late or silent, and tells of each
 * change once. The registry holds the states and the times at which they are looked at. So a
 * restart loses nothing, and the memory holds no device.
 */
import type { Publisher } from '../../broker/ports/consumer.ts'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import { Pauses } from '../../pauses.ts'
import { PeriodicLook } from '../../periodic-look.ts'
import type { Presence } from '../commands/command-waits.ts'
import { eventTopic } from '../topics.ts'
import { judge } from './lateness.ts'
import type { HeardState } from './lateness.ts'
import { stateEvent } from './state-event.ts'
import type { ChangedDevice } from './state-event.ts'

/** A device whose state is to be looked at. */
export interface WatchedDevice {
  readonly devEui: string
  readonly organizationId: string
  readonly state: HeardState | 'NEVER_HEARD'
  readonly lastSeenAtMs: number
  readonly intervalSeconds: number | null
  readonly lossPercent: number | null
}

/** A device with changes that nobody was told of. */
interface UntoldChange {
  readonly device: ChangedDevice
}

/** The states of the deployment's devices, as the registry keeps them. */
export interface FleetStates<Device extends WatchedDevice, Changed extends UntoldChange> {
  due(nowMs: number, limit: number): Promise<readonly Device[]>
  judge(
    judged: readonly {
      readonly device: Device
      readonly state: Device['state']
      readonly dueAtMs: number | undefined
    }[],
    nowMs: number,
  ): Promise<void>
  untold(limit: number): Promise<readonly Changed[]>
  told(devices: readonly Changed[]): Promise<void>
}

export interface FleetWatchOptions<Device extends WatchedDevice, Changed extends UntoldChange> {
  readonly states: FleetStates<Device, Changed>
  /** Whether the network servers of an organization are connected, or since when they are not. */
  readonly presenceOf: (organizationId: string) => Presence | Promise<Presence>
  /** The interval that the device's profile expects; undefined: the learned one counts. */
  readonly expectedIntervalSecondsOf?: (devEui: string) => Promise<number | undefined>
  /** One process of the deployment watches: true in that one. */
  readonly isWatcher: () => Promise<boolean>
  readonly tenantOf: (organizationId: string) => string
  /** Whether the last state of each device of the application is retained. Absent: it is not. */
  readonly retainsLastEvents?: (applicationId: string) => boolean | Promise<boolean>
  readonly publisher: Publisher
  readonly clock: Pick<Clock, 'now' | 'steady' | 'after' | 'afterTurn'>
  readonly log: Logger
}

/** How often the registry is asked for devices that are due, and for changes. */
const LOOK_MS = 5_000
/**
 * Devices that are looked at together, and how often in one look: 2,000 devices a second. The
 * registry writes them in statements of its own size.
 */
const LOOK_DEVICES = 100
const MAXIMUM_LOOKS = 100
/** A look takes at most a fifth of the time. */
const PAUSES = { factor: 4, maximumMs: 25 }
/** While the network server is away, its devices are looked at again after this time. */
const AWAY_LOOK_MS = 60_000
/** A profile may get a shorter interval: its devices are judged by it within this time. */
const PROFILE_LOOK_MS = 3_600_000
/**
 * Organizations of which the end of an absence is remembered. At the bound all are forgotten: their
 * devices may be late too soon, once.
 */
const MAXIMUM_ABSENCES = 10_000

export class FleetWatch<Device extends WatchedDevice, Changed extends UntoldChange> {
  readonly #options: FleetWatchOptions<Device, Changed>
  /** Before this time the service heard nobody, ms since 1970. */
  readonly #listensFromMs: number
  /** By organization: when its network server was seen to be away last, ms since 1970. */
  readonly #awayAtMs = new Map<string, number>()
  readonly #periodic: PeriodicLook

  constructor(options: FleetWatchOptions<Device, Changed>) {
    this.#options = options
    this.#listensFromMs = options.clock.now()
    const { clock, log } = options
    this.#periodic = new PeriodicLook({
      look: () => this.#look(),
      intervalMs: LOOK_MS,
      clock,
      failed: (error) => log.error({ error }, 'fleet.look_failed'),
    })
  }

  /** To be called once a second. */
  tick(): void {
    this.#periodic.tick()
  }

  /** Looks at the devices that are due, and tells of changes. A failure is logged. */
  look(): Promise<void> {
    return this.#periodic.look()
  }

  /** Ends the watch, after a look that is under way. Changes that nobody was told of stay noted. */
  async close(): Promise<void> {
    await this.#periodic.close()
  }

  async #look(): Promise<void> {
    if (!(await this.#options.isWatcher())) return
    await this.#inTurns(() => this.#judgeDue())
    await this.#inTurns(() => this.#tellChanges())
  }

  /** Repeats the work while it finds as many devices as it asks for. */
  async #inTurns(work: () => Promise<number>): Promise<void> {
    const pauses = new Pauses(this.#options.clock, PAUSES)
    for (let looks = 0; looks < MAXIMUM_LOOKS && !this.#periodic.isClosed; looks += 1) {
      if ((await work()) < LOOK_DEVICES) return
      await pauses.pause()
    }
  }

  async #judgeDue(): Promise<number> {
    const { states, clock } = this.#options
    const nowMs = clock.now()
    const due = await states.due(nowMs, LOOK_DEVICES)
    const absences = new Map<string, boolean>()
    const judged = []
    for (const device of due) {
      const { organizationId } = device
      const isAway = absences.get(organizationId) ?? (await this.#isAway(organizationId, nowMs))
      absences.set(organizationId, isAway)
      judged.push({ device, ...(await this.#judge(device, isAway, nowMs)) })
    }
    if (judged.length > 0) await states.judge(judged, nowMs)
    return due.length
  }

  async #judge(
    device: Device,
    isAway: boolean,
    nowMs: number,
  ): Promise<{ readonly state: Device['state']; readonly dueAtMs: number | undefined }> {
    if (isAway) return { state: device.state, dueAtMs: nowMs + AWAY_LOOK_MS }
    const { expectedIntervalSecondsOf } = this.#options
    const intervalSeconds = (await expectedIntervalSecondsOf?.(device.devEui)) ?? device.intervalSeconds
    const awayAtMs = this.#awayAtMs.get(device.organizationId) ?? 0
    const expectedFromMs = Math.max(device.lastSeenAtMs, this.#listensFromMs, awayAtMs)
    const { state, dueAtMs } = judge({ expectedFromMs, intervalSeconds, lossPercent: device.lossPercent }, nowMs)
    // Only a sign of life makes a late device be on time again, not an absence of the service.
    const isLateStill = state === 'ON_TIME' && device.state === 'LATE'
    const latestMs = nowMs + PROFILE_LOOK_MS
    return {
      state: isLateStill ? 'LATE' : state,
      dueAtMs: dueAtMs === undefined ? undefined : Math.min(dueAtMs, latestMs),
    }
  }

  /** An organization without a network server of its own gets its events in other ways. */
  async #isAway(organizationId: string, nowMs: number): Promise<boolean> {
    const presence = await this.#options.presenceOf(organizationId)
    if (typeof presence !== 'number') return false
    if (this.#awayAtMs.size >= MAXIMUM_ABSENCES) this.#awayAtMs.clear()
    this.#awayAtMs.set(organizationId, nowMs)
    return true
  }

  /**
   * The log owns each event before its change counts as told. So no change is lost with the
   * process; a change may be told again.
   */
  async #tellChanges(): Promise<number> {
    const { states, publisher, tenantOf, clock, retainsLastEvents } = this.#options
    const changed = await states.untold(LOOK_DEVICES)
    const told: Changed[] = []
    await Promise.all(
      changed.map(async (change) => {
        const { device } = change
        const topicName = eventTopic(device.applicationId, device.devEui, 'state')
        const payload = Buffer.from(JSON.stringify(stateEvent(device, clock.now())))
        try {
          const retains = (await retainsLastEvents?.(device.applicationId)) ?? false
          await publisher.publish({ topicName, payload, qos: 1, tenant: tenantOf(device.organizationId), retains })
          told.push(change)
        } catch (error) {
          this.#options.log.error({ error, devEui: device.devEui }, 'fleet.change_not_told')
        }
      }),
    )
    if (told.length > 0) await states.told(told)
    // The next look tries the others again.
    return told.length
  }
}
