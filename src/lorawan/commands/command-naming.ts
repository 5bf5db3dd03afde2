/**
 * How an application's network server reports on commands: by their ids, by frame counters alone,
 * or not at all. The service learns it from the events, and stores it, so that it is known after a
 * restart.
 */
import type { Logger } from '../../logger.ts'
import type { CommandPorts } from './command-ports.ts'
import type { DurableState, LoadedState } from './durable-state.ts'

export type CommandNamingOptions = Pick<CommandPorts, 'state' | 'log' | 'onNaming'>

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** Begins the keys of all entries in the durable state. */
export const NAMING_PREFIX = 'naming/'
/**
 * Applications that are remembered, some 100 bytes each. At the bound the application that was seen
 * first is forgotten, and is learnt again from its next event.
 */
const MAXIMUM_APPLICATIONS = 10_000

export class CommandNaming {
  readonly #state: DurableState
  readonly #log: Logger
  readonly #onNaming: CommandPorts['onNaming']
  /** By application: true when its events name commands. */
  readonly #seen = new Map<string, boolean>()
  /**
   * Applications with events about one command so far that did not name it, with the id of that
   * command.
   */
  readonly #first = new Map<string, string>()

  constructor({ state, log, onNaming }: CommandNamingOptions) {
    this.#state = state
    this.#log = log
    this.#onNaming = onNaming
  }

  /** Reads stored state: that of this node before anything else, and that of a dead node. */
  async load(entries: LoadedState): Promise<void> {
    for await (const { key, value } of entries(NAMING_PREFIX)) {
      this.#seen.set(key.slice(NAMING_PREFIX.length), value.toString() === 'named')
    }
  }

  /**
   * An event about the command has passed. `isNamed`: the event names the command. If not, the
   * service waits for an event about a second command before it expects reports on every command:
   * some network servers publish one such event and never another.
   */
  saw(applicationId: string, isNamed: boolean, downlinkId: string): void {
    if (this.#seen.get(applicationId) === isNamed) return
    const first = this.#first.get(applicationId)
    if (!isNamed && (first === undefined || first === downlinkId)) {
      if (this.#first.size >= MAXIMUM_APPLICATIONS) this.#first.clear()
      this.#first.set(applicationId, downlinkId)
      return
    }
    this.#first.delete(applicationId)
    this.#keep(applicationId, isNamed)
  }

  /** Another node has seen it, and stores it. */
  learn(applicationId: string, isNamed: boolean): void {
    const [earliest] = this.#seen.keys()
    if (this.#seen.size >= MAXIMUM_APPLICATIONS && earliest !== undefined) this.forget(earliest)
    this.#seen.set(applicationId, isNamed)
  }

  #keep(applicationId: string, isNamed: boolean): void {
    this.learn(applicationId, isNamed)
    this.#onNaming?.(applicationId, isNamed)
    this.#write(applicationId, Buffer.from(isNamed ? 'named' : 'counted'))
  }

  /** The application is gone, or has another network server. */
  forget(applicationId: string): void {
    if (this.#seen.delete(applicationId)) this.#write(applicationId, undefined)
  }

  /** True when the application's network server was seen to report what became of commands. */
  tells(applicationId: string): boolean {
    return this.#seen.has(applicationId)
  }

  /**
   * True when events name commands by their ids. Before the first event this is derived from
   * `theirId`, the application's id in the network server: ChirpStack v4 names applications by
   * UUIDs and v3 by digits, and neither accepts the other's.
   */
  names(applicationId: string, theirId = applicationId): boolean {
    return this.#seen.get(applicationId) ?? UUID.test(theirId)
  }

  /**
   * True when the application's events were seen to tell commands apart by frame counters alone.
   */
  countsFrames(applicationId: string): boolean {
    return this.#seen.get(applicationId) === false
  }

  /** Starts to write; a value that can't be stored is learnt again after a restart. */
  #write(applicationId: string, value: Buffer | undefined): void {
    this.#state.write([{ key: NAMING_PREFIX + applicationId, value }]).catch((error: unknown) => {
      this.#log.error({ applicationId, error }, 'command.naming_not_written')
    })
  }
}
