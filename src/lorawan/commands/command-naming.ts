/**
 * How an application's network server tells of commands: by their ids, or by frame counters alone,
 * or not at all. It is learnt from the events themselves and kept, so that it is known after a
 * restart.
 */
import type { Logger } from '../../logger.ts'
import type { CommandPorts } from './command-ports.ts'
import type { DurableState } from './durable-state.ts'

export type CommandNamingOptions = Pick<CommandPorts, 'state' | 'log'>

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const PREFIX = 'naming/'
/**
 * Applications that are remembered, some 100 bytes each. The one that was seen first is forgotten
 * at the bound, and is as before its first event.
 */
const MAXIMUM_APPLICATIONS = 10_000

export class CommandNaming {
  readonly #state: DurableState
  readonly #log: Logger
  /** True: named. */
  readonly #seen = new Map<string, boolean>()
  /** Applications of which one word without a name has come, with the command that it was about. */
  readonly #first = new Map<string, string>()

  constructor({ state, log }: CommandNamingOptions) {
    this.#state = state
    this.#log = log
  }

  /** Reads what is stored; once, before anything else. */
  async load(): Promise<void> {
    for await (const { key, value } of this.#state.load(PREFIX)) {
      this.#seen.set(key.slice(PREFIX.length), value.toString() === 'named')
    }
  }

  /**
   * An event about the command has passed that names it, or that does not. Of a network server that
   * names none it takes two commands to know that it tells what becomes of each: some publish such
   * an event and no further one.
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

  #keep(applicationId: string, isNamed: boolean): void {
    const [earliest] = this.#seen.keys()
    if (this.#seen.size >= MAXIMUM_APPLICATIONS && earliest !== undefined) this.forget(earliest)
    this.#seen.set(applicationId, isNamed)
    this.#write(applicationId, Buffer.from(isNamed ? 'named' : 'counted'))
  }

  /** The application is gone, or its network server may be another. */
  forget(applicationId: string): void {
    if (this.#seen.delete(applicationId)) this.#write(applicationId, undefined)
  }

  /**
   * True when events about commands were seen: the network server tells what becomes of commands.
   */
  tells(applicationId: string): boolean {
    return this.#seen.has(applicationId)
  }

  /**
   * True when commands may be told apart by their ids. Before the first event it is known by
   * `theirId`, the application's id in the network server: ChirpStack v4 names its applications by
   * UUID, v3 by digits, and neither takes the other's.
   */
  names(applicationId: string, theirId = applicationId): boolean {
    return this.#seen.get(applicationId) ?? UUID.test(theirId)
  }

  /** True when events were seen that tell commands apart by frame counters alone. */
  countsFrames(applicationId: string): boolean {
    return this.#seen.get(applicationId) === false
  }

  /** What could not be stored is learnt again after a restart. */
  #write(applicationId: string, value: Buffer | undefined): void {
    this.#state.write([{ key: PREFIX + applicationId, value }]).catch((error: unknown) => {
      this.#log.error({ applicationId, error }, 'command.naming_not_written')
    })
  }
}
