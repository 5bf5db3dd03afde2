/**
 * Commands that a network server has taken, and for which its word is awaited: the event that
 * reports what became of the command. A command without a word for too long becomes `unconfirmed`.
 * If a network server names no commands in its events, the device's next command waits for the word
 * on the one before it: otherwise an event could be about either.
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

/** A command for which a word is awaited. */
interface Awaited {
  readonly item: DownlinkItem
  readonly sinceMs: SteadyMs
  /** How many uplinks in a row passed without a word on any command of the device. */
  silentUplinks: number
  /** True when a gateway has sent another command of the device since, so that words do arrive. */
  hasHeardOfOne: boolean
  /** True when the device's next command no longer waits for this one. */
  isFree: boolean
}

interface AwaitingDevice {
  commands: Awaited[]
  heardAtMs: number | undefined
  /** When an uplink was noticed without a word after it yet. */
  uplinkAtMs: SteadyMs | undefined
}

/**
 * How long after an uplink the silence of the network server counts. A gateway reports a downlink
 * when it accepts it for the receive window, not after the window, so that the word has arrived by
 * then.
 */
const SILENCE_MS = 10_000
/**
 * An uplink counts for a command only if the network server had taken the command so long before
 * the uplink was noticed.
 */
const SETTLED_MS = 2_000
/**
 * A command that waits at its network server goes out with the device's next uplink. The service
 * can miss one uplink, so it counts two.
 */
const SILENT_UPLINKS = 2
/**
 * How long to wait for the first word of a network server that was never seen to report on a
 * command. Some network servers never do; the commands of their devices then follow each other
 * without waiting.
 */
const FIRST_WORD_MS = 5_000
/**
 * The remembered applications whose network servers reported nothing. At the bound all are
 * forgotten, and the service waits once more for each.
 */
const MAXIMUM_SILENT = 10_000
/**
 * Commands that become `unconfirmed` in one tick. After an outage many do; telling of all in one
 * turn of the event loop would stall everybody else.
 */
const FATES_PER_TICK = 200

/**
 * Its owner calls `tick` every second. It holds only commands that the queue keeps, so that the
 * bounds of the queue bound it as well.
 */
export class AwaitedWords {
  readonly #options: AwaitedWordsOptions
  readonly #devices = new Map<string, AwaitingDevice>()
  /** Applications whose network servers did not report on their first commands. */
  readonly #silent = new Set<string>()

  constructor(options: AwaitedWordsOptions) {
    this.#options = options
  }

  /**
   * A network server has taken the command, or a gateway has sent it: the next word on it is
   * awaited from now on.
   */
  took(item: DownlinkItem): void {
    if (!isAwaited(item)) return
    const { clock, heardAtMs } = this.#options
    const { devEui } = item.content
    // The command may have been taken before a restart, and the machine's clock may have been set
    // since.
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

  /** True while the device's next command has to wait for the word on an earlier one. */
  holds(devEui: string): boolean {
    return this.#devices.get(devEui)?.commands.some((awaited) => this.#holdsNext(awaited)) === true
  }

  /**
   * A word on some command of the device has come. `isSent`: it says that a gateway has sent the
   * command.
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

  /** Stops waiting for a network server that may never report anything. */
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

  /** Counts an uplink when the network server has said nothing for long enough after it. */
  #listen(devEui: string, device: AwaitingDevice, nowMs: SteadyMs): void {
    const heardAtMs = this.#options.heardAtMs(devEui)
    if (heardAtMs !== undefined && heardAtMs !== device.heardAtMs) device.uplinkAtMs ??= nowMs
    device.heardAtMs = heardAtMs
    const { uplinkAtMs, commands } = device
    if (uplinkAtMs === undefined || nowMs - uplinkAtMs < SILENCE_MS) return
    device.uplinkAtMs = undefined
    // The network server holds the next command back until the device acknowledges this one: its
    // silence means nothing.
    if (commands.some(({ item }) => awaitsAck(item))) return
    for (const awaited of commands) if (awaited.sinceMs + SETTLED_MS <= uplinkAtMs) awaited.silentUplinks += 1
  }

  /** Decides whether the command is unconfirmed now; true when it is. */
  #judge({ item, sinceMs, silentUplinks, hasHeardOfOne }: Awaited, nowMs: SteadyMs): boolean {
    const { queue, wordWaitMs } = this.#options
    const isSilent = silentUplinks >= SILENT_UPLINKS
    const isOver = item.state === 'sent' && (isSilent || nowMs - sinceMs >= wordWaitMs)
    if (isOver) queue.unconfirmed(item, isSilent ? SILENT : awaitsAck(item) ? NOT_ANSWERED : notHeardOfFor(wordWaitMs))
    // Words on other commands come, and none on this one: the network server does not have it any
    // more.
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

/** True while the device's next command has to wait for the word on this one. */
function isHolding(item: DownlinkItem): boolean {
  return item.holdsNext && item.state === 'sent' && item.awaitsWord && !item.isForgotten
}

/** True while the device may still acknowledge the command. */
function awaitsAck(item: DownlinkItem): boolean {
  return item.state === 'sent' && item.content.confirmed && !item.awaitsWord && !item.isForgotten
}

function isAwaited(item: DownlinkItem): boolean {
  if (item.isForgotten) return false
  if (item.state === 'unconfirmed') return item.holdsNext && item.awaitsWord && !item.isGivenUp
  return item.state === 'sent' && (item.awaitsWord || awaitsAck(item))
}
