/**
 * Commands that a network server has taken and of which it has not said yet what became of them.
 * One that it says nothing of for too long is `unconfirmed`; and where a network server names no
 * command in its events, the device's next one waits for its word.
 */
import { later } from '../../clock.ts'
import type { SteadyMs } from '../../clock.ts'
import type { CommandPorts } from './command-ports.ts'
import type { DownlinkFailure, DownlinkItem } from './downlink-item.ts'
import type { DownlinkQueue } from './downlink-queue.ts'

export interface AwaitedWordsOptions extends Pick<CommandPorts, 'clock' | 'heardAtMs' | 'wordWaitMs'> {
  readonly queue: Pick<DownlinkQueue, 'unconfirmed' | 'giveUp'>
  /** True when the application's network server was ever seen to report what became of commands. */
  readonly tells: (applicationId: string) => boolean
  /** Called when the device's next command needn't wait any longer. */
  readonly onFree: (devEui: string) => void
}

/** A command whose word is awaited. */
interface Awaited {
  readonly item: DownlinkItem
  readonly sinceMs: SteadyMs
  /** Uplinks in a row after which the network server said nothing of the device's commands. */
  silentUplinks: number
  /** A gateway has sent some command of the device since: the way of the words is open. */
  hasHeardOfOne: boolean
  /** The device's next command waits no longer for it. */
  isFree: boolean
}

interface AwaitingDevice {
  commands: Awaited[]
  heardAtMs: number | undefined
  /** When an uplink was noticed after which no word has come yet. */
  uplinkAtMs: SteadyMs | undefined
}

/**
 * So long after an uplink a gateway's word on the downlink that goes with it is there: it says when
 * it has taken it for the receive window, not after that.
 */
const SILENCE_MS = 10_000
/**
 * An uplink counts for commands that were taken so long before it was noticed: the network server
 * had them then.
 */
const SETTLED_MS = 2_000
/**
 * A command that waits at a network server goes with the next uplink of its device. One can be
 * missed.
 */
const SILENT_UPLINKS = 2
/**
 * So long a network server is waited for that was never seen to tell of a command. There are some
 * that never do; their devices' commands follow one another then.
 */
const FIRST_WORD_MS = 5_000
/**
 * Applications of such network servers that are remembered; all are waited for once more at the
 * bound.
 */
const MAXIMUM_SILENT = 10_000
/** Commands of one tick, so that an outage is not told of in one turn of the event loop. */
const FATES_PER_TICK = 200

/**
 * Its owner calls `tick` every second. It holds what the queue keeps, and is bounded as that is.
 */
export class AwaitedWords {
  readonly #options: AwaitedWordsOptions
  readonly #devices = new Map<string, AwaitingDevice>()
  /** Applications whose network servers have not told of their first commands. */
  readonly #silent = new Set<string>()

  constructor(options: AwaitedWordsOptions) {
    this.#options = options
  }

  /**
   * A network server has the command, or has told that a gateway has sent it: what it says next is
   * awaited from now on.
   */
  took(item: DownlinkItem): void {
    if (!isAwaited(item)) return
    const { clock, heardAtMs } = this.#options
    const { devEui } = item.content
    // It may have been taken before a restart. The clock may have been moved meanwhile.
    const elapsedMs = Math.max(clock.now() - Math.max(item.leftAtMs, item.transmittedAtMs), 0)
    const awaited = {
      item,
      sinceMs: later(clock.steady(), -elapsedMs),
      silentUplinks: 0,
      hasHeardOfOne: false,
      isFree: false,
    }
    const device = this.#devices.get(devEui)
    if (device === undefined) {
      this.#devices.set(devEui, { commands: [awaited], heardAtMs: heardAtMs(devEui), uplinkAtMs: undefined })
      return
    }
    device.commands = [...device.commands.filter((other) => other.item !== item && isAwaited(other.item)), awaited]
  }

  /** The device's next command has to wait for the word on one before it. */
  holds(devEui: string): boolean {
    return this.#devices.get(devEui)?.commands.some((awaited) => this.#holdsNext(awaited)) === true
  }

  /**
   * A network server has said something of some command of the device. `isSent`: that a gateway has
   * sent it.
   */
  spoke(devEui: string, isSent: boolean): void {
    const device = this.#devices.get(devEui)
    if (device === undefined) return
    device.uplinkAtMs = undefined
    device.heardAtMs = this.#options.heardAtMs(devEui)
    for (const awaited of device.commands) {
      awaited.silentUplinks = 0
      awaited.hasHeardOfOne ||= isSent
    }
    this.#freeUnlessHeld(devEui)
  }

