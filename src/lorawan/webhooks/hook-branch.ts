/**
 * How far a webhook has come in the events of one application. An event is done when its receiver
 * has taken it; events of different devices may be done in another order than they were read.
 */

/**
 * Events that are read beyond the first one that is not done. After a restart they are sent again,
 * so the bound is also the bound of doubled events.
 */
const MAXIMUM_AHEAD = 1_000

export class HookBranch {
  readonly applicationId: string
  /** The beginning of the Topic Names of the application. */
  readonly topicPrefix: string
  readonly partition: number
  /** Events that the log took earlier are not sent, ms since 1970. */
  readonly fromMs: number
  /** The offset up to which the log was read; -1: nothing was read yet. */
  readTo: number
  /** The offset of the newest event that has arrived; -1: none has. */
  arrivedTo = -1
  /** True: everything was read, and the next event is taken as it arrives. */
  isLive = false
  /** True: the place comes from an earlier process, and the log may have lost events behind it. */
  mayHaveGap: boolean
  /** The offsets that are not done, in order, each with its number among all that were read. */
  readonly #undone = new Map<number, number>()
  #taken = 0

  constructor(options: {
    readonly applicationId: string
    readonly topicPrefix: string
    readonly partition: number
    readonly fromMs: number
    readonly readTo: number
  }) {
    this.applicationId = options.applicationId
    this.topicPrefix = options.topicPrefix
    this.partition = options.partition
    this.fromMs = options.fromMs
    this.readTo = options.readTo
    this.mayHaveGap = options.readTo >= 0
  }

  /** An event was read. Events come in the order of their offsets. */
  take(offset: number): void {
    this.#taken += 1
    this.#undone.set(offset, this.#taken)
    this.readTo = offset
  }

  /** The receiver has the event, or it is passed over. */
  done(offset: number): void {
    this.#undone.delete(offset)
  }

  /** True: nothing more may be read before the first event is done. */
  get isFull(): boolean {
    for (const number of this.#undone.values()) return this.#taken - number >= MAXIMUM_AHEAD
    return false
  }

  /** True: every event that has arrived is done. */
  get isIdle(): boolean {
    return this.isLive && this.#undone.size === 0
  }

  /** Everything up to this offset is done. */
  get doneTo(): number {
    for (const offset of this.#undone.keys()) return offset - 1
    return this.readTo
  }
}
