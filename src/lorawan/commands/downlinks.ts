/**
 * The commands of a running service, with all their parts: from the topics of commands to network
 * servers, and back by the events of network servers.
 */
import type { PublishConsumer } from '../../broker/ports/consumer.ts'
import type { OrganizationUsage } from '../../organization-bounds.ts'
import { AwaitedWords } from './awaited-words.ts'
import { CommandAnswers } from './command-answers.ts'
import { createCommandConsumer } from './command-consumer.ts'
import { CommandEvents } from './command-events.ts'
import { CommandNaming } from './command-naming.ts'
import type { CommandPorts } from './command-ports.ts'
import { rememberCodecs } from './command-registry.ts'
import type { CommandRegistry } from './command-registry.ts'
import { Commands } from './commands.ts'
import { deviceCommandsOf } from './device-commands.ts'
import type { CommandWays, DeviceCommands } from './device-commands.ts'
import { DownlinkHandOver } from './downlink-hand-over.ts'
import { DownlinkQueue } from './downlink-queue.ts'
import type { LoadedState } from './durable-state.ts'

/** The keys of `Downlinks.numbers` that go up and down. */
export const CURRENT_DOWNLINK_NUMBERS: readonly string[] = ['waiting', 'kept']

export class Downlinks {
  readonly commands: Commands
  /** Reads the events of network servers, which report what became of commands. */
  readonly events: CommandEvents
  /** Knows which network servers name commands in their events. */
  readonly naming: CommandNaming
  readonly #answers: CommandAnswers
  readonly #codecs: ReturnType<typeof rememberCodecs>
  readonly #profileCodecs: ReturnType<typeof rememberCodecs>
  readonly #handOver: DownlinkHandOver
  readonly #queue: DownlinkQueue
  readonly #words: AwaitedWords

  /** Puts the parts together; nothing is read or offered before `load`. */
  constructor(ports: CommandPorts) {
    const codecs = rememberCodecs((applicationId) => ports.registry.codecOf(applicationId))
    const profileCodecs = rememberCodecs((profileId) => ports.registry.profileCodecOf(profileId))
    const registry: CommandRegistry = {
      codecOf: async (applicationId) => codecs.of(applicationId),
      profileIdOf: (devEui) => ports.registry.profileIdOf(devEui),
      profileCodecOf: async (profileId) => profileCodecs.of(profileId),
      variablesOf: (devEui) => ports.registry.variablesOf(devEui),
      namesOf: (devEui) => ports.registry.namesOf(devEui),
    }
    const naming = new CommandNaming(ports)
    const answers = new CommandAnswers({
      ...ports,
      registry,
      isFamilyB: (applicationId) => naming.names(applicationId),
    })
    const queue = new DownlinkQueue({
      ...ports,
      onWaiting: (item) => this.#handOver.offer(item),
      onFate: (item) => answers.fate(item),
      onTaken: (item) => this.#words.took(item),
    })
    this.#words = new AwaitedWords({
      ...ports,
      queue,
      tells: (applicationId) => naming.tells(applicationId),
      onFree: (devEui) => {
        const next = queue.next(devEui)
        if (next !== undefined) this.#handOver.offer(next)
      },
    })
    this.#handOver = new DownlinkHandOver({
      ...ports,
      queue,
      isHeld: (devEui) => this.#words.holds(devEui),
      unclaimedIds: (item) => this.events.unclaimedIds(item),
      onAnswered: (item) => this.events.answered(item),
    })
    this.commands = new Commands({ ...ports, registry, queue, handOver: this.#handOver })
    this.events = new CommandEvents({
      queue,
      clock: ports.clock,
      words: this.#words,
      naming,
      idComes: (devEui) => this.#handOver.naming(devEui),
      onDiscarded: (item) => answers.discarded(item),
    })
    this.naming = naming
    this.#answers = answers
    this.#codecs = codecs
    this.#profileCodecs = profileCodecs
    this.#queue = queue
  }

  /** The ways to these commands, without those of other nodes. */
  ways(): CommandWays {
    const commands = deviceCommandsOf(this.commands)
    return { commands, consumers: this.consumersFor(commands), events: this.events }
  }

  /** The consumers of the topics of commands. They give the commands to `commands`. */
  consumersFor(commands: Pick<DeviceCommands, 'submit'>): readonly PublishConsumer[] {
    return [createCommandConsumer(commands, this.#answers)]
  }

  /** Numbers for the metrics; `CURRENT_DOWNLINK_NUMBERS` are a current state. */
  numbers(): Readonly<Record<string, number>> {
    const { waiting, left: kept } = this.#queue.sizes
    return { ...this.#queue.counts, transmitted: this.events.transmitted, ...this.#answers.counts, waiting, kept }
  }

  /** How many commands wait for the devices of the organization. */
  usageOf(organizationId: string): OrganizationUsage {
    return { waitingCommands: this.#queue.waitingOf(organizationId) }
  }

  /** The organizations for whose devices commands wait; at most as many as waiting commands. */
  organizations(): Iterable<string> {
    return this.#queue.waitingOrganizations()
  }

  /**
   * Reads stored commands: those of this node before the first command comes, and those of a dead
   * node whose heir this node is. A command that was on offer is in doubt.
   */
  async load(entries: LoadedState): Promise<void> {
    await this.naming.load(entries)
    await this.#queue.load(entries)
  }

  /** A network server can take downlinks (again). */
  ready(): void {
    this.#handOver.ready()
  }

  /** To be called every second. */
  tick(): void {
    this.#queue.tick()
    this.#words.tick()
    this.#handOver.tick()
  }

  /** The device is gone, and its commands with it. */
  deviceRemoved(devEui: string): void {
    this.#queue.forgetDevice(devEui)
  }

  /** The application may have another codec. */
  applicationChanged(applicationId: string): void {
    this.#codecs.forget(applicationId)
  }

  /** Any application may have another codec. */
  allApplicationsChanged(): void {
    this.#codecs.forgetAll()
  }

  /** The device profile may have another codec. */
  profileChanged(profileId: string): void {
    this.#profileCodecs.forget(profileId)
  }

  /** Any device profile may have another codec. */
  allProfilesChanged(): void {
    this.#profileCodecs.forgetAll()
  }

  /** The application is gone, and its devices' commands with it. */
  applicationRemoved(applicationId: string): void {
    this.#codecs.forget(applicationId)
    this.naming.forget(applicationId)
    this.#queue.forgetApplication(applicationId)
  }

  /** Offers nothing any more; the waiting commands are stored. */
  close(): void {
    this.#handOver.close()
  }
}