  tick(): void {
    const nowMs = this.#options.clock.steady()
    let fates = 0
    for (const [devEui, device] of this.#devices) {
      device.commands = device.commands.filter(({ item }) => isAwaited(item))
      if (device.commands.length === 0) {
        this.#devices.delete(devEui)
        continue
      }
      this.#listen(devEui, device, nowMs)
      this.#noteSilence(devEui, device, nowMs)
      const before = fates
      for (const awaited of device.commands) {
        if (fates >= FATES_PER_TICK) break
        if (this.#judge(awaited, nowMs)) fates += 1
      }
      if (fates > before) this.#freeUnlessHeld(devEui)
      if (fates >= FATES_PER_TICK) break
    }
  }

  #holdsNext({ item }: Awaited): boolean {
    const { applicationId } = item.content
    return isHolding(item) && (this.#options.tells(applicationId) || !this.#silent.has(applicationId))
  }

  /** Waits no longer for a network server of which nobody knows whether it tells anything. */
  #noteSilence(devEui: string, { commands }: AwaitingDevice, nowMs: SteadyMs): void {
    for (const awaited of commands) {
      const { applicationId } = awaited.item.content
      const isLate = !awaited.isFree && isHolding(awaited.item) && nowMs - awaited.sinceMs >= FIRST_WORD_MS
      if (!isLate || this.#options.tells(applicationId)) continue
      if (this.#silent.size >= MAXIMUM_SILENT) this.#silent.clear()
      this.#silent.add(applicationId)
      awaited.isFree = true
      this.#freeUnlessHeld(devEui)
    }
  }

  /** Counts an uplink, once it has been silent long enough after it. */
  #listen(devEui: string, device: AwaitingDevice, nowMs: SteadyMs): void {
    const heardAtMs = this.#options.heardAtMs(devEui)
    if (heardAtMs !== undefined && heardAtMs !== device.heardAtMs) device.uplinkAtMs ??= nowMs
    device.heardAtMs = heardAtMs
    const { uplinkAtMs, commands } = device
    if (uplinkAtMs === undefined || nowMs - uplinkAtMs < SILENCE_MS) return
    device.uplinkAtMs = undefined
    // What waits behind a command that the device has not acknowledged yet is not sent.
    if (commands.some(({ item }) => awaitsAck(item))) return
    for (const awaited of commands) if (awaited.sinceMs + SETTLED_MS <= uplinkAtMs) awaited.silentUplinks += 1
  }

  /** True when the command has come to a fate by it. */
  #judge({ item, sinceMs, silentUplinks, hasHeardOfOne }: Awaited, nowMs: SteadyMs): boolean {
    const { queue, wordWaitMs } = this.#options
    const isSilent = silentUplinks >= SILENT_UPLINKS
    const isOver = item.state === 'sent' && (isSilent || nowMs - sinceMs >= wordWaitMs)
    if (isOver) queue.unconfirmed(item, isSilent ? SILENT : awaitsAck(item) ? NOT_ANSWERED : notHeardOfFor(wordWaitMs))
    // Words come, and none about this one: it is not there any more.
    if (isSilent && hasHeardOfOne && item.holdsNext) queue.giveUp(item)
    return isOver
  }

  #freeUnlessHeld(devEui: string): void {
    if (!this.holds(devEui)) this.#options.onFree(devEui)
  }
}

const code = 'command_unconfirmed'
const SILENT: DownlinkFailure = {
  code,
  reason: `the network server has said nothing of the command, though the device has sent ${SILENT_UPLINKS} uplinks since`,
}
const NOT_ANSWERED: DownlinkFailure = {
  code,
  reason: 'the network server has sent the command, and has not said whether the device acknowledged it',
}

function notHeardOfFor(waitMs: number): DownlinkFailure {
  return { code, reason: `the network server has said nothing of the command for ${Math.round(waitMs / 1_000)} s` }
}

/** Its device's next command waits for the word on it, where words come. */
function isHolding(item: DownlinkItem): boolean {
  return item.holdsNext && item.state === 'sent' && item.awaitsWord && !item.isForgotten
}

/** The device may still acknowledge it. */
function awaitsAck(item: DownlinkItem): boolean {
  return item.state === 'sent' && item.content.confirmed && !item.awaitsWord && !item.isForgotten
}

function isAwaited(item: DownlinkItem): boolean {
  if (item.isForgotten) return false
  if (item.state === 'unconfirmed') return item.holdsNext && item.awaitsWord && !item.isGivenUp
  return item.state === 'sent' && (item.awaitsWord || awaitsAck(item))
}
