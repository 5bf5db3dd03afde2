/** What a fault is to `npm run faults`, and the world that it strikes. */
import type { Program } from '../support/program.ts'
import type { Random } from '../support/random.ts'
import type { RunningService } from '../support/running-service.ts'

/**
 * One kind of fault. The runner checks the promises of `FaultWorld` after each run; a fault checks
 * what is only true of itself.
 */
export interface Fault {
  /** As the progress line shows it: `fills the disk`. */
  readonly name: string
  /** The reason why this machine can't have the fault; undefined where it can. */
  readonly impossible?: (world: FaultWorld) => string | undefined
  /**
   * Does the fault and takes it back, so that the service runs healthy again when the promise
   * resolves. Answers one line for people about the run. Throws an AssertionError when a promise of
   * the service is broken; the world is given up then, whatever its state.
   */
  run(world: FaultWorld, random: Random): Promise<string>
}

/** The end of a run of `fieldgate check`. */
export interface CheckEnd {
  readonly code: number
  /** Standard output and standard error. */
  readonly text: string
}

/**
 * A running service under light load, with witnesses that account for each acknowledged message.
 */
export interface FaultWorld {
  /** The service that runs now; another one after `start`. */
  readonly service: RunningService
  /** The process id of that service. */
  readonly pid: number
  /** How often a witness has connected so far: it grows where a connection ended. */
  readonly connects: number
  /**
   * The longest time in ms that a message has taken to a subscriber since the round began; messages
   * that were sent again do not count.
   */
  readonly slowestMs: number
  /** By this much smaller faults are, where there is little time: 1 in the command. */
  readonly scale: number
  /** Of the world. Only the service writes into it; faults damage copies. */
  readonly dataDirectory: string
  /**
   * Keys (`messageKey`) of all messages that were acknowledged to the publishers so far. The set is
   * live: it grows under load.
   */
  readonly acknowledged: ReadonlySet<string>
  /** Where there is a disk that can be filled: the file system of `dataDirectory` alone. */
  readonly disk: SmallDisk | undefined

  /**
   * Stops the service and waits for its end; throws an AssertionError when SIGTERM takes more than
   * 10 s. Answers the time in ms.
   */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number>
  /**
   * Starts the service again on `dataDirectory`, with these variables of its environment as well,
   * and resolves when the witnesses are connected again.
   */
  start(environment?: Readonly<Record<string, string>>): Promise<void>
  /**
   * Starts it without waiting for anything: for a fault while it starts. The caller ends the
   * process, and calls `start`.
   */
  startUnwatched(): Program
  /** Resolves when the publishers got so many more acknowledgements. */
  load(messages: number): Promise<void>

  /**
   * A copy of the data directory as `signal` leaves it, in a folder of its own that is removed
   * after the run. The service has been stopped, and runs again when the promise resolves. What was
   * acknowledged before is in `promised`: the copy must have all of it.
   */
  copyData(signal: 'SIGTERM' | 'SIGKILL'): Promise<{ readonly folder: string; readonly promised: ReadonlySet<string> }>
  /** `fieldgate check` on a copy. */
  check(folder: string): Promise<CheckEnd>
  /**
   * A second service on a copy, without load; it is stopped after the run. Rejects with all that it
   * said when it does not start.
   */
  startCopy(folder: string): Promise<RunningService>
  /** Keys of all messages in the history of a service: the world's, or one on a copy. */
  history(service: RunningService): Promise<ReadonlySet<string>>
}

/** A file system with the data directory and nothing else. */
export interface SmallDisk {
  /** Leaves no room. What is written while it fills may have failed before the promise resolves. */
  fill(): Promise<void>
  /** Gives the room back. */
  empty(): Promise<void>
}
