/**
 * Everything about commands, put together: from the topics of commands to network servers, and back
 * by their events.
 */
import type { PublishConsumer, Publisher } from '../../broker/ports/consumer.ts'
import type { Clock } from '../../clock.ts'
import { given } from '../../given.ts'
import type { Logger } from '../../logger.ts'
import { AwaitedWords } from './awaited-words.ts'
import { CommandAnswers } from './command-answers.ts'
import { createCommandConsumer } from './command-consumer.ts'
import { CommandEvents } from './command-events.ts'
import { CommandNaming } from './command-naming.ts'
import { CommandCodecs } from './command-registry.ts'
import type { CommandRegistry, DownlinkEncoder } from './command-registry.ts'
import { Commands } from './commands.ts'
import { DownlinkHandOver } from './downlink-hand-over.ts'
import type { DevicePlaces } from './downlink-hand-over.ts'
import { DownlinkQueue } from './downlink-queue.ts'
import type { DownlinkQueueLimits } from './downlink-queue.ts'
import type { DurableState } from './durable-state.ts'
import type { NetworkServer } from './network-server.ts'

export interface DownlinksOptions {
  readonly state: DurableState
  readonly publisher: Publisher
  /** Who takes the downlinks of the application's devices; undefined when nobody does. */
  readonly serverOf: (applicationId: string) => NetworkServer | undefined
  readonly places: DevicePlaces
  readonly registry: CommandRegistry
  readonly encoder: DownlinkEncoder
  readonly clock: Clock
  /**
   * When the device was last heard of; undefined when that was long ago, or never. Only looked at
   * for a change.
   */
  readonly heardAtMs: (devEui: string) => number | undefined
  /** How long a network server may say nothing of a command that it has taken. */
  readonly wordWaitMs: number
  readonly log: Logger
  readonly limits?: DownlinkQueueLimits
}

/** The commands of a running service. */
export interface Downlinks {
  readonly commands: Commands
  /** Of the topics of commands. */
  readonly consumers: readonly PublishConsumer[]
  /** To be told of network servers' events, for those are the answers to commands. */
  readonly events: Pick<CommandEvents, 'wants' | 'named' | 'told'>
  /** Which network servers name commands in their events. */
  readonly naming: Pick<CommandNaming, 'names' | 'countsFrames'>
  /** Numbers for the metrics; `CURRENT_DOWNLINK_NUMBERS` are a current state. */
  numbers(): Readonly<Record<string, number>>
  /** Refused commands as `command:code`. */
  readonly refusals: ReadonlyMap<string, number>
  /** Reads the queue; once, before the first command comes. */
  load(): Promise<void>
  /** A network server can take downlinks (again). */
  ready(): void
  /** Looks at expiry and at what waits; to be called every second. */
  tick(): void
  /** The device is gone, and its commands with it. */
  deviceRemoved(devEui: string): void
  /** The codec may be another one. */
  applicationChanged(applicationId: string): void
  /** The application is gone, and its devices' commands with it. */
  applicationRemoved(applicationId: string): void
  /** Offers nothing any more; what waits is stored. */
  close(): void
}

/** The keys of `Downlinks.numbers` that go up and down. */
export const CURRENT_DOWNLINK_NUMBERS: readonly string[] = ['waiting', 'kept']

/** Puts the parts together; nothing is read or offered before `load`. */
export function createDownlinks(options: DownlinksOptions): Downlinks {
  const { state, publisher, places, encoder, clock, log } = options
  const codecs = new CommandCodecs((applicationId) => options.registry.codecOf(applicationId))
  const registry: CommandRegistry = {
    codecOf: (applicationId) => codecs.codecOf(applicationId),
    variablesOf: (devEui) => options.registry.variablesOf(devEui),
    namesOf: (devEui) => options.registry.namesOf(devEui),
  }
  const isFamilyB = (applicationId: string): boolean => naming.names(applicationId)
  const answers = new CommandAnswers({ publisher, registry, isFamilyB, clock, log })
  const queue: DownlinkQueue = new DownlinkQueue({
    state,
    clock,
    log,
    ...given({ limits: options.limits }),
    onWaiting: (item) => handOver.offer(item),
    onFate: (item) => answers.fate(item),
    onTaken: (item) => words.took(item),
  })
  const naming: CommandNaming = new CommandNaming({ state, log })
  const words: AwaitedWords = new AwaitedWords({
    queue,
    clock,
    heardAtMs: options.heardAtMs,
    tells: (applicationId) => naming.tells(applicationId),
    waitMs: options.wordWaitMs,
    onFree: (devEui) => {
      const next = queue.next(devEui)
      if (next !== undefined) handOver.offer(next)
    },
  })
  const handOver: DownlinkHandOver = new DownlinkHandOver({
    ...options,
    queue,
    isHeld: (devEui) => words.holds(devEui),
    unclaimedIds: (item) => events.unclaimedIds(item),
    onAnswered: (item) => events.answered(item),
  })
  const commands = new Commands({ queue, handOver, places, registry, encoder, clock, log })
  const events: CommandEvents = new CommandEvents({
    queue,
    clock,
    words,
    naming,
    idComes: (devEui) => handOver.naming(devEui),
    onDiscarded: (item) => answers.discarded(item),
  })
  return {
    commands,
    consumers: [createCommandConsumer(commands, answers)],
    events,
    naming,
    numbers: () => ({
      ...queue.counts,
      transmitted: events.transmitted,
      ...answers.counts,
      waiting: queue.sizes.waiting,
      kept: queue.sizes.left,
    }),
    refusals: commands.refusals,
    load: async () => {
      await naming.load()
      await queue.load()
    },
    ready: () => handOver.ready(),
    tick: () => {
      queue.tick()
      words.tick()
      handOver.tick()
    },
    deviceRemoved: (devEui) => queue.forgetDevice(devEui),
    applicationChanged: (applicationId) => codecs.forget(applicationId),
    applicationRemoved: (applicationId) => {
      codecs.forget(applicationId)
      naming.forget(applicationId)
      queue.forgetApplication(applicationId)
    },
    close: () => handOver.close(),
  }
}
