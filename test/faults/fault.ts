/** A fault of `npm run faults`, and the world that it strikes. */
import type { Program } from '../support/program.ts'
import type { Random } from '../support/random.ts'
import type { RunningService } from '../support/running-service.ts'

/**
 * One kind of fault. The runner checks the promises of `FaultWorld` after each run; a fault checks
 * only its own effects.
 */
export interface Fault {
  /** The name in the progress line: `fills the disk`. */
  readonly name: string
  /** The reason why this machine can't have the fault; undefined: it can. */
  readonly impossible?: (world: FaultWorld) => string | undefined
  /**
   * Causes the fault and takes it back, so that the service is healthy again when the promise
   * resolves. Returns one line about the run. Throws an AssertionError if a promise of the service
   * is broken; then the world is given up, whatever its state.
   */
  run(world: FaultWorld, random: Random): Promise<string>
}

/** The result of `fieldgate check`. */
export interface CheckEnd {
  readonly code: number
  /** Standard output and standard error. */
  readonly text: string
}

/**
 * A running service under light load, with witnesses that account for each acknowledged message.
 */
export interface FaultWorld {
  /** The service that runs now; `start` replaces it. */
  readonly service: RunningService
  /** The process id of that service. */
  readonly pid: number
  /** How often a witness has connected so far; grows when a connection ended. */
  readonly connects: number
  /**
   * The longest time in ms that a message has taken to a subscriber since the round began; repeated
   * messages do not count.
   */
  readonly slowestMs: number
  /** The factor of smaller faults if there is little time; 1 in the command. */
  readonly scale: number
  /** The world's data directory. Only the service writes into it; faults damage copies. */
  readonly dataDirectory: string
  /**
   * Keys (`messageKey`) of all messages that were acknowledged to the publishers so far. The set is
   * live: it grows under load.
   */
  readonly acknowledged: ReadonlySet<string>
  /** A disk that can be filled, if there is one: a file system only for `dataDirectory`. */
  readonly disk: SmallDisk | undefined

  /**
   * Stops the service and waits for its end. Returns the time in ms. Throws an AssertionError if
   * SIGTERM takes more than 10 s.
   */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number>
  /**
   * Starts the service again on `dataDirectory`, with these additional environment variables.
   * Resolves when the witnesses are connected again.
   */
  start(environment?: Readonly<Record<string, string>>): Promise<void>
  /**
   * Starts the service without waiting: for a fault during its start. The caller ends the process,
   * and calls `start`.
   */
  startUnwatched(): Program
  /** Resolves when the publishers have got `messages` more acknowledgements. */
  load(messages: number): Promise<void>

  /**
   * Copies the data directory as `signal` leaves it. The copy's folder is removed after the run.
   * The service was stopped for the copy, and runs again when the promise resolves. `promised` has
   * the messages acknowledged before; the copy must have all of them.
   */
  copyData(signal: 'SIGTERM' | 'SIGKILL'): Promise<{ readonly folder: string; readonly promised: ReadonlySet<string> }>
  /** Runs `fieldgate check` on a copy. */
  check(folder: string): Promise<CheckEnd>
  /**
   * Starts a second service on a copy, without load; it is stopped after the run. Rejects with all
   * its output if it does not start.
   */
  startCopy(folder: string): Promise<RunningService>
  /** Keys of all messages in the history of a service: the world's own, or one on a copy. */
  history(service: RunningService): Promise<ReadonlySet<string>>
}

/** A file system that holds only the data directory. */
export interface SmallDisk {
  /** Leaves no room. Writes during the filling may have failed before the promise resolves. */
  fill(): Promise<void>
  /** Gives the room back. */
  empty(): Promise<void>
}
